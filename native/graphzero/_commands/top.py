"""`graphzero top [ADDRESS]`: what a daemon is doing, session by session."""

import argparse
import json
import sys
import time
from typing import Any

from graphzero._commands._arguments import add_daemon, ask_daemon
from graphzero._errors import InputError
from graphzero._text import count_text, line_text, size_text

_CLEAR = "\x1b[H\x1b[2J"
_LONGEST_LINE = 500


def configure(parser: argparse.ArgumentParser) -> None:
    add_daemon(parser)
    parser.add_argument("--interval", type=float, default=1.0, metavar="S", help="default 1 s")
    parser.add_argument("--once", action="store_true", help="print once, after one interval")
    parser.add_argument("--json", action="store_true", help="print once, for programs")


def run(args: argparse.Namespace) -> int:
    if args.interval <= 0:
        raise InputError(f"--interval: found {args.interval}, expected a positive number")
    if args.json:
        print(json.dumps(_document(ask_daemon(args)), indent=2))
        return 0
    once = args.once or not sys.stdout.isatty()
    before = ask_daemon(args)
    while True:
        time.sleep(args.interval)
        stats = ask_daemon(args)
        # By the daemon's clock: an answer may have taken its time.
        seconds = max(0.0, (stats.uptime_ms - before.uptime_ms) / 1000)
        if once:
            print(_page(stats, before, seconds, whole_life=True))
            return 0
        print(_CLEAR + _page(stats, before, seconds), flush=True)
        before = stats


def _document(message: Any) -> dict[str, Any]:
    """A message for JSON: every field, zeros included, and numbers as numbers, which protobuf's own
    JSON writes as texts if they have 64 bits."""

    def plain(value: Any) -> Any:
        return _document(value) if hasattr(value, "DESCRIPTOR") else value

    document = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        repeated = hasattr(value, "append")
        document[field.name] = [plain(one) for one in value] if repeated else plain(value)
    return document


def _page(stats: Any, before: Any, seconds: float, *, whole_life: bool = False) -> str:
    """Rates are those since `before`; so are shares and latencies, except for those who look once:
    they get those of the daemon's `whole_life`."""

    def rate(name: str) -> float:
        return _ratio(getattr(stats, name) - getattr(before, name), seconds)

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
        f"{'session':>8} {'requests':>10} {'per s':>7} {'in flight':>9} {'blocks':>7} {'held':>10} "
        f"{'memory':>10}  dataset, client",
    ]
    earlier = {s.session_id: s.requests for s in before.sessions}
    lines += [
        f"{s.session_id:>8} {s.requests:>10} "
        f"{_ratio(s.requests - earlier.get(s.session_id, 0), seconds):>7.1f} "
        f"{s.in_flight:>9} {s.blocks:>7} "
        f"{size_text(s.block_byte_size):>10} {size_text(s.region_byte_size):>10}  "
        f"{s.dataset}, {s.client_name}"
        for s in stats.sessions
    ]
    lines += _io_lines(stats, before, seconds, whole_life)
    # Names are those that a trainer or a directory has given itself.
    return "\n".join(line_text(line, _LONGEST_LINE) for line in lines)


def _io_lines(stats: Any, before: Any, seconds: float, whole_life: bool) -> list[str]:
    """Columns that were read from since the daemon's start."""
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
    earlier = {(c.dataset, c.column): c for c in before.columns}
    for column in stats.columns:
        if column.gathers:
            last = earlier.get((column.dataset, column.column))
            lines.append(_io_line(column, last, seconds, whole_life))
    return lines


def _io_line(column: Any, last: Any, seconds: float, whole_life: bool) -> str:
    before = None if whole_life else last

    def since(name: str) -> int:
        count: int = getattr(column, name) - (getattr(before, name) if before else 0)
        return count

    def rate(name: str) -> float:
        return _ratio(getattr(column, name) - (getattr(last, name) if last else 0), seconds)

    rows, reads = since("rows"), since("reads")
    missed = rows - since("mapped_rows") - since("cache_hits")
    wanted = missed * column.row_byte_size
    latency = list(column.read_latency)
    if before:
        latency = [now - then for now, then in zip(latency, before.read_latency, strict=True)]

    return (
        f"{rate('rows'):>10,.0f} {_ratio(since('mapped_rows'), rows):>9.1%} "
        f"{_ratio(since('cache_hits'), rows):>7.1%} {rate('reads'):>9,.0f} "
        f"{_ratio(reads, since('gathers')):>9.1f} "
        f"{_ratio(since('read_byte_size'), wanted):>8.1f}x {_quantile(latency, 0.5):>8} "
        f"{_quantile(latency, 0.99):>8}  {column.dataset}/{column.column}, {column.path}"
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


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
