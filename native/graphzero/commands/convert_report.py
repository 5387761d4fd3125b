"""What `graphzero convert` prints when it is done."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphzero.base.text import count_text, counted_text, rate_text, size_text

if TYPE_CHECKING:
    from graphzero.conversion.compile_column import ColumnReport
    from graphzero.conversion.convert import ConversionReport
    from graphzero.conversion.ordering import OrderReport
    from graphzero.conversion.typed_plan import TypedConversionReport

# Of a smaller input, most of the time was spent on other things than reading it.
_LEAST_BYTES_OF_RATE = 1 << 20


def print_report(out: str, report: ConversionReport) -> None:
    graph = report.graph
    edges = counted_text(graph.num_edges, "edge")
    print(f"{out}: {counted_text(graph.num_nodes, 'node')}, {edges}")
    if graph.first_time is not None and graph.last_time is not None:
        first, last = (
            time_text(time, graph.time_unit) for time in (graph.first_time, graph.last_time)
        )
        print(f"  times of edges from {first} to {last}")
    if graph.dropped:
        print(f"  dropped {counted_text(graph.dropped, 'repeated edge')}")
    for name, column in report.columns.items():
        print(f"  {name}: {column_text(column)}")
    for note in report.notes:
        print(f"  note: {note}")
    print_work(report)
    _print_skipped(graph.skipped, graph.messages)
    for column in report.columns.values():
        _print_skipped(column.skipped, column.messages)


def print_work(report: ConversionReport | TypedConversionReport) -> None:
    if report.order is not None:
        print_order(report.order)
    read, seconds = report.input_bytes, report.seconds
    rate = rate_text(read, seconds) if read >= _LEAST_BYTES_OF_RATE else ""
    print(
        f"  read {size_text(read)}, wrote {size_text(report.output_bytes)} in {seconds:.1f} s{rate}"
    )


def print_order(report: OrderReport) -> None:
    if report.order is None:
        print("  order: kept, because batches would not read less with communities together")
    elif report.communities is not None:
        print(
            f"  order: by community; communities of several nodes: {count_text(report.communities)}"
        )
    else:
        print("  order: by degree")
    before, after = report.blocks
    cold_before, cold_after = report.cold_blocks
    if before and cold_before:
        print(
            f"  batches read {after / before:.2f} times as many 4 KiB blocks as before "
            f"({cold_after / cold_before:.2f} with hot rows cached), estimated for rows of 512 "
            "bytes"
        )


def column_text(column: ColumnReport) -> str:
    """One line about a column."""
    if column.is_split:
        parts = [counted_text(column.rows, "node id")]
    else:
        parts = [f"{' x '.join(map(count_text, column.shape))} {column.dtype}"]
    if column.categories is not None:
        word = "category" if column.categories == 1 else "categories"
        parts.append(f"{count_text(column.categories)} {word}")
    for word in column.words_for_nothing:
        parts.append(f"{word!r} among them (--missing {word} counts it as missing)")
    if column.unit is not None:
        parts.append(f"dates in {column.unit}")
    if column.unit is not None and column.times is not None:
        first, last = (time_text(time, column.unit) for time in column.times)
        parts[-1] += f" from {first} to {last}"
    if column.rounded_times:
        parts.append(f"{count_text(column.rounded_times)} of them rounded down to that")
    if column.filled:
        parts.append(f"{counted_text(column.filled, 'row')} filled")
    if column.missing:
        parts.append(_missing_text(column))
    if column.rounded_integers:
        parts.append(
            f"{counted_text(column.rounded_integers, 'integer')} rounded (type float64 holds them "
            "up to 2^53)"
        )
    if column.quantised is not None:
        parts.append(quantised_text(vars(column.quantised)))
    return ", ".join(parts)


def quantised_text(facts: Mapping[str, Any]) -> str:
    """What quantising a column lost, from the fields of a Quantisation."""
    text = f"off by {facts['mean_error']:.3g} on average, by {facts['largest_error']:.3g} at most"
    if facts["clipped"]:
        text += f", {counted_text(facts['clipped'], 'value')} clipped to the stated range"
    return text


def _missing_text(column: ColumnReport) -> str:
    became = "-1" if column.categories is not None else "NaN"
    named = [f"{count_text(n)} in {name!r}" for name, n in column.missing.items() if name]
    total = count_text(sum(column.missing.values()))
    return f"missing {', '.join(named) or total} ({'replaced' if column.nans else became})"


def time_text(time: int, unit: str) -> str:
    if not unit:
        return str(time)
    import numpy as np

    return str(np.array(time, f"datetime64[{unit}]"))


def _print_skipped(skipped: int, messages: tuple[str, ...]) -> None:
    if skipped:
        first = ", the first" if skipped > len(messages) else ""
        print(f"skipped {counted_text(skipped, 'bad line')}{first}:", file=sys.stderr)
    for message in messages:
        print(f"  {message}", file=sys.stderr)
