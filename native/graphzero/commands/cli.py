"""The `graphzero` command: finds the subcommand, runs it, turns errors into one line.

A subcommand is a module in graphzero.commands with `configure(parser)` and `run(args) -> int`.
Only the module of the given subcommand is imported, so that a conversion starts without NumPy.
"""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module

from graphzero.base.error_text import error_text
from graphzero.base.errors import GraphZeroError, InputError
from graphzero.base.extras import MissingExtra
from graphzero.base.text import quoted
from graphzero.commands.parser import EXIT_USAGE, CommandParser, UsageError, nearest

_COMMANDS = {
    "bench": "measure how fast batches come here, and say what limits them",
    "convert": "compile edge lists and columns into a dataset",
    "doctor": "say what to change about the machine or a dataset",
    "export": "write a dataset as Parquet or .npy files",
    "fetch": "copy a dataset from a daemon, a directory or an object store",
    "generate": "write a synthetic dataset",
    "info": "show what a dataset or file holds",
    "ping": "tell whether a daemon answers",
    "push": "copy a dataset to an object store or a directory",
    "quantise": "write a dataset again with a byte for each floating value",
    "reorder": "put the nodes of a dataset into an order that needs fewer reads",
    "sessions": "list the trainers of a daemon, or end the session of one",
    "shard": "deal a dataset's large columns to several machines",
    "top": "show what a daemon is doing",
    "verify": "check every byte of a dataset or file",
}

EXIT_ERROR = 1  # the input, the data or the system is at fault; the message says which

_START_DAEMON = "graphzero-server --data DIR"


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Finds its width itself. argparse makes a formatter for every argument that is added, even if
    no help is printed, and would import shutil to find the width: 9 ms of every command."""

    def __init__(self, prog: str) -> None:
        try:
            width = os.get_terminal_size().columns
        except OSError:
            width = 80
        super().__init__(prog, width=max(width, 40) - 2)


def _parser(command: str | None) -> CommandParser:
    parser = CommandParser(
        prog="graphzero",
        description="Graphs larger than memory for training GNNs.",
        epilog=f"The daemon is a command of its own: {_START_DAEMON}",
        formatter_class=_HelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in _COMMANDS.items():
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:],
            formatter_class=_HelpFormatter,
        )
        if name == command:
            import_module(f"graphzero.commands.{name}").configure(subparser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = next((a for a in arguments if not a.startswith("-")), None)
    parser = _parser(command)
    if command is not None and command not in _COMMANDS:
        parser.exit(EXIT_USAGE, f"graphzero: error: {_no_command_text(command)}\n")
    args = parser.parse_args(arguments)
    if args.version:
        from graphzero.base.version import __version__

        print(f"graphzero {__version__}")
        return 0
    if args.command is None:
        parser.print_help()
        return EXIT_USAGE
    stopped_by = _interrupt_on_sigterm()
    try:
        _require_utf8(arguments)
        code: int = import_module(f"graphzero.commands.{args.command}").run(args)
        return code
    except BrokenPipeError:
        # The reader of our output went away (`graphzero info | head`): not our error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        print("graphzero: interrupted", file=sys.stderr)
        return 128 + (stopped_by[-1] if stopped_by else signal.SIGINT)
    except UsageError as error:
        print(f"graphzero {args.command}: error: {error}", file=sys.stderr)
        return EXIT_USAGE
    except (GraphZeroError, MissingExtra, OSError, ValueError, MemoryError) as error:
        print(f"graphzero {args.command}: error: {error_text(error)}", file=sys.stderr)
        return EXIT_ERROR


def _no_command_text(command: str) -> str:
    text = f"there is no command {quoted(command)}"
    if command in ("serve", "server", "daemon"):
        return f"{text}; the daemon is started with: {_START_DAEMON}"
    near = nearest(command, _COMMANDS)
    return f"{text}; did you mean {near!r}?" if near else f"{text}; graphzero --help lists all"


def _interrupt_on_sigterm() -> list[int]:
    """Makes SIGTERM, which batch schedulers send, clean up as Ctrl-C does. A received SIGTERM is
    appended to the list."""
    received: list[int] = []

    def stop(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, stop)
    return received


def _require_utf8(arguments: Sequence[str]) -> None:
    """Raises InputError for arguments that are not UTF-8, as the engine expects of file names."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise InputError(f"found {argument!a}, expected valid UTF-8") from None
