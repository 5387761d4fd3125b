"""What `graphzero convert` prints about a dataset with types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphzero.base.text import count_text, counted_text
from graphzero.commands.convert_report import column_text, print_work, time_text

if TYPE_CHECKING:
    from graphzero.conversion.typed_plan import (
        RelationName,
        RelationReport,
        TypedConversionReport,
        TypeReport,
    )


def print_typed_report(out: str, report: TypedConversionReport) -> None:
    nodes, edges = counted_text(report.num_nodes, "node"), counted_text(report.num_edges, "edge")
    types = counted_text(len(report.types), "type")
    print(
        f"{out}: {nodes} of {types}, {edges} of {counted_text(len(report.relations), 'relation')}"
    )
    for name, own in report.types.items():
        _print_type(name, own, report.time_unit)
    for triple, relation in report.relations.items():
        _print_relation(triple, relation, report.time_unit)
    for note in report.notes:
        print(f"  note: {note}")
    for caution in report.cautions:
        print(f"  caution: {caution}")
    print_work(report)


def _print_type(name: str, report: TypeReport, unit: str) -> None:
    parts = [counted_text(report.num_nodes, "node")]
    if report.times is not None:
        parts.append(_times_text(report.times, unit))
    if report.rounded_times:
        parts.append(_rounded_text(report.rounded_times, unit))
    if report.dropped:
        parts.append(f"dropped {counted_text(report.dropped, 'row')} without a key or time")
    print(f"  {name}: {', '.join(parts)}")
    _print_columns(report)


def _print_relation(triple: RelationName, report: RelationReport, unit: str) -> None:
    parts = [counted_text(report.num_edges, "edge")]
    if report.symmetric:
        parts.append("each in both directions")
    if report.view is not None:
        parts.append(f"back as {report.view[1]}")
    if report.inverse is not None:
        parts.append(f"the reverse of {report.inverse[1]}")
    if report.times is not None:
        parts.append(_times_text(report.times, unit))
    if report.rounded_times:
        parts.append(_rounded_text(report.rounded_times, unit))
    if report.repeated:
        parts.append(f"dropped {count_text(report.repeated)} repeated")
    if report.empty:
        verb = "is" if report.empty == 1 else "are"
        parts.append(f"{counted_text(report.empty, 'reference')} {verb} empty")
    if report.untimed:
        parts.append(f"dropped {count_text(report.untimed)} without a time")
    if report.dangling:
        parts.append(f"dropped {counted_text(report.dangling, 'reference')} to nothing")
    print(f"  {' - '.join(triple)}: {', '.join(parts)}")
    if report.dangling:
        print(f"    the first: {report.first_dangling}")
    _print_columns(report)


def _print_columns(report: TypeReport | RelationReport) -> None:
    splits = {name: own for name, own in report.columns.items() if own.is_split}
    for name, column in report.columns.items():
        if name not in splits:
            print(f"    {name}: {column_text(column)}")
    if splits:
        parts = [f"{name} {count_text(own.rows)}" for name, own in splits.items()]
        if report.unlabelled:
            rows = counted_text(report.unlabelled, "row")
            parts.append(f"{rows} without a label in none of them")
        print(f"    splits: {', '.join(parts)}")


def _rounded_text(count: int, unit: str) -> str:
    return f"{count_text(count)} of them rounded down to {unit}"


def _times_text(times: tuple[int, int], unit: str) -> str:
    first, last = (time_text(time, unit) for time in times)
    return f"times from {first} to {last}"
