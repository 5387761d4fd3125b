"""`graphzero-server`: reads the configuration, runs the daemon, turns errors into one line."""

import asyncio
import logging
import sys
from collections.abc import Sequence

from graphzero._cli import EXIT_ERROR, describe
from graphzero._errors import GraphZeroError
from graphzero._grpc_threads import prepare_grpc


def main(argv: Sequence[str] | None = None) -> int:
    from graphzero.server.config import parse_command_line

    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    prepare_grpc()
    try:
        config = parse_command_line(argv)
        from graphzero.server.app import run

        asyncio.run(run(config))
    except (GraphZeroError, OSError, ValueError) as error:
        print(f"graphzero-server: error: {describe(error)}", file=sys.stderr)
        return EXIT_ERROR
    return 0
