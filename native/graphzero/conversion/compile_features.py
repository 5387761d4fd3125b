"""`write_features` and `convert_csv_to_gd`: matrix files from arrays and from text."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from graphzero.base.resources import make_resources
from graphzero.conversion.compile_column import ColumnRequest, compile_column
from graphzero.files.column_names import check_not_reserved
from graphzero.files.column_types import QUANTISED, exact_float_type
from graphzero.files.paths import COLUMN_SUFFIX
from graphzero.files.publish import new_file


def write_features(
    path: str | os.PathLike[str],
    array: Any,
    *,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    role: str = "node",
    row_align: int | None = None,
    nan: float | None = None,
    value_range: tuple[float, float] | None = None,
    overwrite: bool = False,
) -> None:
    """Writes a matrix file.

    `array` is a NumPy array (also a memory-mapped one), a torch tensor or anything NumPy makes an
    array of; with `shape` and `dtype` given, it is an iterable of chunks of rows, such as the
    output of an encoder. Values are converted piece by piece, so memory stays bounded.

    A value that an integer dtype cannot hold is refused, and so is NaN unless `nan` gives a value
    for it. dtype="q8" stores floating values as one byte each, see quantise(); `value_range` is
    then their lowest and highest value; without it, these are measured. `role` is "node", "edge" or
    "ids" (a split: int64 in one dimension). `row_align` pads each row to a multiple of that many
    bytes.
    """
    from graphzero.conversion.matrix_arrays import MatrixSpec, dtype_name, pieces_of, write_pieces

    if shape is None:
        array = _as_array(array)
        shape = array.shape
        pieces: Iterable[Any] = pieces_of(array) if len(array.shape) else ()
        if dtype is None:
            dtype = "int64" if role == "ids" else array.dtype
    elif dtype is None:
        raise ValueError("chunks of rows need a dtype as well as a shape")
    else:
        pieces = array
    asked = dtype_name(dtype)
    quantised = asked in QUANTISED
    own = getattr(array, "dtype", "float64")  # chunks of rows may have any type
    spec = MatrixSpec(
        tuple(int(size) for size in shape),
        exact_float_type(dtype_name(own)) if quantised else asked,
        role,
        None if quantised else row_align,
        nan,
    )
    spec.check()
    check_not_reserved(Path(path).name.removesuffix(COLUMN_SUFFIX), role)
    with new_file(path, overwrite=overwrite) as draft:
        if not quantised:
            write_pieces(draft, spec, pieces)
            return
        from graphzero.conversion.quantise_column import quantise_file

        floats = f"{draft}-floats"
        write_pieces(floats, spec, pieces)
        quantise_file(
            floats,
            draft,
            asked,
            label="array",
            value_range=value_range,
            row_align=row_align or 0,
            resources=make_resources(None, None, Path(draft).parent),
        )
        Path(floats).unlink()


def _as_array(value: Any) -> Any:
    import numpy as np

    from graphzero.conversion.matrix_arrays import is_tensor

    if is_tensor(value):
        return value
    if isinstance(value, Iterator):
        raise ValueError("an iterator of chunks needs a shape and a dtype")
    return np.asanyarray(value)


def convert_csv_to_gd(
    csv_path: str | os.PathLike[str], out_path: str | os.PathLike[str], dtype: Any
) -> None:
    """As in GraphZero 0.2: ids without a line are zero, and one value per line makes (n, 1)."""
    from graphzero.conversion.matrix_arrays import dtype_name

    with new_file(out_path, overwrite=True) as draft:
        resources = make_resources(None, None, Path(draft).parent)
        request = ColumnRequest(
            dtype=dtype_name(dtype),
            fill=0,
            always_2d=True,
            memory=resources.memory,
            threads=resources.threads,
            temp_dir=resources.temp_dir,
        )
        compile_column(os.fspath(csv_path), draft, request)
