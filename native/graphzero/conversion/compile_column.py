"""One column of a dataset, from any kind of source -> a matrix file.

NumPy is imported only for arrays: a conversion of text starts without it.
"""

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from graphzero import _engine
from graphzero.base.errors import FormatError, InputError
from graphzero.base.progress import Report
from graphzero.files.column_types import (
    FLOAT_DTYPES,
    QUANTISED,
    exact_float_type,
    quantised_type,
)
from graphzero.files.paths import COLUMN_SUFFIX, categories_file

if TYPE_CHECKING:
    from graphzero.conversion.inputs.streams import RowStream
    from graphzero.conversion.inputs.texts import TextInput
    from graphzero.conversion.plan import Role
    from graphzero.files.quantisation import Quantisation

Number = int | float | str  # a string is taken as it stands, so that no digit is lost


@dataclass(frozen=True)
class ColumnReport:
    """What became of one column."""

    rows: int
    cols: int
    shape: tuple[int, ...]  # of the file; (rows,) if a row is a single value
    dtype: str
    skipped: int  # lines left out
    messages: tuple[str, ...]  # what was wrong with the first of them
    filled: int  # rows that the source did not have
    nans: int  # missing or NaN values that the value given for them replaced
    seconds: float
    bytes: int  # of the file written
    # Values that were missing or NaN, by column of the table; "" if columns have no names.
    missing: dict[str, int] = field(default_factory=dict)
    categories: int | None = None  # their number, if the column has categories
    words_for_nothing: tuple[str, ...] = ()  # categories such as "NA" that may mean a missing value
    unit: str | None = None  # of dates and times
    times: tuple[int, int] | None = None  # the first and the last time
    rounded_times: int = 0  # times that were finer than the unit
    rounded_integers: int = 0  # integers that the type of the column does not hold exactly
    is_split: bool = False  # a list of ids
    quantised: "Quantisation | None" = None  # scales and errors, if values take one byte each


@dataclass(frozen=True, kw_only=True)
class ColumnRequest:
    """How to compile a column."""

    memory: int  # bytes that the work may use
    threads: int
    temp_dir: str  # for data that does not fit into that memory
    role: str = "node"
    num_rows: int | None = None  # rows that the file must have; None: the largest id + 1
    split_nodes: int = (
        2**63
    )  # nodes of the graph: bounds the ids of a split, and is the length of a mask
    dtype: str | None = None  # one of COLUMN_TYPES; None: arrays keep theirs, tables are guessed
    float_dtype: str | None = None  # the type of floating values if there is no dtype
    columns: tuple[str, ...] | None = None  # columns of a table that make a row; None: all
    id_column: str | None = None  # column of a table with the id of each row
    text_has_ids: bool = True  # lines of text begin with an id; else line i is row i
    always_2d: bool = False  # a text with one value per line makes (n, 1)
    row_align: int | None = None  # each row is padded to a multiple of this many bytes
    nan: Number | None = None  # what NaN becomes in an integer column; None: that is an error
    fill: Number | None = None  # the values of a row that the source lacks; None: that is an error
    fill_all: Number | None = None  # stands for both `nan` and `fill`, in floating columns too
    fill_floats: bool = False  # `nan` replaces NaN in floating columns too
    missing: tuple[str, ...] = ()  # texts that stand for a missing value
    description: str = ""  # the description to store with the values of an array
    on_error: str = "stop"  # "skip" leaves out bad lines of text, and counts them
    name_node: Callable[[int], str] | None = None  # what messages call a node
    value_range: tuple[float, float] | None = None  # of a quantised column; None: it is measured
    quantisation: "_engine.Quantisation | None" = None  # by which values got their codes before

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise ValueError(f"found on_error {self.on_error!r}, expected 'stop' or 'skip'")

    @property
    def skip_bad_lines(self) -> bool:
        return self.on_error == "skip"


