"""`graphzero top [ADDRESS]`: what a daemon is doing, session by session."""

import argparse
import json
import sys
import time

from graphzero._commands._arguments import add_daemon, ask_daemon
from graphzero._text import count_text, line_text, size_text

_CLEAR = "\x1b[H\x1b[2J"
_LONGEST_LINE = 500


def configure(parser: argparse.ArgumentParser) -> None:
    add_daemon(parser)
    parser.add_argument("--interval", type=float, default=1.0, metavar="S", help="default 1 s")
    parser.add_argument("--once", action="store_true", help="print once and exit")
    parser.add_argument("--json", action="store_true", help="print once, for programs")


def run(args: argparse.Namespace) -> int:
    from google.protobuf.json_format import MessageToDict

    if args.json:
        stats = ask_daemon(args)
        print(json.dumps(MessageToDict(stats, preserving_proto_field_name=True), indent=2))
        return 0
    before = ask_daemon(args)
    if args.once or not sys.stdout.isatty():
        print(_page(before, before, 0.0))
        return 0
    while True:
        time.sleep(args.interval)
        stats = ask_daemon(args)
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
        f"{size_text(stats.shm_limit_byte_size)}, sessions {stats.num_sessions} of "
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
    lines += _io_lines(stats, before, seconds)
    # Names are those that a trainer or a directory has given itself.
    return "\n".join(line_text(line, _LONGEST_LINE) for line in lines)


def _io_lines(stats, before, seconds: float) -> list[str]:  # type: ignore[no-untyped-def]
    """Columns that were read from, since the last page or since the daemon's start."""
    cache = stats.row_cache
    lines = ["", f"reads by {stats.io_engine}"]
    if cache.capacity_byte_size:
        lines[-1] += (
            f", row cache {size_text(cache.used_byte_size)} of "
            f"{size_text(cache.capacity_byte_size)}, {count_text(cache.rows)} rows"
        )
    lines.append(
        f"{'rows/s':>10} {'in memory':>9} {'hits':>7} {'reads/s':>9} {'per batch':>9} "
        f"{'read/row':>9} {'p50':>8} {'p99':>8}  column, path"
    )
    earlier = {(c.dataset, c.column): c for c in before.columns} if seconds else {}
    for column in stats.columns:
        if column.gathers:
            lines.append(_io_line(column, earlier.get((column.dataset, column.column)), seconds))
    return lines


def _io_line(column, before, seconds: float) -> str:  # type: ignore[no-untyped-def]
    def since(name: str) -> int:
        count: int = getattr(column, name) - (getattr(before, name) if before else 0)
        return count

    rows, reads = since("rows"), since("reads")
    missed = rows - since("mapped_rows") - since("cache_hits")
    wanted = missed * column.row_byte_size
    latency = list(column.read_latency)
    if before:
        latency = [now - then for now, then in zip(latency, before.read_latency, strict=True)]

    def ratio(part: float, whole: float) -> float:
        return part / whole if whole else 0.0

    return (
        f"{ratio(rows, seconds):>10,.0f} {ratio(since('mapped_rows'), rows):>9.1%} "
        f"{ratio(since('cache_hits'), rows):>7.1%} {ratio(reads, seconds):>9,.0f} "
        f"{ratio(reads, since('gathers')):>9.1f} "
        f"{ratio(since('read_byte_size'), wanted):>8.1f}x {_quantile(latency, 0.5):>8} "
        f"{_quantile(latency, 0.99):>8}  {column.dataset}/{column.column}, {column.path}"
    )


def _quantile(latency: list[int], part: float) -> str:
    """An upper bound: entries are powers of two, in microseconds."""
    total = sum(latency)
    if not total:
        return "-"
    seen = 0
    for power, count in enumerate(latency):
        seen += count
        if seen >= part * total:
            return f"<{2**power} us" if power < 10 else f"<{2**power // 1000} ms"
    return "-"
