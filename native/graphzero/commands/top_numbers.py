"""Numbers of `graphzero top`: what changed between two answers of the daemon."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# The most points that are kept of each recent rate.
_MOST_POINTS = 240
# Share of their time that trainers wait: above the first, the daemon is too slow; below the second,
# their models set the pace.
MUCH, LITTLE = 0.5, 0.1
# Stages of a request, in their order.
STAGES = ("queue", "memory", "sampling", "gathering")


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def quantile_text(latency: Sequence[int], part: float) -> str:
    """Upper bound of a quantile: entry i of `latency` counts times of 2**(i - 1) to 2**i us."""
    total = sum(latency)
    if not total:
        return "-"
    seen = 0
    for power, count in enumerate(latency):
        seen += count
        if seen >= part * total:
            if power < 10:
                return f"<{2**power} us"
            unit, text = (1000, "ms") if power < 20 else (10**6, "s")
            return f"<{-(-(2**power) // unit)} {text}"
    return "-"


@dataclass(frozen=True)
class TrainerNumbers:
    """Numbers of one session since the previous answer of the daemon."""

    session: Any  # SessionStats
    rate: float
    """Requests per second."""
    bytes_rate: float
    wait_share: float
    """Share of the time in which the trainer waited for data, from 0 to 1."""
    latency: list[int]


@dataclass(frozen=True)
class Numbers:
    """Numbers between two answers of the daemon; rates are per second."""

    stats: Any  # GetStatsResponse
    seconds: float
    request_rate: float
    failure_rate: float
    bytes_rate: float
    nodes_rate: float
    wait_share: float
    """Mean over trainers of their share."""
    latency: list[int]
    """Histogram over all answered requests of the time since their last id arrived."""
    stage_seconds: dict[str, float]
    """Seconds that requests spent in each stage."""
    reads_rate: float
    read_bytes_rate: float
    read_latency: list[int]
    cache_share: float | None
    """Share of the rows of direct columns that were found in the row cache; None if no such rows
    were gathered."""
    trainers: list[TrainerNumbers]


def verdict(numbers: Numbers) -> str:
    """Who waits for whom, in a sentence."""
    if not numbers.stats.num_sessions:
        return "no trainers"
    if not numbers.request_rate:
        return "no requests at the moment"
    share = f"trainers wait {numbers.wait_share:.0%} of their time for data"
    if numbers.wait_share < LITTLE:
        return f"{share}: their models set the pace"
    slowest = max(STAGES, key=lambda stage: numbers.stage_seconds.get(stage, 0.0))
    where = {"queue": "queueing", "memory": "waiting for memory"}.get(slowest, slowest)
    if numbers.wait_share > MUCH:
        return f"{share}: the daemon is too slow ({where})"
    return f"{share}: most of a request is {where}"


class History:
    """The current numbers, and recent values of some of them."""

    def __init__(self) -> None:
        self._before: Any = None
        self.now: Numbers | None = None
        self.lately: dict[str, deque[float]] = {}

    def add(self, stats: Any) -> None:
        """Adds the next answer. An answer of another daemon begins a new history."""
        if self._before is not None and self._before.instance_id != stats.instance_id:
            self._before = None
        if self._before is None:
            self.lately = {}
            self.now = _compare(stats, stats)
        else:
            self.now = _compare(stats, self._before)
            for name in ("request_rate", "bytes_rate", "wait_share", "reads_rate"):
                points = self.lately.setdefault(name, deque(maxlen=_MOST_POINTS))
                points.append(getattr(self.now, name))
        self._before = stats


def _compare(stats: Any, before: Any) -> Numbers:
    # By the daemon's clock, because an answer may have been delayed.
    seconds = max(0.0, (stats.uptime_ms - before.uptime_ms) / 1000)

    def rate(name: str) -> float:
        return ratio(getattr(stats, name) - getattr(before, name), seconds)

    trainers = _trainers(stats, before, seconds)
    stages = _stage_seconds(stats, before)
    reads = _columns_since(stats, before)
    hits, misses = (
        getattr(stats.row_cache, name) - getattr(before.row_cache, name)
        for name in ("hits", "misses")
    )
    return Numbers(
        stats=stats,
        seconds=seconds,
        request_rate=rate("requests"),
        failure_rate=rate("failed_requests"),
        bytes_rate=rate("result_byte_size"),
        nodes_rate=rate("sampled_nodes"),
        wait_share=ratio(sum(t.wait_share for t in trainers), len(trainers)),
        latency=_totals(stats, before),
        stage_seconds=stages,
        reads_rate=ratio(reads("reads"), seconds),
        read_bytes_rate=ratio(reads("read_byte_size"), seconds),
        read_latency=_read_latency(stats, before),
        cache_share=hits / (hits + misses) if hits + misses > 0 else None,
        trainers=trainers,
    )


def _trainers(stats: Any, before: Any, seconds: float) -> list[TrainerNumbers]:
    earlier = {session.session_id: session for session in before.sessions}
    found = []
    for session in stats.sessions:
        last = earlier.get(session.session_id)
        since = min(seconds, session.age_ms / 1000) if last is None else seconds

        def rate(name: str, session: Any = session, last: Any = last, s: float = since) -> float:
            return ratio(getattr(session, name) - (getattr(last, name) if last else 0), s)

        found.append(
            TrainerNumbers(
                session,
                rate("requests"),
                rate("result_byte_size"),
                min(1.0, rate("waited_us") / 1e6),
                _since(session.request_latency, last.request_latency if last else ()),
            )
        )
    return found


def _since(counts: Sequence[int], before: Sequence[int]) -> list[int]:
    """What was added to a histogram since `before`."""
    if not before:
        return list(counts)
    return [now - then for now, then in zip(counts, before, strict=True)]


def _added(histograms: list[list[int]]) -> list[int]:
    longest = max(map(len, histograms), default=0)
    return [sum(h[at] for h in histograms if at < len(h)) for at in range(longest)]


def _by_stage(stats: Any) -> dict[tuple[str, str], Any]:
    return {(stage.kind, stage.stage): stage for stage in stats.stages}


def _stage_seconds(stats: Any, before: Any) -> dict[str, float]:
    earlier = _by_stage(before)
    seconds: dict[str, float] = {}
    for (kind, stage), found in _by_stage(stats).items():
        last = earlier.get((kind, stage))
        spent = (found.sum_us - (last.sum_us if last else 0)) / 1e6
        seconds[stage] = seconds.get(stage, 0.0) + spent
    return seconds


def _totals(stats: Any, before: Any) -> list[int]:
    earlier = _by_stage(before)
    return _added(
        [
            _since(found.latency, earlier[key].latency if key in earlier else ())
            for key, found in _by_stage(stats).items()
            if key[1] == "total"
        ]
    )


def _columns(stats: Any) -> dict[tuple[str, str], Any]:
    return {(column.dataset, column.column): column for column in stats.columns}


def _columns_since(stats: Any, before: Any) -> Callable[[str], int]:
    """A function that sums the increase of a counter over all columns. The counters of a dataset
    that was replaced begin at 0 again."""
    earlier = _columns(before)

    def since(name: str) -> int:
        total = 0
        for key, column in _columns(stats).items():
            last = getattr(earlier[key], name) if key in earlier else 0
            now = getattr(column, name)
            total += now - last if now >= last else now
        return total

    return since


def _read_latency(stats: Any, before: Any) -> list[int]:
    earlier = _columns(before)
    found = []
    for key, column in _columns(stats).items():
        last = earlier[key].read_latency if key in earlier else ()
        since = _since(column.read_latency, last if column.reads >= sum(last) else ())
        found.append([max(0, count) for count in since])
    return _added(found)