def compile_column(
    source: "str | TextInput | RowStream",
    out_file: str,
    request: ColumnRequest,
    report: Report | None = None,
) -> ColumnReport:
    """Compiles `source` into `out_file`, which must not exist.

    A text table has a row id and values on each line. inputs/matrix_type.py says which type columns
    of a table get. If it raises, an unfinished `out_file` may be left, so write to a place that
    nobody reads yet.
    """
    from graphzero.conversion.inputs.texts import TextInput

    started = time.perf_counter()
    if isinstance(source, str) and Path(source).suffix == COLUMN_SUFFIX:
        source, request = _matrix_rows(source, out_file, request)
    name = Path(out_file).stem
    if isinstance(source, str):
        source, request = _open(name, source, request)
    if request.fill_all is not None and (isinstance(source, TextInput) or not source.matrix):
        parse_number(request.fill_all, f"fill value of {name!r}")
        request = replace(request, fill=request.fill_all, nan=request.fill_all, fill_floats=True)
    asked = _quantised_type(source, request)
    if asked is None:
        if request.value_range is not None:
            raise InputError(
                f"range of {name!r}: found a column that is not quantised, expected type "
                f"{' or '.join(QUANTISED)}"
            )
        facts = _compile(source, out_file, _as_floats(request, "float32", pad=True), report)
    else:
        facts = _compile_quantised(source, out_file, request, asked, report)
    return ColumnReport(
        **facts,
        seconds=time.perf_counter() - started,
        bytes=Path(out_file).stat().st_size,
        is_split=request.role == "ids",
    )


def _compile(
    source: "TextInput | RowStream", out_file: str, request: ColumnRequest, report: Report | None
) -> dict[str, Any]:
    from graphzero.conversion.inputs.texts import TextInput

    if isinstance(source, TextInput):
        return _compile_text(source, out_file, request, report)
    from graphzero.conversion.compile_rows import compile_rows

    return compile_rows(source, out_file, request, report)


def _quantised_type(source: "TextInput | RowStream", request: ColumnRequest) -> str | None:
    """One of QUANTISED if the column has to be quantised; of text, if it may have to."""
    from graphzero.conversion.inputs.texts import TextInput

    if not isinstance(source, TextInput) and source.matrix is not None:
        return source.matrix.type.quantised
    asked = request.dtype or request.float_dtype
    if asked not in QUANTISED or request.role not in ("node", "edge"):
        return None
    if request.dtype is None and not isinstance(source, TextInput):
        from graphzero.conversion.inputs.matrix_type import quantises_rows_of
        from graphzero.conversion.matrix_arrays import dtype_name

        floating = dtype_name(source.dtype) in FLOAT_DTYPES
        return asked if floating and quantises_rows_of(math.prod(source.row_shape)) else None
    return asked


def _compile_quantised(
    source: "TextInput | RowStream",
    out_file: str,
    request: ColumnRequest,
    asked: str,
    report: Report | None,
) -> dict[str, Any]:
    """Writes floats to a temporary file first, because the ranges are known only at the end."""
    from graphzero.conversion.inputs.matrix_type import quantises_rows_of
    from graphzero.conversion.inputs.texts import TextInput
    from graphzero.conversion.quantise_column import quantise_file

    label = source.path if isinstance(source, TextInput) else source.name
    plain = _as_floats(request, _exact_type(source))
    with tempfile.TemporaryDirectory(dir=Path(out_file).parent, prefix=".quantise-") as directory:
        floats = str(Path(directory) / Path(out_file).name)
        facts = _compile(source, floats, plain, report)
        by_dtype = request.dtype is None and isinstance(source, TextInput)
        if by_dtype and not quantises_rows_of(facts["cols"]):  # text says it only now
            return _compile(source, out_file, _as_floats(request, "float32", pad=True), report)
        quantised = quantise_file(
            floats,
            out_file,
            asked,
            label=label,
            value_range=request.value_range,
            quantisation=request.quantisation,
            row_align=request.row_align or 0,
            resources=_engine.Resources.make(
                memory=request.memory, threads=request.threads, temp_dir=request.temp_dir
            ),
            name_node=request.name_node,
            report=report,
        )
    return facts | {"dtype": asked, "quantised": quantised}


