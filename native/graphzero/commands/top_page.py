"""The page of `graphzero top --once`: plain lines in a fixed layout, for scripts and logs.

It fits into 80 columns; with 100 or more, it shows more about each session and column.
"""

from __future__ import annotations

from typing import Any

from graphzero.base.text import count_text, counted_text, size_text
from graphzero.commands.top_numbers import History, TrainerNumbers, quantile_text, ratio, verdict

_WIDE = 100


def page_lines(stats: Any, before: Any, columns: int) -> list[str]:
    """Rates, and what trainers wait, are those since `before`; other shares and latencies are those
    of the daemon's whole life. Names, which come last in a line, may be longer than `columns`."""
    # By the daemon's clock, because an answer may have been delayed.
    seconds = max(0.0, (stats.uptime_ms - before.uptime_ms) / 1000)
    wide = columns >= _WIDE

    def rate(name: str) -> float:
        return ratio(getattr(stats, name) - getattr(before, name), seconds)

    lines = [
        f"graphzero-server {stats.version}, pid {stats.pid}, up {stats.uptime_ms / 1000:.0f} s, "
        f"{counted_text(stats.threads, 'thread')}",
        f"requests {count_text(stats.requests)} ({rate('requests'):.1f}/s), failed "
        f"{count_text(stats.failed_requests)}, results {size_text(stats.result_byte_size)} "
        f"({size_text(rate('result_byte_size'))}/s)",
        f"shared memory {size_text(stats.shm_used_byte_size)} of "
        f"{size_text(stats.shm_limit_byte_size)}, sessions {stats.num_sessions} of "
        f"{stats.max_sessions}",
    ]
    history = History()
    history.add(before)
    history.add(stats)
    assert history.now is not None
    if stats.num_sessions:
        lines += [verdict(history.now), "", _trainer_header(wide)]
        lines += [_trainer_line(trainer, wide) for trainer in history.now.trainers]
    else:
        lines += ["", "no trainers"]
    return lines + _io_lines(stats, before, seconds, wide)


def _trainer_header(wide: bool) -> str:
    memory = f"{'blocks':>7} {'memory':>10} " if wide else ""
    return (
        f"{'id':>5} {'requests':>8} {'req/s':>6} {'wait':>4} {'p50':>7} {'p99':>7} "
        f"{'open':>4} {'held':>10} {memory} trainer, dataset"
    )


def _trainer_line(trainer: TrainerNumbers, wide: bool) -> str:
    session = trainer.session
    latency = session.request_latency
    memory = f"{session.blocks:>7} {size_text(session.region_byte_size):>10} " if wide else ""
    return (
        f"{session.session_id:>5} {session.requests:>8} {trainer.rate:>6.1f} "
        f"{trainer.wait_share:>4.0%} "
        f"{quantile_text(latency, 0.5):>7} {quantile_text(latency, 0.99):>7} "
        f"{session.in_flight:>4} {size_text(session.block_byte_size):>10} {memory} "
        f"{session.client_name}, {session.dataset}"
    )


def _io_lines(stats: Any, before: Any, seconds: float, wide: bool) -> list[str]:
    """Columns that were read from since the daemon's start."""
    cache = stats.row_cache
    lines = ["", f"reads by {stats.io_engine}"]
    if cache.capacity_byte_size:
        lines[-1] += (
            f", row cache {size_text(cache.used_byte_size)} of "
            f"{size_text(cache.capacity_byte_size)}, {counted_text(cache.rows, 'row')}"
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
            lines.append(_io_line(column, last, seconds, wide, bool(cache.capacity_byte_size)))
    return lines


def _io_line(column: Any, last: Any, seconds: float, wide: bool, has_cache: bool) -> str:
    def total(name: str) -> int:
        count: int = getattr(column, name)
        return count

    def rate(name: str) -> float:
        return ratio(getattr(column, name) - (getattr(last, name) if last else 0), seconds)

    rows, reads = total("rows"), total("reads")
    missed = rows - total("mapped_rows") - total("cache_hits")
    wanted = missed * column.row_byte_size
    latency = column.read_latency
    # Only direct columns have rows in the row cache.
    cached = has_cache and column.path == "direct"
    hits = f"{ratio(total('cache_hits'), rows):.1%}" if cached else "-"
    reading = (
        f"{ratio(reads, total('gathers')):>9.1f} {ratio(total('read_byte_size'), wanted):>8.1f}x "
    )
    return (
        f"{rate('rows'):>10,.0f} {ratio(total('mapped_rows'), rows):>9.1%} "
        f"{hits:>7} {rate('reads'):>9,.0f} "
        + (reading if wide else "")
        + f"{quantile_text(latency, 0.5):>7} {quantile_text(latency, 0.99):>7}  "
        f"{column.dataset}/{column.column}, {column.path}"
        + (", row starts in memory" if column.row_starts_byte_size else "")
    )
