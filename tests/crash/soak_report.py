"""What a soak found: lines through what was seen, percentiles over time, a report and a plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

MIB = 1 << 20
# Seen values are correlated: an allocator grows in steps. So the slope's interval comes from blocks
# of neighbouring values that are drawn again, as they are.
_BLOCKS = 10
_DRAWS = 2000


@dataclass(frozen=True)
class Usage:
    """What the daemon used at one moment, and what it had answered."""

    seconds: float
    requests: int
    private: int  # bytes of its own
    descriptors: int
    regions: int
    sessions: int
    p50_ms: float  # of the requests since the moment before, as a trainer sees them
    p99_ms: float


@dataclass(frozen=True)
class Slope:
    """Growth with each request: the line through all, and where it lies with 95 % confidence."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.4g} ({self.low:+.4g} to {self.high:+.4g})"


def slope(requests: Sequence[int], values: Sequence[float]) -> Slope:
    x, y = np.asarray(requests, float), np.asarray(values, float)

    def line(chosen: Any) -> float:
        at, of = x[chosen] - x[chosen].mean(), y[chosen]
        return float(at @ of / (at @ at)) if at.any() else 0.0

    blocks = np.array_split(np.arange(len(x)), min(_BLOCKS, len(x)))
    rng = np.random.default_rng(1)
    drawn = [
        line(np.concatenate([blocks[i] for i in rng.integers(0, len(blocks), len(blocks))]))
        for _ in range(_DRAWS)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Slope(line(slice(None)), float(low), float(high))


def write_report(directory: Path, seen: Sequence[Usage], facts: dict[str, Any]) -> str:
    """Writes soak.json, soak.md and, where matplotlib is, soak.png; returns the text."""
    directory.mkdir(parents=True, exist_ok=True)
    answered = [usage.requests for usage in seen]
    memory = slope(answered, [usage.private for usage in seen])
    descriptors = slope(answered, [usage.descriptors for usage in seen])
    latest = [usage for usage in seen if usage.p50_ms > 0]
    thirds = [latest[len(latest) * i // 3 : len(latest) * (i + 1) // 3] for i in range(3)]
    lines = [
        "# Soak",
        "",
        *(f"- {name}: {value}" for name, value in facts.items()),
        f"- requests: {answered[-1] - answered[0]:,} in {seen[-1].seconds - seen[0].seconds:.0f} s",
        f"- the daemon's own memory, bytes with each request (95 %): {memory}",
        f"- open descriptors with each request (95 %): {descriptors}",
        f"- own memory at first and at last, MiB: {seen[0].private / MIB:.1f}, "
        f"{seen[-1].private / MIB:.1f}",
        "",
        "| third | median ms | 99th percentile ms |",
        "|---|---|---|",
        *(
            f"| {number} | {np.median([u.p50_ms for u in third]):.1f} "
            f"| {np.median([u.p99_ms for u in third]):.1f} |"
            for number, third in enumerate(thirds, start=1)
            if third
        ),
    ]
    text = "\n".join(lines) + "\n"
    (directory / "soak.md").write_text(text)
    numbers = {"facts": facts, "memory": asdict(memory), "descriptors": asdict(descriptors)}
    series = [asdict(usage) for usage in seen]
    (directory / "soak.json").write_text(json.dumps({**numbers, "seen": series}, indent=1))
    _plot(directory / "soak.png", seen)
    return text


def _plot(path: Path, seen: Sequence[Usage]) -> None:
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    seconds = [usage.seconds for usage in seen]
    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(8, 7), layout="constrained")
    axes[0].plot(seconds, [usage.private / MIB for usage in seen])
    axes[0].set_ylabel("own memory, MiB")
    axes[1].plot(seconds, [usage.descriptors for usage in seen], label="descriptors")
    axes[1].plot(seconds, [usage.sessions for usage in seen], label="sessions")
    axes[1].legend()
    axes[2].plot(seconds, [usage.p50_ms for usage in seen], label="median")
    axes[2].plot(seconds, [usage.p99_ms for usage in seen], label="99th percentile")
    axes[2].set_ylabel("request, ms")
    axes[2].set_xlabel("seconds")
    axes[2].legend()
    for axis in axes:
        axis.set_ylim(bottom=0)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