def _exact_type(source: "TextInput | RowStream") -> str:
    """The type of the file with the values as they were given. The columns of a table have said
    theirs already, see inputs/matrix_type.py."""
    from graphzero.conversion.inputs.texts import TextInput

    if isinstance(source, TextInput):
        return "float64"
    from graphzero.conversion.matrix_arrays import dtype_name

    return source.matrix.type.dtype if source.matrix else exact_float_type(dtype_name(source.dtype))


def _as_floats(request: ColumnRequest, dtype: str, *, pad: bool = False) -> ColumnRequest:
    """The request for such floats where it asks for quantised values."""
    return replace(
        request,
        dtype=dtype if request.dtype in QUANTISED else request.dtype,
        float_dtype=dtype if request.float_dtype in QUANTISED else request.float_dtype,
        row_align=request.row_align if pad else None,
    )


def _open(
    name: str, source: str, request: ColumnRequest
) -> "tuple[TextInput | RowStream, ColumnRequest]":
    """Opens a file that is no matrix file. The engine itself reads plain text."""
    from graphzero.conversion.inputs.options import ReadOptions
    from graphzero.conversion.inputs.plain_text import plain_text
    from graphzero.conversion.plan import ColumnSource

    column = ColumnSource(
        name,
        source,
        request.dtype,
        role=cast("Role", request.role),
        nan=request.nan,
        fill=request.fill,
        text_has_ids=request.text_has_ids,
        columns=request.columns,
        id_column=request.id_column,
        fill_all=request.fill_all,
    )
    options = ReadOptions(request.missing, request.skip_bad_lines, request.threads)
    if (plain := plain_text(column, options)) is not None:
        return plain.text, replace(request, description=plain.description)
    from graphzero.conversion.inputs.rows import open_rows

    opened = open_rows(
        column,
        options,
        float_dtype=request.float_dtype,
        node_limit=2**63 if request.num_rows is None else request.num_rows,
    )
    dtype = request.dtype if opened.dtype is None else opened.dtype
    return opened.rows, replace(request, dtype=dtype, description=opened.description)


def _matrix_rows(
    source: str, out_file: str, request: ColumnRequest
) -> "tuple[RowStream, ColumnRequest]":
    """Opens another matrix file, which states the role and the description of its rows. Copies the
    dictionary of its categories too."""
    from graphzero.conversion.inputs.streams import RowChunk, RowStream
    from graphzero.files.column_file import ColumnFile
    from graphzero.files.description import ColumnDescription

    matrix = ColumnFile(Path(source).absolute())
    # Only a matrix of nodes has a row for each node.
    rows = request.num_rows if matrix.role == "node" else None
    stream = RowStream(
        source,
        lambda: (RowChunk(None, piece) for piece in matrix.pieces()),
        matrix.shape[1:],
        matrix.dtype.label,
        rows=matrix.num_rows,
        stored_bytes=matrix.byte_size,
    )
    about = matrix.description
    if (own := matrix.matrix.quantisation) is not None:
        asked = request.dtype or request.float_dtype
        if asked in (None, quantised_type(own.delivered)) and request.value_range is None:
            # With the same scales, decoded values become the same codes again.
            request = replace(request, dtype=quantised_type(own.delivered), quantisation=own)
    if request.dtype not in (None, matrix.dtype.label):
        about = ColumnDescription(about.columns)  # unit and categories are those of other values
    if about.categories:
        _copy_categories(source, out_file)
    return stream, replace(request, role=matrix.role, num_rows=rows, description=about.to_json())


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
        num_rows=request.num_rows,
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
        "shape": (
            (result.rows,)
            if result.cols == 1 and not request.always_2d
            else (result.rows, result.cols)
        ),
        "dtype": name,
        "skipped": result.skipped,
        "messages": tuple(result.messages),
        "filled": result.filled,
        "nans": result.nans,
        "missing": {"": result.missing} if result.missing else {},
    }


def parse_number(value: Number, what: str) -> int | float:
    """A number, or a text as a number. `what`: what messages call it."""
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
