"""A dataset from files: what `graphzero convert` does, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from graphzero._columns import check_column_name
from graphzero._compile_graph import GraphOptions, GraphReport, Report, compile_edges
from graphzero._errors import InputError
from graphzero._files import COLUMN_SUFFIX, GRAPH_FILE
from graphzero._publish import StrPath, new_dataset
from graphzero._resources import make_resources

if TYPE_CHECKING:
    from graphzero._compile_column import ColumnReport, Number

# Shows the progress of one file: called with what it is, gives a context whose value takes reports.
ShowProgress = Callable[[str], AbstractContextManager[Report | None]]


class ColumnSource(NamedTuple):
    """A column to compile: its name, where its values are, and as which type to store them."""

    name: str
    path: str
    dtype: str | None = None


class ColumnOptions(NamedTuple):
    """What holds for every column. Field for field the options of `graphzero convert`."""

    row_align: int | None = None
    nan: Number | None = None
    fill: Number | None = None


class Work(NamedTuple):
    """How to go about it. Does not change the result, except for on_error."""

    memory: int | None = None
    threads: int | None = None
    on_error: str = "stop"
    overwrite: bool = False


class ConversionReport(NamedTuple):
    """What became of each source."""

    graph: GraphReport
    columns: dict[str, ColumnReport]
    input_bytes: int
    output_bytes: int
    seconds: float


def convert(
    edges: StrPath,
    columns: Sequence[ColumnSource],
    out: StrPath,
    *,
    graph_options: GraphOptions,
    column_options: ColumnOptions,
    work: Work,
    show_progress: ShowProgress,
) -> ConversionReport:
    """Compiles everything into a new directory, which becomes `out` when all of it is complete."""
    started = time.monotonic()
    _check_columns(columns)
    sources = [Path(edges), *(Path(column.path) for column in columns)]
    input_bytes = sum(source.stat().st_size for source in sources)  # also: they all exist
    with new_dataset(out, overwrite=work.overwrite) as directory:
        resources = make_resources(work.memory, work.threads, directory.parent)
        with show_progress(Path(edges).name) as report:
            graph = compile_edges(
                edges,
                directory / GRAPH_FILE,
                graph_options,
                resources,
                skip_errors=work.on_error == "skip",
                report=report,
            )
        reports = {}
        for column in columns:
            from graphzero._compile_column import compile_column

            with show_progress(Path(column.path).name) as report:
                reports[column.name] = compile_column(
                    column.path,
                    str(directory / f"{column.name}{COLUMN_SUFFIX}"),
                    num_nodes=graph.num_nodes,
                    dtype=column.dtype,
                    row_align=column_options.row_align,
                    nan=column_options.nan,
                    fill=column_options.fill,
                    on_error=work.on_error,
                    memory=resources.memory,
                    threads=resources.threads,
                    temp_dir=resources.temp_dir,
                    report=report,
                )
        output_bytes = sum(file.stat().st_size for file in directory.iterdir())
    return ConversionReport(graph, reports, input_bytes, output_bytes, time.monotonic() - started)


def _check_columns(columns: Sequence[ColumnSource]) -> None:
    seen = set()
    for column in columns:
        check_column_name(column.name)
        if column.name in seen:
            raise InputError(f"column {column.name!r}: given twice")
        seen.add(column.name)
