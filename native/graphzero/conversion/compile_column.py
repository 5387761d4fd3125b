"""One column of a dataset, from whatever it is in -> a matrix file.

NumPy is imported only for arrays: a conversion of text starts without it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from graphzero import _engine
from graphzero.base.errors import FormatError, InputError
from graphzero.base.progress import Report
from graphzero.files.paths import COLUMN_SUFFIX, categories_file

if TYPE_CHECKING:
    from graphzero.conversion.inputs.streams import RowStream
    from graphzero.conversion.inputs.texts import TextInput
    from graphzero.conversion.plan import ColumnSource, Role

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
    nans: int  # values that were missing, or NaN, and became the value given for them
    seconds: float
    bytes: int  # of the file written
    # Values that were missing or NaN, by the column of the table; "" where these have no names.
    missing: dict[str, int] = field(default_factory=dict)
    categories: int | None = None  # how many there are, of a column of categories
    words_for_nothing: tuple[str, ...] = ()  # categories such as "NA", which may mean none
    unit: str | None = None  # of dates and times
    times: tuple[int, int] | None = None  # the first and the last of them
    rounded_times: int = 0  # that were finer than the unit
    rounded_integers: int = 0  # that the type of the column does not hold exactly


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
    name_node: Callable[[int], str] | None = None  # what messages call a node
    fill_floats: bool = False  # `nan` takes the place of NaN in floating columns too
    description: str = ""  # what the file says about its values


def compile_column(
    source: "str | TextInput | RowStream",
    out_file: str,
    *,
    columns: tuple[str, ...] | None = None,
    id_column: str | None = None,
    num_nodes: int | None = None,
    split_nodes: int = 2**63,
    dtype: str | None = None,
    float_dtype: str | None = None,
    role: str = "node",
    row_align: int | None = None,
    nan: Number | None = None,
    fill: Number | None = None,
    fill_all: Number | None = None,
    missing: tuple[str, ...] = (),
    description: str = "",
    on_error: str = "stop",
    text_has_ids: bool = True,
    always_2d: bool = False,
    memory: int,
    threads: int,
    temp_dir: str,
    name_node: Callable[[int], str] | None = None,
    report: Report | None = None,
) -> ColumnReport:
    """Compiles `source` into `out_file`, which must not exist.

    A text table has a row id and values on each line; `columns` and `id_column` name columns of it
    or of a table that pyarrow reads. What these become is said in inputs/matrix_plan.py. An array
    keeps its dtype; `float_dtype` is what floating values become without `dtype`. `num_nodes` is
    the number of rows the file must have, by default the largest id + 1; rows without a line are an
    error unless `fill` gives their value. `split_nodes` is the number of nodes that a split is made
    of. `nan` is the value that stands for NaN in an integer column, `fill_all` that of all that is
    missing, and `missing` are texts that stand for a missing value. `on_error="skip"` leaves out
    bad lines and counts them. `description` is what the file says about the values of an array.
    `text_has_ids=False`: line i of a text is row i. `always_2d`: one
    value per line makes (n, 1). `name_node` is what messages call a node, if not by its number.

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
        name_node=name_node,
        description=description,
    )
    if isinstance(source, str) and Path(source).suffix == COLUMN_SUFFIX:
        source, request = _matrix_rows(source, out_file, request)
    from graphzero.conversion.inputs.texts import TextInput

    if isinstance(source, str):
        from graphzero.conversion.plan import ColumnSource

        column = ColumnSource(
            Path(out_file).stem,
            source,
            dtype,
            role=cast("Role", role),
            nan=nan,
            fill=fill,
            text_has_ids=text_has_ids,
            columns=columns,
            id_column=id_column,
            fill_all=fill_all,
        )
        source, request = _open(column, missing, request)
    if fill_all is not None and not (not isinstance(source, TextInput) and source.matrix):
        parse_number(fill_all, f"fill value of {Path(out_file).stem!r}")
        request = replace(request, fill=fill_all, nan=fill_all, fill_floats=True)
    if isinstance(source, TextInput):
        facts = _compile_text(source, out_file, request, report)
    else:
        from graphzero.conversion.compile_rows import compile_rows

        facts = compile_rows(source, out_file, request, report)
    return ColumnReport(
        **facts, seconds=time.perf_counter() - started, bytes=Path(out_file).stat().st_size
    )


def _open(
    column: "ColumnSource", missing: tuple[str, ...], request: ColumnRequest
) -> "tuple[TextInput | RowStream, ColumnRequest]":
    """Plain text is for the engine to read."""
    from graphzero.conversion.inputs.options import ReadOptions
    from graphzero.conversion.inputs.plain_text import plain_text

    options = ReadOptions(missing, request.skip_bad_lines, request.threads)
    if (plain := plain_text(column, options)) is not None:
        return plain.text, replace(request, description=plain.description)
    from graphzero.conversion.inputs.rows import open_rows

    opened = open_rows(
        column,
        options,
        float_dtype=request.float_dtype,
        node_limit=2**63 if request.rows is None else request.rows,
    )
    dtype = request.dtype if opened.dtype is None else opened.dtype
    return opened.rows, replace(request, dtype=dtype, description=opened.description)


def _matrix_rows(
    source: str, out_file: str, request: ColumnRequest
) -> "tuple[RowStream, ColumnRequest]":
    """Another matrix file, which knows what its rows belong to and mean. The dictionary of its
    categories comes along."""
    from graphzero.conversion.inputs.streams import RowChunk, RowStream
    from graphzero.files.column_file import ColumnFile
    from graphzero.files.description import ColumnDescription

    matrix = ColumnFile(Path(source).absolute())
    # Only a matrix of nodes has a row for each of them.
    rows = request.rows if matrix.role == "node" else None
    stream = RowStream(
        source,
        lambda: (RowChunk(None, piece) for piece in matrix.pieces()),
        matrix.shape[1:],
        matrix.dtype.label,
        rows=matrix.num_rows,
        stored_bytes=matrix.byte_size,
    )
    about = matrix.description
    if request.dtype not in (None, matrix.dtype.label):
        about = ColumnDescription(about.columns)  # of other values
    if about.categories:
        _copy_categories(source, out_file)
    return stream, replace(request, role=matrix.role, rows=rows, description=about.to_json())


def _copy_categories(source: str, out_file: str) -> None:
    import shutil

    from graphzero.files.categories import Categories
    from graphzero.files.column_file import ColumnFile

    Categories(source)  # raises for what is no dictionary
    old, new = (categories_file(Path(file).parent, Path(file).stem) for file in (source, out_file))
    shutil.copyfile(old, new)
    try:
        ColumnFile(new.absolute(), verify=True)
    except FormatError as error:
        raise FormatError(f"{old}: cannot be copied: {error}") from error


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
        description=request.description,
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
        "missing": {"": result.missing} if result.missing else {},
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
