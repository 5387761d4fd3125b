"""`graphzero top [ADDRESS]`: what a daemon is doing, session by session.

It fits into 80 columns; where there are 100 or more, it shows more of each session and column.
"""

import argparse
import json
import os
import shutil
import sys
import time
from typing import Any

from graphzero.base.errors import InputError
from graphzero.base.text import count_text, line_text, size_text
from graphzero.commands.arguments import add_daemon, daemon_calls
from graphzero.commands.keys import keys
from graphzero.commands.messages import message_fields

_CLEAR = "\x1b[H\x1b[2J"
_LONGEST_LINE = 500
_WIDE = 100


def configure(parser: argparse.ArgumentParser) -> None:
    add_daemon(parser)
    parser.add_argument("--interval", type=float, default=1.0, metavar="S", help="default 1 s")
    parser.add_argument("--once", action="store_true", help="print once, after one interval")
    parser.add_argument("--json", action="store_true", help="print once, for programs")


def ask_daemon(args: argparse.Namespace) -> Any:
    with daemon_calls(args) as daemon:
        return daemon.stats()


def run(args: argparse.Namespace) -> int:
    if args.interval <= 0:
        raise InputError(f"--interval: found {args.interval}, expected a positive number")
    if args.json:
        print(json.dumps(message_fields(ask_daemon(args)), indent=2))
        return 0
    if args.once or not sys.stdout.isatty():
        before = ask_daemon(args)
        time.sleep(args.interval)
        lines = _lines(ask_daemon(args), before, shutil.get_terminal_size().columns, True)
        longest = shutil.get_terminal_size().columns if sys.stdout.isatty() else _LONGEST_LINE
        print("\n".join(line_text(line, longest) for line in lines))
        return 0
    _refresh(args)
    return 0


def _refresh(args: argparse.Namespace) -> None:
    """Shows pages until q is pressed."""
    before = ask_daemon(args)
    with keys() as typed:
        while not typed.wait_for("q", args.interval):
            stats = ask_daemon(args)
            print(_CLEAR + _screen(stats, before, shutil.get_terminal_size()), end="", flush=True)
            before = stats
    print()


def _screen(stats: Any, before: Any, size: os.terminal_size) -> str:
    """What fits into the terminal."""
    lines = _lines(stats, before, size.columns, whole_life=False)
    room = max(1, size.lines - 1)
    if len(lines) > room:
        hidden = len(lines) - room + 1
        lines = [*lines[: room - 1], f"... {hidden} more lines"]
    lines.append("q quits")
    return "\n".join(line_text(line, size.columns) for line in lines)


def _lines(stats: Any, before: Any, columns: int, whole_life: bool) -> list[str]:
    """Rates are those since `before`; so are shares and latencies, except for those who look once:
    they get those of the daemon's `whole_life`. Names, which come last in a line, may be longer
    than `columns`."""
    # By the daemon's clock: an answer may have taken its time.
    seconds = max(0.0, (stats.uptime_ms - before.uptime_ms) / 1000)
    wide = columns >= _WIDE

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
        f"{'session':>7} {'requests':>8} {'per s':>7} {'p50':>7} {'p99':>7} {'flight':>6} "
        f"{'held':>10} " + (f"{'blocks':>7} {'memory':>10} " if wide else "") + " client, dataset",
    ]
    earlier = {s.session_id: s for s in before.sessions}
    for session in stats.sessions:
        last = earlier.get(session.session_id)
        lines.append(_session_line(session, last, seconds, whole_life, wide))
    return lines + _io_lines(stats, before, seconds, whole_life, wide)


def _session_line(session: Any, last: Any, seconds: float, whole_life: bool, wide: bool) -> str:
    rate = _ratio(session.requests - (last.requests if last else 0), seconds)
    latency = _since(session.request_latency, last and last.request_latency, whole_life)
    memory = f"{session.blocks:>7} {size_text(session.region_byte_size):>10} " if wide else ""
    return (
        f"{session.session_id:>7} {session.requests:>8} {rate:>7.1f} "
        f"{_quantile(latency, 0.5):>7} {_quantile(latency, 0.99):>7} {session.in_flight:>6} "
        f"{size_text(session.block_byte_size):>10} {memory} "
        f"{session.client_name}, {session.dataset}"
    )


def _io_lines(stats: Any, before: Any, seconds: float, whole_life: bool, wide: bool) -> list[str]:
    """Columns that were read from since the daemon's start."""
    cache = stats.row_cache
    lines = ["", f"reads by {stats.io_engine}"]
    if cache.capacity_byte_size:
        lines[-1] += (
            f", row cache {size_text(cache.used_byte_size)} of "
            f"{size_text(cache.capacity_byte_size)}, {count_text(cache.rows)} rows"
        )
    lines.append(
        f"{'rows/s':>10} {'in memory':>9} {'hits':>7} {'reads/s':>9} "
        + (f"{'per batch':>9} {'read/row':>9} " if wide else "")
        + f"{'p50':>7} {'p99':>7}  column, path"
    )
    earlier = {(c.dataset, c.column): c for c in before.columns}
    for column in stats.columns:
        if column.gathers:
            last = earlier.get((column.dataset, column.column))
            lines.append(_io_line(column, last, seconds, whole_life, wide))
    return lines


def _io_line(column: Any, last: Any, seconds: float, whole_life: bool, wide: bool) -> str:
    before = None if whole_life else last

    def since(name: str) -> int:
        count: int = getattr(column, name) - (getattr(before, name) if before else 0)
        return count

    def rate(name: str) -> float:
        return _ratio(getattr(column, name) - (getattr(last, name) if last else 0), seconds)

    rows, reads = since("rows"), since("reads")
    missed = rows - since("mapped_rows") - since("cache_hits")
    wanted = missed * column.row_byte_size
    latency = _since(column.read_latency, last and last.read_latency, whole_life)
    reading = (
        f"{_ratio(reads, since('gathers')):>9.1f} {_ratio(since('read_byte_size'), wanted):>8.1f}x "
    )
    return (
        f"{rate('rows'):>10,.0f} {_ratio(since('mapped_rows'), rows):>9.1%} "
        f"{_ratio(since('cache_hits'), rows):>7.1%} {rate('reads'):>9,.0f} "
        + (reading if wide else "")
        + f"{_quantile(latency, 0.5):>7} {_quantile(latency, 0.99):>7}  "
        f"{column.dataset}/{column.column}, {column.path}"
    )


def _since(counts: Any, before: Any, whole_life: bool) -> list[int]:
    """A histogram without what was in it before."""
    if whole_life or not before:
        return list(counts)
    return [now - then for now, then in zip(counts, before, strict=True)]


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
            if power < 10:
                return f"<{2**power} us"
            return f"<{2**power // 1000} ms" if power < 20 else f"<{2**power // 10**6} s"
    return "-"
