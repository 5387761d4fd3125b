"""`graphzero top [ADDRESS]`: what a daemon is doing, session by session."""

import argparse
import json
import sys
import time

from graphzero._text import count_text, size_text

_CLEAR = "\x1b[H\x1b[2J"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="socket or HOST:PORT (default: GRAPHZERO_ADDRESS, or the user's socket)",
    )
    parser.add_argument("--interval", type=float, default=1.0, metavar="S", help="default 1 s")
    parser.add_argument("--once", action="store_true", help="print once and exit")
    parser.add_argument("--json", action="store_true", help="print once, for programs")


def run(args: argparse.Namespace) -> int:
    from google.protobuf.json_format import MessageToDict

    from graphzero.client.probe import daemon_stats

    if args.json:
        stats = daemon_stats(args.address)
        print(json.dumps(MessageToDict(stats, preserving_proto_field_name=True), indent=2))
        return 0
    before = daemon_stats(args.address)
    if args.once or not sys.stdout.isatty():
        print(_page(before, before, 0.0))
        return 0
    while True:
        time.sleep(args.interval)
        stats = daemon_stats(args.address)
        print(_CLEAR + _page(stats, before, args.interval), flush=True)
        before = stats


def _page(stats, before, seconds: float) -> str:  # type: ignore[no-untyped-def]
    def rate(name: str) -> float:
        return (getattr(stats, name) - getattr(before, name)) / seconds if seconds else 0.0

    lines = [
        f"graphzero-server {stats.version}, pid {stats.pid}, up {stats.uptime_ms / 1000:.0f} s, "
        f"{stats.threads} threads",
        f"requests {count_text(stats.requests)} ({rate('requests'):.1f}/s), failed "
        f"{count_text(stats.failed_requests)}, results {size_text(stats.result_byte_size)} "
        f"({size_text(rate('result_byte_size'))}/s)",
        f"shared memory {size_text(stats.shm_used_byte_size)} of "
        f"{size_text(stats.shm_limit_byte_size)}, sessions {len(stats.sessions)} of "
        f"{stats.max_sessions}",
        "",
        f"{'session':>8} {'requests':>10} {'in flight':>9} {'blocks':>7} {'held':>10} "
        f"{'memory':>10}  dataset, client",
    ]
    lines += [
        f"{s.session_id:>8} {s.requests:>10} {s.in_flight:>9} {s.blocks:>7} "
        f"{size_text(s.block_byte_size):>10} {size_text(s.region_byte_size):>10}  "
        f"{s.dataset}, {s.client_name}"
        for s in stats.sessions
    ]
    return "\n".join(lines)
