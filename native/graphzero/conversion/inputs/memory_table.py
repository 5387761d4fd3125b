"""Tables that a program holds in memory: of pyarrow, pandas, Polars, or dicts of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphzero.base.errors import InputError
from graphzero.base.extras import import_extra
from graphzero.conversion.inputs.arrow_table import ArrowTable, Batches, TableFile
from graphzero.conversion.inputs.streams import Array


class MemoryTable(ArrowTable):
    """A pyarrow.Table. `name` is what messages call it, `missing` are texts that stand for a
    missing value."""

    def __init__(self, name: str, table: Any, missing: tuple[str, ...] = ()) -> None:
        self._table = table
        super().__init__(name, missing)

    def bytes_of(self, columns: Sequence[str]) -> int:
        return int(self._table.select(list(columns)).nbytes)

    def _paths(self, path: str) -> list[str]:
        return [path]

    def _look_at(self, file: str) -> TableFile:
        return TableFile.of(file, self._table.schema, self._table.num_rows)

    def _batches(self, file: str, columns: Sequence[str], rows: int) -> Batches:
        batches = self._table.select(list(columns)).to_batches(max_chunksize=rows)
        return Batches(file, iter(batches))


def memory_table(name: str, data: Any, missing: tuple[str, ...] = ()) -> MemoryTable:
    """Raises InputError for an object that is no table."""
    pyarrow = import_extra("pyarrow", "arrow", f"{name}: a table in memory needs pyarrow")
    return MemoryTable(name, _arrow_table(pyarrow, name, data), missing)


def _arrow_table(pyarrow: Any, name: str, data: Any) -> Any:
    if isinstance(data, pyarrow.Table):
        return data
    if isinstance(data, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([data])
    if isinstance(data, Mapping):
        return _table_of_arrays(name, data)
    try:
        if type(data).__module__.split(".")[0] == "pandas":
            return _without_index(pyarrow.Table.from_pandas(data))
        if hasattr(data, "__arrow_c_stream__"):
            return pyarrow.table(data)
    except (pyarrow.ArrowException, TypeError) as error:
        text = " ".join(str(error).split())
        raise InputError(f"{name}: found a table that pyarrow does not take: {text}") from error
    raise InputError(
        f"{name}: found {type(data).__name__}, expected a table: the path of a file, a table of "
        "pyarrow, pandas or Polars, or a dict of arrays"
    )


def _without_index(table: Any) -> Any:
    """Drops the index without a name that pandas adds; an index with a name is kept as a column."""
    kept = [name for name in table.column_names if not name.startswith("__index_level_")]
    return table.select(kept)


def _table_of_arrays(name: str, columns: Mapping[str, Any]) -> Any:
    import pyarrow

    arrays = {}
    for column, values in columns.items():
        if not isinstance(column, str):
            raise InputError(f"{name}: found column {column!r}, expected a text as its name")
        try:
            arrays[column] = _array(values)
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            text = " ".join(str(error).split())
            raise InputError(
                f"{name} column {column!r}: found {type(values).__name__} that pyarrow does not "
                f"take: {text}"
            ) from error
    lengths = {column: len(array) for column, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{column} {length}" for column, length in lengths.items())
        raise InputError(f"{name}: found lengths {found}, expected them equal")
    return pyarrow.table(arrays)


def _array(values: Any) -> Any:
    import pyarrow

    if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return values
    if hasattr(values, "detach"):  # a tensor
        values = values.detach().cpu()
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    if isinstance(values, np.ndarray):
        return _from_numpy(values)
    return pyarrow.array(values)


def _from_numpy(values: Array) -> Any:
    import pyarrow

    if values.dtype == "datetime64[D]":
        # pyarrow stores days in 32 bits, and silently keeps only the lowest bits of larger numbers.
        days = values.astype(np.int64)
        outside = (days != days.astype(np.int32)) & ~np.isnat(values)
        if outside.any():
            raise ValueError(f"found {days[outside][0]} days, expected at most {2**31 - 1}")
    if values.ndim == 1:
        return pyarrow.array(values)
    if values.ndim != 2 or not values.shape[1]:
        raise ValueError(f"found shape {values.shape}, expected (rows,) or (rows, values)")
    flat = pyarrow.array(np.ascontiguousarray(values).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(flat, values.shape[1])
