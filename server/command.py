"""`graphzero-server`: reads the configuration, runs the daemon, turns errors into one line."""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence

from graphzero.base.error_text import error_text
from graphzero.base.errors import GraphZeroError
from graphzero.commands.cli import EXIT_ERROR
from graphzero.server.process.log_lines import set_up_log
from graphzero.server.process.thread_room import require_threads
from graphzero.transport.grpc_setup import import_grpc

log = logging.getLogger("graphzero.server")


def main(argv: Sequence[str] | None = None) -> int:
    from graphzero.server.settings.config import parse_command_line

    config = None
    set_up_log()
    # gRPC's core would write a line to stderr for each peer that does not speak TLS properly.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import_grpc()
    try:
        config = parse_command_line(argv)
        set_up_log(config.log.log_level, config.log.log_format)
        require_threads(config.limits.threads, config.limits.workers)
        # Imported after that check: NumPy and gRPC start threads when they are imported, and crash
        # if the system refuses one.
        from graphzero.server.app import run

        asyncio.run(run(config, lambda: parse_command_line(argv)))
    except (GraphZeroError, OSError, ValueError) as error:
        text = f"graphzero-server: error: {error_text(error)}"
        if config is not None and config.log.log_format == "json":
            log.error("%s", text)
        else:
            print(text, file=sys.stderr)
        return EXIT_ERROR
    return 0
