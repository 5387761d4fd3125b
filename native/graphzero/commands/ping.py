"""`graphzero ping [ADDRESS]`: whether a daemon answers and serves. For health checks."""

import argparse
import time

from graphzero.base.text import counted_text, line_text
from graphzero.commands.arguments import add_daemon, daemon_calls

# Seconds between two attempts of --wait.
_PAUSE_S = 0.1


def configure(parser: argparse.ArgumentParser) -> None:
    add_daemon(parser)
    parser.add_argument("--timeout", type=float, default=2.0, metavar="S", help="default 2 s")
    parser.add_argument(
        "--wait",
        type=float,
        default=0.0,
        metavar="S",
        help="wait up to S seconds until it answers (default 0)",
    )


def run(args: argparse.Namespace) -> int:
    from graphzero.client.errors import RequestTimeout, ServerUnavailable

    deadline = time.monotonic() + args.wait
    while True:
        started = time.perf_counter()
        try:
            with daemon_calls(args, args.timeout) as daemon:
                daemon.require_serving()
                stats = daemon.stats()
            break
        except (ServerUnavailable, RequestTimeout):
            if time.monotonic() + _PAUSE_S > deadline:
                raise
            time.sleep(_PAUSE_S)
    milliseconds = 1000 * (time.perf_counter() - started)
    print(
        f"graphzero-server {line_text(stats.version)}, pid {stats.pid}, "
        f"{counted_text(stats.num_sessions, 'session')}, answered in {milliseconds:.1f} ms"
    )
    return 0
