"""What `graphzero convert` prints when it is done."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphzero.base.text import count_text, counted_text, rate_text, size_text

if TYPE_CHECKING:
    from graphzero.conversion.compile_column import ColumnReport
    from graphzero.conversion.convert import ConversionReport
    from graphzero.conversion.typed_plan import TypedConversionReport


def print_report(out: str, report: ConversionReport) -> None:
    graph = report.graph
    edges = counted_text(graph.num_edges, "edge")
    print(f"{out}: {counted_text(graph.num_nodes, 'node')}, {edges}")
    if graph.dropped:
        print(f"  dropped {count_text(graph.dropped)} repeated edges")
    for name, column in report.columns.items():
        print(f"  {name}: {column_text(column)}")
    for note in report.notes:
        print(f"  note: {note}")
    print_work(report)
    _print_skipped(graph.skipped, graph.messages)
    for column in report.columns.values():
        _print_skipped(column.skipped, column.messages)


def print_work(report: ConversionReport | TypedConversionReport) -> None:
    print(
        f"  read {size_text(report.input_bytes)}, wrote {size_text(report.output_bytes)} in "
        f"{report.seconds:.1f} s{rate_text(report.input_bytes, report.seconds)}"
    )


def column_text(column: ColumnReport) -> str:
    """One line about a column."""
    parts = [f"{count_text(column.rows)} x {column.cols} {column.dtype}"]
    if column.categories is not None:
        parts.append(f"{count_text(column.categories)} categories")
    for word in column.words_for_nothing:
        parts.append(f"{word!r} among them (--missing {word} takes it for none)")
    if column.unit is not None:
        parts.append(f"dates in {column.unit}")
    if column.unit is not None and column.times is not None:
        first, last = (time_text(time, column.unit) for time in column.times)
        parts[-1] += f" from {first} to {last}"
    if column.rounded_times:
        parts.append(f"{count_text(column.rounded_times)} of them rounded down to that")
    if column.filled:
        parts.append(f"{count_text(column.filled)} rows filled")
    if column.missing:
        parts.append(_missing_text(column))
    if column.rounded_integers:
        parts.append(
            f"{count_text(column.rounded_integers)} integers rounded (type float64 holds them up "
            "to 2^53)"
        )
    return ", ".join(parts)


def _missing_text(column: ColumnReport) -> str:
    became = "-1" if column.categories is not None else "NaN"
    named = [f"{count_text(n)} in {name!r}" for name, n in column.missing.items() if name]
    total = count_text(sum(column.missing.values()))
    return f"missing {', '.join(named) or total} ({'replaced' if column.nans else became})"


def time_text(time: int, unit: str) -> str:
    import numpy as np

    return str(np.array(time, f"datetime64[{unit}]"))


def _print_skipped(skipped: int, messages: tuple[str, ...]) -> None:
    if skipped:
        print(f"skipped {count_text(skipped)} bad lines, the first:", file=sys.stderr)
    for message in messages:
        print(f"  {message}", file=sys.stderr)
