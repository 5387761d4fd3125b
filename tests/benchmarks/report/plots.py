"""Plots of a report, as SVG: bars with spread, cost against size, memory against trainers."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from common.rounds import medians
from loaders.memory_subject import megabytes, systems
from report.document import Report, Subject, Sweep
from report.growth import verdict

mpl.use("agg")
mpl.rcParams.update(
    {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "graphzero",  # the same report gives the same bytes
        "svg.fonttype": "none",
    }
)
OURS, OTHERS = "#1f6f8b", "#b8b8b8"
# What is shown of each subject as bars.
BARS = {"loaders": "batches_s", "sampling": "edges_s", "beyond memory": "nodes_s"}
BARS |= {"typed": "edges_s", "training": "batch_ms", "requests": "p50_ms"}


def draw(report: Report, folder: Path) -> dict[str, list[Path]]:
    """Names of the files that it wrote, by subject."""
    found: dict[str, list[Path]] = {}
    for name, subject in report.subjects.items():
        files = found.setdefault(name, [])
        stem = name.replace(" ", "-")
        if name in BARS and subject.turns:
            files.append(bars(subject, BARS[name], folder / f"{stem}.svg"))
        if name == "memory" and subject.turns:
            files.append(memory(subject, folder / f"{stem}.svg"))
        if subject.sweeps:
            files.append(sweeps(subject.sweeps, folder / f"{stem}-growth.svg"))
    return found


def bars(subject: Subject, key: str, path: Path, names: list[str] | None = None) -> Path:
    """Medians, with lines from the least to the most."""
    chosen = names or list(subject.turns)
    figure, axes = plt.subplots(figsize=(7, 0.6 + 0.34 * len(chosen)), layout="constrained")
    _bars(axes, subject, key, chosen, list(chosen))
    title = next((c.title for c in subject.columns if c.key == key), key)
    axes.set_xlabel(f"{title} (median, least and most)")
    return _save(figure, path)


def memory(subject: Subject, path: Path) -> Path:
    """All memory of each system against its trainers, and beside it what is not of files."""
    figure, both = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
    for axes, kinds, title in (
        (both[0], ("total",), "all pages"),
        (both[1], ("anonymous", "shared"), "without pages of files"),
    ):
        for system in systems(subject):
            sizes = [megabytes(subject, system, kind) for kind in kinds]
            counts = list(sizes[0])
            values = [sum(size[count] for size in sizes) / 1000 for count in counts]
            _line(axes, system, counts, values)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("trainers")
        axes.set_ylim(bottom=0)
    both[0].set_ylabel("GB, all processes")
    both[1].legend(frameon=False, fontsize=8)
    return _save(figure, path)


def overview(report: Report, path: Path) -> Path:
    """For the README: batches a second beside memory against trainers."""
    loaders, held = report.subjects["loaders"], report.subjects.get("memory")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
    names = ["graphzero, 1 trainer", "graphzero, 4 trainers"]
    names += [name for found in loaders.facts["best"].values() for name in found]
    names = [name for name in names if name in loaders.turns]
    _bars(left, loaders, "batches_s", names, [name.split(", ")[0:2] for name in names])
    left.set_xlabel("batches/s (median, least and most)")
    for system in systems(held) if held else ():
        sizes = megabytes(held, system)
        _line(right, system, list(sizes), [size / 1000 for size in sizes.values()])
    right.set_xlabel("trainers")
    right.set_ylabel("GB, all processes")
    right.set_ylim(bottom=0)
    if held:
        right.legend(frameon=False, fontsize=7)
    return _save(figure, path)


def _bars(axes: Any, subject: Subject, key: str, names: list[str], labels: list[Any]) -> None:
    spreads = [medians(subject.turns[name], key) for name in names]
    values = [spread.median for spread in spreads]
    errors = [
        [spread.median - spread.least for spread in spreads],
        [spread.most - spread.median for spread in spreads],
    ]
    colors = [OURS if name.startswith("graphzero") else OTHERS for name in names]
    texts = [label if isinstance(label, str) else ", ".join(label) for label in labels]
    axes.barh(texts, values, xerr=errors, color=colors, ecolor="#333333", capsize=2)
    axes.invert_yaxis()


def _line(axes: Any, system: str, counts: list[int], values: list[float]) -> None:
    ours = system.startswith("graphzero")
    style: dict[str, Any] = {"color": OURS, "linewidth": 2.5} if ours else {"linewidth": 1.2}
    axes.plot(counts, values, marker="o", markersize=3, label=system, **style)


def sweeps(found: list[Sweep], path: Path) -> Path:
    """Cost against size on logarithmic axes, with a line for what would be linear."""
    columns = 3
    rows = -(-len(found) // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(9, 2.4 * rows), layout="constrained", squeeze=False
    )
    for axes, sweep in zip(grid.flat, found, strict=False):
        middle = [statistics.median(values) for values in sweep.values]
        low = [m - min(v) for m, v in zip(middle, sweep.values, strict=True)]
        high = [max(v) - m for m, v in zip(middle, sweep.values, strict=True)]
        axes.errorbar(
            sweep.x, middle, yerr=[low, high], color=OURS, marker="o", markersize=3, capsize=2
        )
        line = [middle[0] * (x / sweep.x[0]) ** sweep.linear for x in sweep.x]
        axes.plot(sweep.x, line, color=OTHERS, linestyle="--", linewidth=1)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(sweep.quantity, fontsize=8)
        axes.set_ylabel(sweep.cost, fontsize=8)
        axes.set_title(f"{sweep.name}: x^{verdict(sweep).exponent:.2f}", fontsize=9)
    for axes in list(grid.flat)[len(found) :]:
        axes.set_visible(False)
    return _save(figure, path)


def _save(figure: plt.Figure, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path
