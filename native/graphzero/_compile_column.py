"""One column of a dataset: a text table, a .npy or another .gd file -> a matrix file.

NumPy is imported only for arrays: a conversion of text starts without it.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphzero import _engine
from graphzero._errors import InputError
from graphzero._files import COLUMN_SUFFIX

if TYPE_CHECKING:
    from graphzero._matrix_arrays import MatrixSpec

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
    seconds: float
    bytes: int  # of the file written


@dataclass(frozen=True)
class _Wanted:
    """What the matrix of an array is to be."""

    num_nodes: int | None
    dtype: str | None
    role: str
    row_align: int | None
    nan: Number | None
    fill: Number | None


def compile_column(
    source: str,
    out_file: str,
    *,
    num_nodes: int | None = None,
    dtype: str | None = None,
    role: str = "node",
    row_align: int | None = None,
    nan: Number | None = None,
    fill: Number | None = None,
    on_error: str = "stop",
    always_2d: bool = False,
    memory: int,
    threads: int,
    temp_dir: str,
    report: Report | None = None,
) -> ColumnReport:
    """Compiles `source` into `out_file`, which must not exist.

    A text table has a row id and values on each line; its values are float32 unless `dtype` says
    otherwise. An array keeps its dtype. `num_nodes` is the number of rows the file must have, by
    default the largest id + 1; rows without a line are an error unless `fill` gives their value.
    `nan` is the value that stands for NaN in an integer column. `on_error="skip"` leaves out bad
    lines and counts them.

    When it raises, an unfinished `out_file` may be left: write where nobody looks.
    """
    if on_error not in ("stop", "skip"):
        raise ValueError(f"found on_error {on_error!r}, expected 'stop' or 'skip'")
    started = time.perf_counter()
    skipped, messages = 0, tuple[str, ...]()
    if Path(source).suffix in (".npy", COLUMN_SUFFIX):
        wanted = _Wanted(num_nodes, dtype, role, row_align, nan, fill)
        spec, filled = _compile_array(source, out_file, wanted, report)
        rows, cols, name = spec.rows, spec.cols, spec.dtype
    else:
        name = dtype or "float32"
        result = _engine.compile_matrix_text(
            source,
            out_file,
            dtype=name,
            role=role,
            num_rows=num_nodes,
            always_2d=always_2d,
            row_align=row_align or 0,
            nan=None if nan is None else str(nan),
            fill=None if fill is None else str(fill),
            skip_bad_lines=on_error == "skip",
            memory=memory,
            threads=threads,
            temp_dir=temp_dir,
            report=report,
        )
        rows, cols, filled = result.rows, result.cols, result.filled
        skipped, messages = result.skipped, tuple(result.messages)
    return ColumnReport(
        rows=rows,
        cols=cols,
        dtype=name,
        skipped=skipped,
        messages=messages,
        filled=filled,
        seconds=time.perf_counter() - started,
        bytes=Path(out_file).stat().st_size,
    )


def _compile_array(
    source: str, out_file: str, wanted: _Wanted, report: Report | None
) -> "tuple[MatrixSpec, int]":
    """Returns what was written and how many of its rows are fill."""
    from graphzero._features import FeatureStore
    from graphzero._matrix_arrays import MatrixSpec, dtype_name, pieces_of, write_pieces

    num_nodes, role, fill = wanted.num_nodes, wanted.role, wanted.fill
    if Path(source).suffix == ".npy":
        array = load_npy(source)
    else:
        store = FeatureStore(source)
        array, role = store.get_tensor(), store.role
        # Only a matrix of nodes has a row for each of them.
        num_nodes = num_nodes if role == "node" else None
    found = array.shape[0] if array.ndim else 0
    rows = found if num_nodes is None else num_nodes
    if found > rows or (found < rows and fill is None):
        hint = "; --fill VALUE gives missing rows a value" if found < rows else ""
        raise InputError(f"{source}: found {found} rows, expected {rows}, one for each node{hint}")
    spec = MatrixSpec(
        shape=(rows, *array.shape[1:]) if array.ndim else (),
        dtype=dtype_name(array.dtype if wanted.dtype is None else wanted.dtype),
        role=role,
        row_align=wanted.row_align,
        nan=None if wanted.nan is None else _number(wanted.nan),
        name=source,
    )
    spec.check()
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if report is not None:
            report("writing rows", done, rows)

    padding = _filled_rows(spec, rows - found, fill)
    write_pieces(out_file, spec, itertools.chain(pieces_of(array), padding), advance)
    return spec, rows - found


def load_npy(source: str) -> Any:
    import numpy as np

    with Path(source).open("rb"):  # a missing file is OSError, not what NumPy makes of it
        pass
    try:
        array = np.load(source, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        try:  # an array without elements cannot be mapped
            array = np.load(source, allow_pickle=False)
        except (ValueError, EOFError):
            raise InputError(f"{source}: not a readable .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"{source}: found an archive of arrays, expected one array")
    return array


def _filled_rows(spec: "MatrixSpec", count: int, fill: Number | None) -> Iterator[Any]:
    import numpy as np

    if count == 0 or fill is None:
        return
    step = max(1, (1 << 20) // spec.cols)
    block = np.full((min(step, count), *spec.shape[1:]), _number(fill))
    for first in range(0, count, step):
        yield block[: min(step, count - first)]


def _number(value: Number) -> int | float:
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        raise InputError(f"found {value!r}, expected a number") from None
