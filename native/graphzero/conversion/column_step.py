"""Compiles the columns of a conversion, one after the other, into a directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from graphzero.base.errors import InputError
from graphzero.base.progress import ShowProgress
from graphzero.conversion.plan import ColumnOptions, ColumnSource, WorkOptions
from graphzero.files.paths import COLUMN_SUFFIX, ORIGINAL_IDS
from graphzero.files.publish import StrPath

if TYPE_CHECKING:
    from graphzero import _engine
    from graphzero.conversion.compile_column import ColumnReport
    from graphzero.conversion.inputs.streams import EdgeStream, RowStream


class ColumnStep:
    """Compiles columns of a conversion into one directory, with the options that they share."""

    def __init__(
        self,
        directory: Path,
        work: WorkOptions,
        resources: _engine.Resources,
        options: ColumnOptions,
        show_progress: ShowProgress,
    ) -> None:
        self._directory = directory
        self._work = work
        self._resources = resources
        self._options = options
        self._show_progress = show_progress

    def compile(
        self,
        column: ColumnSource,
        *,
        rows: int | None,
        ids_below: int,
        name_node: Callable[[int], str] | None = None,
    ) -> ColumnReport:
        """`rows`: how many rows the file must have; None: as many as the source has. `ids_below`:
        the bound of the ids of a split, and the length of a mask."""
        from graphzero.conversion.compile_column import ColumnRequest, compile_column

        resources, is_split = self._resources, column.role == "ids"
        # The user's options do not apply to original ids.
        options = ColumnOptions() if column.name == ORIGINAL_IDS else self._options
        column = column.with_general(options)
        out_file = str(self._directory / f"{column.name}{COLUMN_SUFFIX}")
        request = ColumnRequest(
            memory=resources.memory,
            threads=resources.threads,
            temp_dir=resources.temp_dir,
            role=column.role,
            num_rows=rows,
            split_nodes=ids_below,
            dtype="int64" if is_split else column.dtype,
            float_dtype=options.dtype,
            columns=column.columns,
            id_column=column.id_column,
            text_has_ids=column.text_has_ids and column.role == "node",
            row_align=column.row_align,
            nan=column.nan,
            fill=None if is_split else column.fill,
            fill_all=column.fill_all,
            missing=self._work.missing,
            description=column.description,
            on_error=self._work.on_error,
            name_node=name_node,
            value_range=options.ranges.get(column.name),
            quantisation=column.quantisation,
        )
        with self._show_progress(source_label(column.source)) as report:
            result = compile_column(column.source, out_file, request, report)
        if is_split:
            _check_split(column, out_file, ids_below)
        return result


def index_original_ids(directory: Path, resources: _engine.Resources) -> None:
    """Adds an index of rows by ascending id to original ids that do not ascend, such as those of an
    ordered dataset."""
    from graphzero import _engine
    from graphzero.files.column_file import ColumnFile
    from graphzero.files.verify import ids_ascend

    file = directory / f"{ORIGINAL_IDS}{COLUMN_SUFFIX}"
    column = ColumnFile(file)
    if ids_ascend(column):
        return
    indexed = file.with_suffix(".part")
    _engine.index_original_ids(column.matrix, str(indexed), resources=resources)
    indexed.rename(file)


def source_label(source: StrPath | EdgeStream | RowStream) -> str:
    """What progress and messages call a source: its file name."""
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else source.name
    return Path(name).name


def _check_split(column: ColumnSource, file: str, num_nodes: int) -> None:
    """Raises InputError for ids that are no nodes, and for what looks like a mask. A split is small
    beside the graph, so its file is read again instead of checked while it is written."""
    from graphzero.files.column_file import ColumnFile

    row = 0
    split = ColumnFile(Path(file))
    largest = max((int(ids.max()) for ids in split.pieces()), default=0)
    if split.num_rows == num_nodes > 2 and largest <= 1:
        raise InputError(
            f"{source_label(column.source)}: found only 0 and 1 in {num_nodes} rows, as many as "
            "there are nodes, expected node ids; a mask has bool values (in .npy, .npz or Parquet)"
        )
    if largest < num_nodes:
        return
    for ids in split.pieces():
        if int(ids.max()) >= num_nodes:
            bad = int((ids >= num_nodes).argmax())
            raise InputError(
                f"{source_label(column.source)} row {row + bad}: found node id {ids[bad]}, "
                f"expected 0 to {num_nodes - 1}"
            )
        row += len(ids)
