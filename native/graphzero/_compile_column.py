"""One column of a dataset, from whatever it is in -> a matrix file.

NumPy is imported only for arrays: a conversion of text starts without it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphzero import _engine
from graphzero._errors import InputError
from graphzero._files import COLUMN_SUFFIX

if TYPE_CHECKING:
    from graphzero._inputs.streams import RowStream
    from graphzero._inputs.texts import TextInput

Report = Callable[[str, int, int], None]  # (phase, done, total)
Number = int | float | str  # a string is taken as it stands, so that no digit is lost


@dataclass(frozen=True)
class ColumnReport:
    """What became of one column."""

    rows: int
    cols: int
    dtype: str
    skipped: int  # lines left out
    messages: tuple[str, ...]  # what was wrong with the first of them
    filled: int  # rows that the source did not have
    nans: int  # NaNs that became the value given for them
    seconds: float
    bytes: int  # of the file written


@dataclass(frozen=True)
class ColumnRequest:
    """The arguments of compile_column."""

    rows: int | None
    split_nodes: int  # ids of a split are below this, and a mask has so many values
    dtype: str | None
    float_dtype: str | None
    role: str
    row_align: int | None
    nan: Number | None
    fill: Number | None
    skip_bad_lines: bool
    text_has_ids: bool
    always_2d: bool
    memory: int
    threads: int
    temp_dir: str


def compile_column(
    source: "str | TextInput | RowStream",
    out_file: str,
    *,
    num_nodes: int | None = None,
    split_nodes: int = 2**63,
    dtype: str | None = None,
    float_dtype: str | None = None,
    role: str = "node",
    row_align: int | None = None,
    nan: Number | None = None,
    fill: Number | None = None,
    on_error: str = "stop",
    text_has_ids: bool = True,
    always_2d: bool = False,
    memory: int,
    threads: int,
    temp_dir: str,
    report: Report | None = None,
) -> ColumnReport:
    """Compiles `source` into `out_file`, which must not exist.

    A text table has a row id and values on each line; its values are float32 unless `dtype` says
    otherwise. An array keeps its dtype; `float_dtype` is what floating values become without
    `dtype`. `num_nodes` is the number of rows the file must have, by default the largest id + 1;
    rows without a line are an error unless `fill` gives their value. `split_nodes` is the number of
    nodes that a split is made of. `nan` is the value that stands for NaN in an integer column.
    `on_error="skip"` leaves out bad lines and counts them.
    `text_has_ids=False`: line i of a text is row i. `always_2d`: one value per line makes (n, 1).

    When it raises, an unfinished `out_file` may be left: write where nobody looks.
    """
    if on_error not in ("stop", "skip"):
        raise ValueError(f"found on_error {on_error!r}, expected 'stop' or 'skip'")
    started = time.perf_counter()
    request = ColumnRequest(
        rows=num_nodes,
        split_nodes=split_nodes,
        dtype=dtype,
        float_dtype=float_dtype,
        role=role,
        row_align=row_align,
        nan=nan,
        fill=fill,
        skip_bad_lines=on_error == "skip",
        text_has_ids=text_has_ids,
        always_2d=always_2d,
        memory=memory,
        threads=threads,
        temp_dir=temp_dir,
    )
    if isinstance(source, str) and Path(source).suffix == COLUMN_SUFFIX:
        source, request = _matrix_rows(source, request)
    from graphzero._inputs.texts import TextInput

    opened = _open(source, request)
    if isinstance(opened, TextInput):
        facts = _compile_text(opened, out_file, request, report)
    else:
        from graphzero._compile_rows import compile_rows

        facts = compile_rows(opened, out_file, request, report)
    return ColumnReport(
        **facts, seconds=time.perf_counter() - started, bytes=Path(out_file).stat().st_size
    )


def _open(source: "str | TextInput | RowStream", request: ColumnRequest) -> "TextInput | RowStream":
    """Text is for the engine to read."""
    if not isinstance(source, str):
        return source
    from graphzero._inputs.locations import has_stream

    if not has_stream(source):
        from graphzero._inputs.texts import check_node_header, text_input

        text = text_input(source)
        if request.text_has_ids:
            check_node_header(text)
        return text
    from graphzero._inputs.rows import stream_rows

    return stream_rows(source, role=request.role, nan=request.nan)


def _matrix_rows(source: str, request: ColumnRequest) -> "tuple[RowStream, ColumnRequest]":
    """Another matrix file, which knows what its rows belong to."""
    from graphzero._features import FeatureStore, rows_in_order
    from graphzero._inputs.streams import RowChunk, RowStream

    store = FeatureStore(source)
    # Only a matrix of nodes has a row for each of them.
    rows = request.rows if store.role == "node" else None
    stream = RowStream(
        source,
        lambda: (RowChunk(None, piece) for piece in rows_in_order(store)),
        store.shape[1:],
        store.dtype.label,
        rows=store.num_nodes,
        stored_bytes=store.byte_size,
    )
    return stream, replace(request, role=store.role, rows=rows)


def _compile_text(
    text: "TextInput",
    out_file: str,
    request: ColumnRequest,
    report: Report | None,
) -> dict[str, Any]:
    name = request.dtype or request.float_dtype or "float32"
    result = _engine.compile_matrix_text(
        text.path,
        out_file,
        open_stream=text.open,
        stored_bytes=text.stored_bytes,
        dtype=name,
        role=request.role,
        num_rows=request.rows,
        has_ids=request.text_has_ids,
        always_2d=request.always_2d,
        row_align=request.row_align or 0,
        nan=None if request.nan is None else str(request.nan),
        fill=None if request.fill is None else str(request.fill),
        skip_bad_lines=request.skip_bad_lines,
        memory=request.memory,
        threads=request.threads,
        temp_dir=request.temp_dir,
        report=report,
    )
    return {
        "rows": result.rows,
        "cols": result.cols,
        "dtype": name,
        "skipped": result.skipped,
        "messages": tuple(result.messages),
        "filled": result.filled,
        "nans": result.nans,
    }


def parse_number(value: Number, what: str) -> int | float:
    """`what` it is for, in a message."""
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{what}: found {value!r}, expected a number") from None
