"""`graphzero ping [ADDRESS]`: whether a daemon answers and serves. For health checks."""

import argparse
import time

from graphzero.base.text import counted_text, line_text
from graphzero.commands.arguments import add_daemon, daemon_calls


def configure(parser: argparse.ArgumentParser) -> None:
    add_daemon(parser)
    parser.add_argument("--timeout", type=float, default=2.0, metavar="S", help="default 2 s")


def run(args: argparse.Namespace) -> int:
    started = time.perf_counter()
    with daemon_calls(args, args.timeout) as daemon:
        daemon.require_serving()
        stats = daemon.stats()
    milliseconds = 1000 * (time.perf_counter() - started)
    print(
        f"graphzero-server {line_text(stats.version)}, pid {stats.pid}, "
        f"{counted_text(stats.num_sessions, 'session')}, answered in {milliseconds:.1f} ms"
    )
    return 0
