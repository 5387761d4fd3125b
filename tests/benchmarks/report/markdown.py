"""A report as Markdown: conditions first, then each subject with its table, ratios and plots."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from common.rounds import medians
from report.document import Report, Subject
from report.growth import verdict


def markdown(report: Report, plots: dict[str, list[Path]]) -> str:
    """`plots` are names of files beside the Markdown, by subject."""
    lines = ["# Benchmarks", "", *_conditions(report), ""]
    for name, subject in report.subjects.items():
        lines += [f"## {subject.title}", "", _paragraph(subject.about), ""]
        lines += _table(subject)
        lines += _ratios(subject)
        lines += _sweeps(subject)
        lines += [f"- {note}" for note in subject.notes] + [""] * bool(subject.notes)
        lines += [f"- Left out: {who}: {why}" for who, why in subject.skipped.items()]
        lines += [""] * bool(subject.skipped)
        lines += [f"![{plot.stem}]({plot.name})" for plot in plots.get(name, [])]
        lines += [""] * bool(plots.get(name))
    return "\n".join(lines)


def _conditions(report: Report) -> Iterator[str]:
    machine = report.machine
    virtual = "a virtual machine with " if machine["virtual"] else ""
    yield (
        f"{machine['date']}: {virtual}{machine['processors']} x {machine['processor']}, "
        f"{machine['memory_gib']:.0f} GiB, {machine['kernel']}, {machine['file_system']}, huge "
        f"pages {machine['huge_pages']} ({machine['huge_pages_shm']} for shared memory), load "
        f"{machine['load_at_start']:.1f} at the start."
    )
    versions = ", ".join(f"{name} {text}" for name, text in machine["versions"].items())
    yield f"Python {machine['python']}, {versions}."
    yield ""
    fio = machine["fio"]
    if "missing" in fio:
        yield f"- {fio['missing']}."
    else:
        found = "; ".join(
            f"{float(rates['reads_s']):,.0f} reads/s of {block} bytes, "
            f"{rates['bytes_s'] / 1e6:,.0f} MB/s"
            for block, rates in fio.items()
        )
        yield f"- fio, one thread with 256 random reads under way around the page cache: {found}."
    settings = ", ".join(f"{name} {value}" for name, value in report.settings.items())
    yield f"- Settings: {settings}; {report.seconds / 60:.0f} minutes in all."
    yield (
        "- Contenders take turns; a figure is the median of its rounds, with the least and the "
        "most in parentheses; a ratio is taken within each round. Nothing is asserted."
    )
    for who, why in report.missing.items():
        yield f"- Not measured: {who}: {why}."


def _paragraph(text: str) -> str:
    return "\n".join(textwrap.wrap(" ".join(text.split()), 110))


def _table(subject: Subject) -> list[str]:
    if not subject.turns:
        return []
    lines = ["| | " + " | ".join(column.title for column in subject.columns) + " |"]
    lines.append("|---" * (len(subject.columns) + 1) + "|")
    for name, turns in subject.turns.items():
        cells = [medians(turns, column.key).text(column.form) for column in subject.columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _ratios(subject: Subject) -> list[str]:
    lines = [f"- {ratio.what}: {ratio.spread.text('.2f')}" for ratio in subject.ratios]
    return [*lines, ""] if lines else []


def _sweeps(subject: Subject) -> list[str]:
    if not subject.sweeps:
        return []
    lines = ["| with | from | to | cost | grows as | |", "|---|---|---|---|---|---|"]
    for sweep in subject.sweeps:
        found = verdict(sweep)
        lines.append(
            f"| {sweep.quantity} | {sweep.x[0]:,g} | {sweep.x[-1]:,g} | {sweep.cost}: "
            f"{found.first:,.3g} to {found.last:,.3g} | x^{found.exponent:.2f} | {found.text} |"
        )
    return [*lines, ""]
