"""Rows that come in chunks -> a matrix file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphzero import _engine
from graphzero._compile_column import ColumnRequest, Number, Report, parse_number
from graphzero._errors import InputError
from graphzero._inputs.streams import Array, RowChunk, RowStream, Texts, as_int64, row_place
from graphzero._matrix_arrays import MatrixSpec, Tally, dtype_name, row_bytes, write_pieces
from graphzero._matrix_types import FLOAT_DTYPES, MATRIX_DTYPES


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
    tally = Tally()
    job = _Job(stream, out_file, request, report, tally)
    if request.role == "ids":
        spec, filled = job.write_ids(), 0
    elif stream.has_ids:
        spec, filled = job.write_by_id()
    else:
        spec, filled = job.write_in_order()
    return {
        "rows": spec.rows,
        "cols": spec.cols,
        "dtype": spec.dtype,
        "skipped": 0,
        "messages": (),
        "filled": filled,
        "nans": tally.nans,
    }


class _Job:
    def __init__(
        self,
        stream: RowStream,
        out_file: str,
        request: ColumnRequest,
        report: Report | None,
        tally: Tally,
    ) -> None:
        self._stream = stream
        self._out_file = out_file
        self._request = request
        self._report = report
        self._tally = tally
        self._done = 0

    def write_in_order(self) -> tuple[MatrixSpec, int]:
        """Row i of the stream is row i of the file; missing ones at the end are filled."""
        stream, request = self._stream, self._request
        if stream.rows is None:
            raise InputError(f"{stream.name}: found rows without ids, and does not say how many")
        rows = stream.rows if request.rows is None else request.rows
        missing = rows - stream.rows
        if missing < 0 or (missing > 0 and request.fill is None):
            what = "edge of the input" if request.role == "edge" else "node"
            hint = "; --fill VALUE gives missing rows a value" if missing > 0 else ""
            raise InputError(
                f"{stream.name}: found {stream.rows} rows, expected {rows}, one for each {what}"
                + hint
            )
        spec = self._spec(rows)
        padding = _filled_rows(spec, missing, request.fill)
        write_pieces(
            self._out_file,
            spec,
            itertools.chain(self._rows(), padding),
            self._advance,
            self._tally,
        )
        return spec, missing

    def _rows(self) -> Iterator[Any]:
        for chunk in self._stream.open():
            self._tally.nans += chunk.replaced
            yield chunk.rows

    def write_by_id(self) -> tuple[MatrixSpec, int]:
        """Rows in any order, each with the id of its node."""
        stream, request = self._stream, self._request
        spec = self._spec(0)
        collector = _engine.RowCollector(
            self._out_file,
            name=stream.name,
            parts=list(stream.parts),
            rows=request.rows,
            expected_rows=stream.rows or 0,
            cols=spec.cols,
            ndim=min(len(spec.shape), 2),
            dtype=spec.dtype,
            role=spec.role,
            row_stride=spec.row_stride,
            row_shape=spec.row_shape,
            memory=request.memory,
            temp_dir=request.temp_dir,
        )
        for chunk in stream.open():
            ids = _integer_ids(chunk, stream, self._done)
            values = np.asarray(chunk.rows)
            if values.shape[1:] != spec.shape[1:]:
                place = row_place(stream.name, stream.parts, self._done)
                raise InputError(
                    f"{place}: found rows of shape {values.shape[1:]}, expected {spec.shape[1:]} "
                    "as before"
                )
            self._tally.nans += chunk.replaced
            collector.add(ids, row_bytes(values, spec, self._done, self._tally))
            self._advance(len(ids))
        fill: Array = np.empty(0, np.uint8)
        if request.fill is not None:
            row = np.full((1, *spec.shape[1:]), parse_number(request.fill, "fill value"))
            fill = row_bytes(row, spec, 0)
        result = collector.finish(fill, report=self._report)
        return self._spec(result.rows), result.filled

    def write_ids(self) -> MatrixSpec:
        """A list of node ids, of values or of a mask."""
        stream = self._stream
        writer = _engine.MatrixWriter(
            self._out_file, rows=None, cols=1, ndim=1, dtype="int64", role="ids", row_stride=8
        )
        nodes = self._request.split_nodes
        is_mask = False
        for chunk in stream.open():
            is_mask |= chunk.ids is None and _is_mask(chunk.rows)
            ids = ids_of_split(chunk, stream, self._done)
            # Of a mask the last row is checked below: it has as many as there are nodes.
            if not is_mask and ids.size and (int(ids.min()) < 0 or int(ids.max()) >= nodes):
                row = int(np.argmax((ids < 0) | (ids >= nodes)))
                place = row_place(stream.name, stream.parts, self._done + row)
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
        own = dtype_name(stream.dtype)
        if request.float_dtype is not None and own in FLOAT_DTYPES:
            own = request.float_dtype
        if request.dtype is None and own not in MATRIX_DTYPES:
            is_number = own.startswith(("uint", "float"))
            hint = "; name one to convert to: NAME=FILE:DTYPE, or dtypes=" if is_number else ""
            raise InputError(
                f"{stream.name}: found values of {own}, expected one of "
                f"{', '.join(MATRIX_DTYPES)}{hint}"
            )
        spec = MatrixSpec(
            shape=(rows, *stream.row_shape),
            dtype=dtype_name(request.dtype) if request.dtype is not None else own,
            role=request.role,
            row_align=request.row_align,
            nan=None if request.nan is None else parse_number(request.nan, "value for NaN"),
            name=stream.name,
            parts=stream.parts,
        )
        spec.check()
        return spec

    def _advance(self, count: int) -> None:
        self._done += count
        if self._report is not None:
            self._report("writing rows", self._done, max(self._stream.rows or 0, self._done))


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
    return as_int64(values, stream.name, first_row, stream.parts)


def _is_mask(rows: Any) -> bool:
    return bool(_host(rows).dtype == np.bool_)


def _host(rows: Any) -> Array:
    return np.asarray(rows.cpu() if hasattr(rows, "cpu") else rows)


def _integer_ids(chunk: RowChunk, stream: RowStream, first_row: int) -> Array:
    if chunk.ids is None or isinstance(chunk.ids, Texts):
        raise TypeError(f"{stream.name}: a chunk without integer ids")
    return as_int64(chunk.ids, stream.name, first_row, stream.parts)


def _filled_rows(spec: MatrixSpec, count: int, fill: Number | None) -> Iterator[Any]:
    if count == 0 or fill is None:
        return
    step = max(1, (1 << 20) // spec.cols)
    block = np.full((min(step, count), *spec.shape[1:]), parse_number(fill, "fill value"))
    for first in range(0, count, step):
        yield block[: min(step, count - first)]
