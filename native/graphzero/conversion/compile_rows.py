"""Rows that come in chunks -> a matrix file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.progress import Report
from graphzero.conversion.compile_column import ColumnRequest, parse_number
from graphzero.conversion.inputs.streams import Array, RowChunk, RowStream, Texts, as_int64
from graphzero.conversion.inputs.tables import ReadTally
from graphzero.conversion.matrix_arrays import (
    MatrixSpec,
    Tally,
    dtype_name,
    row_bytes,
    write_pieces,
)
from graphzero.files.column_types import FLOAT_DTYPES, MATRIX_DTYPES


def compile_rows(
    stream: RowStream,
    out_file: str,
    request: ColumnRequest,
    report: Report | None,
) -> dict[str, Any]:
    """Writes `out_file`; returns the facts of a ColumnReport."""
    if stream.texts:
        raise InputError(
            f"{stream.name}: found texts as node ids, expected integers; --relabel numbers them"
        )
    matrix = stream.matrix
    if matrix is not None:
        resources = _engine.Resources.make(
            memory=request.memory, threads=request.threads, temp_dir=request.temp_dir
        )
        matrix.prepare(Path(out_file).parent, resources, report)
    job = _Job(stream, out_file, request, report)
    if request.role == "ids":
        spec, filled = job.write_ids(), 0
    elif stream.has_ids:
        spec, filled = job.write_by_id()
    else:
        spec, filled = job.write_in_order()
    return {
        "rows": spec.rows,
        "cols": spec.cols,
        "shape": spec.shape,
        "dtype": spec.dtype,
        "filled": filled,
        **job.facts(),
    }


class _Job:
    def __init__(
        self,
        stream: RowStream,
        out_file: str,
        request: ColumnRequest,
        report: Report | None,
    ) -> None:
        self._stream = stream
        self._out_file = out_file
        self._request = request
        self._report = report
        self._tally = Tally()
        self._repeated = 0
        self._message = ""
        self._done = 0

    def facts(self) -> dict[str, Any]:
        """Counts and messages of the work, for a ColumnReport."""
        read, matrix = self._stream.tally or ReadTally(), self._stream.matrix
        facts: dict[str, Any] = {
            "skipped": read.skipped + self._repeated,
            "messages": (*read.messages, *([self._message] if self._message else [])),
            "nans": self._tally.nans + sum(read.missing.values()) * read.filled,
            "missing": {"": self._tally.missing} if self._tally.missing else {},
        }
        if matrix is not None:
            times = None
            if read.first_time is not None and read.last_time is not None:
                times = (read.first_time, read.last_time)
            facts |= {
                "missing": read.missing,
                "categories": matrix.num_categories if matrix.type.category else None,
                "words_for_nothing": tuple(matrix.words_for_nothing),
                "unit": matrix.type.unit,
                "times": times,
                "rounded_times": read.rounded_times,
                "rounded_integers": read.rounded_integers,
            }
        return facts

    def write_in_order(self) -> tuple[MatrixSpec, int]:
        """Row i of the stream is row i of the file; missing rows at the end are filled."""
        stream, request = self._stream, self._request
        rows = stream.rows if request.num_rows is None else request.num_rows
        if rows is None:
            raise InputError(f"{stream.name}: found rows without ids, and does not say how many")
        if stream.rows is not None:
            self._check_count(stream.rows, rows)
        spec = self._spec(rows)
        filled = 0

        def pieces() -> Iterator[Any]:
            nonlocal filled
            for chunk in stream.open():
                self._tally.nans += chunk.replaced
                self._check_count(self._done + len(chunk.rows), rows, at_end=False)
                yield chunk.rows
            self._check_count(self._done, rows)
            filled = rows - self._done
            yield from self._filled_rows(spec, filled)

        write_pieces(self._out_file, spec, pieces(), self._advance, self._tally)
        return spec, filled

    def _check_count(self, found: int, expected: int, *, at_end: bool = True) -> None:
        missing = expected - found
        if missing < 0 or (missing > 0 and at_end and self._fill_row() is None):
            what = "edge of the input" if self._request.role == "edge" else "node"
            hint = "; --fill VALUE gives missing rows a value" if missing > 0 else ""
            rows = f"{found} row{'s' * (found != 1)}" if at_end else f"{found} or more rows"
            raise InputError(
                f"{self._stream.name}: found {rows}, expected {expected}, one for each {what}{hint}"
            )

    def _fill_row(self) -> Array | None:
        """The row that replaces missing rows; None: a missing row is an error."""
        if self._stream.matrix is not None:
            return self._stream.matrix.fill_row
        if self._request.fill is None:
            return None
        shape = (1, *self._stream.row_shape)
        return np.full(shape, parse_number(self._request.fill, "fill value"))

    def _filled_rows(self, spec: MatrixSpec, count: int) -> Iterator[Any]:
        row = self._fill_row()
        if count == 0 or row is None:
            return
        step = max(1, (1 << 20) // spec.cols)
        block = np.repeat(row, min(step, count), axis=0)
        for first in range(0, count, step):
            yield block[: min(step, count - first)]

    def write_by_id(self) -> tuple[MatrixSpec, int]:
        """Rows in any order, each with the id of its node."""
        stream, request = self._stream, self._request
        spec = self._spec(0)
        collector = _engine.RowCollector(
            self._out_file,
            name=stream.name,
            place=stream.place,
            name_node=request.name_node,
            rows=request.num_rows,
            expected_rows=stream.rows or 0,
            cols=spec.cols,
            ndim=min(len(spec.shape), 2),
            dtype=spec.dtype,
            role=spec.role,
            row_stride=spec.row_stride,
            row_shape=spec.row_shape,
            description=spec.description,
            skip_repeated=request.skip_bad_lines and stream.place_of is not None,
            memory=request.memory,
            temp_dir=request.temp_dir,
        )
        for chunk in stream.open():
            ids = _integer_ids(chunk, stream, self._done)
            values = np.asarray(chunk.rows)
            if values.shape[1:] != spec.shape[1:]:
                raise InputError(
                    f"{stream.place(self._done)}: found rows of shape {values.shape[1:]}, expected "
                    f"{spec.shape[1:]} as before"
                )
            self._tally.nans += chunk.replaced
            own = replace(spec, place=_place_in(chunk, stream, self._done))
            collector.add(ids, row_bytes(values, own, 0, self._tally), chunk.numbers)
            self._advance(len(ids))
        fill: Array = np.empty(0, np.uint8)
        if (row := self._fill_row()) is not None:
            fill = row_bytes(row, spec, 0)
        result = collector.finish(fill, report=self._report)
        self._repeated, self._message = result.repeated, result.message
        return self._spec(result.rows), result.filled

    def write_ids(self) -> MatrixSpec:
        """A list of node ids, from values or from a mask."""
        stream = self._stream
        writer = _engine.MatrixWriter(
            self._out_file, rows=None, cols=1, ndim=1, dtype="int64", role="ids", row_stride=8
        )
        nodes = self._request.split_nodes
        is_mask = False
        for chunk in stream.open():
            is_mask |= chunk.ids is None and _is_mask(chunk.rows)
            ids = ids_of_split(chunk, stream, self._done)
            # The ids of a mask need no check: its length must be the number of nodes, see below.
            if not is_mask and ids.size and (int(ids.min()) < 0 or int(ids.max()) >= nodes):
                row = int(np.argmax((ids < 0) | (ids >= nodes)))
                place = stream.place(chunk.number(row, self._done))
                raise InputError(f"{place}: found node id {ids[row]}, expected 0 to {nodes - 1}")
            writer.append(ids.view(np.uint8))
            self._advance(len(chunk.rows) if chunk.ids is None else len(ids))
        if is_mask and self._done != nodes:
            raise InputError(
                f"{stream.name}: found a mask of {self._done} values, expected {nodes}, one for "
                "each node"
            )
        writer.finish()
        return MatrixSpec((writer.rows_written,), "int64", "ids", name=stream.name)

    def _spec(self, rows: int) -> MatrixSpec:
        stream, request = self._stream, self._request
        spec = MatrixSpec(
            shape=(rows, *stream.row_shape),
            dtype=self._dtype(),
            role=request.role,
            row_align=request.row_align,
            nan=None if request.nan is None else parse_number(request.nan, "value for NaN"),
            fill_floats=request.fill_floats,
            name=stream.name,
            place=stream.place,
            columns=stream.matrix.type.columns if stream.matrix is not None else (),
            description=self._description(),
        )
        spec.check()
        return spec

    def _description(self) -> str:
        matrix = self._stream.matrix
        return self._request.description if matrix is None else matrix.description

    def _dtype(self) -> str:
        stream, request = self._stream, self._request
        if stream.matrix is not None:
            return stream.matrix.type.dtype
        if request.dtype is not None:
            return dtype_name(request.dtype)
        own = dtype_name(stream.dtype)
        if request.float_dtype is not None and own in FLOAT_DTYPES:
            return request.float_dtype
        if own not in MATRIX_DTYPES:
            is_number = own.startswith(("uint", "float"))
            hint = "; name one to convert to: NAME=FILE:DTYPE, or dtypes=" if is_number else ""
            raise InputError(
                f"{stream.name}: found values of {own}, expected one of "
                f"{', '.join(MATRIX_DTYPES)}{hint}"
            )
        return own

    def _advance(self, count: int) -> None:
        self._done += count
        if self._report is not None:
            self._report("writing rows", self._done, self._stream.rows or 0)


def _place_in(chunk: RowChunk, stream: RowStream, first_row: int) -> Callable[[int], str]:
    """What messages call a row of a chunk."""
    return lambda row: stream.place(chunk.number(row, first_row))


def ids_of_split(chunk: RowChunk, stream: RowStream, first_row: int) -> Array:
    """Node ids: those of the chunk, its values, or the places where a mask is true."""
    if chunk.ids is not None:
        return _integer_ids(chunk, stream, first_row)
    values = _host(chunk.rows)
    if values.ndim != 1:
        raise InputError(
            f"{stream.name}: found shape {values.shape[1:]} in a row, expected one node id"
        )
    if values.dtype == np.bool_:
        return np.flatnonzero(values).astype(np.int64) + first_row
    if values.dtype.kind not in "iu":
        raise InputError(f"{stream.name}: found {values.dtype}, expected node ids or a bool mask")
    return as_int64(values, stream.place, first_row)


def _is_mask(rows: Any) -> bool:
    return bool(_host(rows).dtype == np.bool_)


def _host(rows: Any) -> Array:
    return np.asarray(rows.cpu() if hasattr(rows, "cpu") else rows)


def _integer_ids(chunk: RowChunk, stream: RowStream, first_row: int) -> Array:
    if chunk.ids is None or isinstance(chunk.ids, Texts):
        raise TypeError(f"{stream.name}: a chunk without integer ids")
    return as_int64(chunk.ids, stream.place, first_row)
