"""The daemon: `graphzero-server --data DIR`."""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the command; returns its exit code."""
    from graphzero.server.process.hangup import note_hangups

    note_hangups()  # before the imports below, which take a while
    from graphzero.server.command import main as command

    return command(argv)
