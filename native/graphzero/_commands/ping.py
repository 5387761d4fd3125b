"""`graphzero ping [ADDRESS]`: whether a daemon answers. For health checks."""

import argparse
import time


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="socket or HOST:PORT (default: GRAPHZERO_ADDRESS, or the user's socket)",
    )
    parser.add_argument("--timeout", type=float, default=2.0, metavar="S", help="default 2 s")


def run(args: argparse.Namespace) -> int:
    from graphzero.client.probe import daemon_stats

    started = time.perf_counter()
    stats = daemon_stats(args.address, timeout=args.timeout)
    milliseconds = 1000 * (time.perf_counter() - started)
    print(
        f"graphzero-server {stats.version}, pid {stats.pid}, {len(stats.sessions)} sessions, "
        f"answered in {milliseconds:.1f} ms"
    )
    return 0
