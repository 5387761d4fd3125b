"""Times of nodes that are no column of the dataset, in a temporary file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from graphzero.base.errors import InputError
from graphzero.base.progress import ShowProgress
from graphzero.conversion.column_step import ColumnStep
from graphzero.conversion.plan import ColumnOptions, ColumnSource, WorkOptions
from graphzero.files.column_file import ColumnFile
from graphzero.files.paths import COLUMN_SUFFIX

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from graphzero import _engine
    from graphzero.conversion.inputs.streams import RowStream

_NAME = "time"


class TimesFile:
    """The times of `stream`, mapped as long as this object lives."""

    def __init__(
        self,
        stream: RowStream,
        rows: int,
        resources: _engine.Resources,
        show_progress: ShowProgress,
    ) -> None:
        self._directory = TemporaryDirectory(dir=resources.temp_dir)
        path = Path(self._directory.name)
        step = ColumnStep(path, WorkOptions(), resources, ColumnOptions(), show_progress)
        step.compile(ColumnSource(_NAME, stream, "int64"), rows=rows, ids_below=rows)
        self.times = times_of(ColumnFile(path / f"{_NAME}{COLUMN_SUFFIX}"))


def times_of(column: ColumnFile) -> npt.NDArray[np.int64]:
    """A column as times; mapped if it is of type int64."""
    import numpy as np

    if len(column.shape) != 1 or column.dtype.storage.kind not in "iuf":
        raise InputError(
            f"{column.path.name}: found {column.dtype.label} of shape {column.shape}, expected a "
            "time for each node"
        )
    times = column.view()
    if times.dtype == np.int64:
        return times
    with np.errstate(invalid="ignore"):  # of NaN
        whole: npt.NDArray[np.int64] = times.astype(np.int64)
    if (whole != times).any():
        at = int(np.argmax(whole != times))
        raise InputError(
            f"{column.path.name} row {at}: found {times[at]}, expected integers as times"
        )
    return whole
