"""The datasets that the daemon serves, by name, and their replacement by newer versions.

A dataset that cannot be opened keeps nobody from the others: it is left out, and whoever asks for
it is told why. One that was served before stays as it was.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from pathlib import Path

from graphzero.base.descriptors import make_room
from graphzero.base.error_text import error_text
from graphzero.base.errors import GraphZeroError, InputError
from graphzero.base.text import count_text, names_text, quoted, size_text
from graphzero.files.dataset import Dataset, dataset_identity, open_dataset
from graphzero.files.paths import datasets, files_of
from graphzero.server.datasets.read_plan import ReadPlan

_REASONS_SHOWN = 3
# Most bytes of the encoded names of all types and relations of a dataset: a result that has each
# name a few times must fit into a message.
_MAX_NAME_BYTES = 256 << 10


class UnknownDataset(InputError):
    """A name that is not served."""


class UnusableDataset(GraphZeroError):
    """A dataset that is there and could not be opened."""


@dataclass(frozen=True)
class Version:
    """What the directory held when it was read."""

    datasets: dict[str, Dataset]
    is_new: dict[str, bool]
    """By name: whether the dataset was opened now, instead of kept open."""
    left_out: dict[str, str] = field(default_factory=dict)
    """By name: why a dataset that was not served before could not be opened."""
    outdated: dict[str, str] = field(default_factory=dict)
    """By name: why a dataset cannot be opened now, so that it is served as it was."""


class Catalog:
    """Looks datasets up. A session keeps its Dataset; adopt() changes what later sessions get.

    Used by the event loop's thread, except for read().
    """

    def __init__(self, data: Path, plan: ReadPlan, max_sessions: int) -> None:
        self._data = data
        self._plan = plan
        self.max_sessions = max_sessions
        self._now = Version({}, {})
        self.adopt(self.read())

    def read(self) -> Version:
        """Opens datasets that are new or have changed; adopt() then serves them. May be called on
        any thread, but on one at a time.

        Datasets whose files are the same, and sound, stay open, so that their rows in the row cache
        stay usable. Raises if nothing can be served, or if file descriptors run out.
        """
        if not self._data.is_dir():
            raise InputError(f"{self._data}: found no directory, expected a dataset or several")
        found: dict[str, Dataset] = {}
        left_out: dict[str, str] = {}
        outdated: dict[str, str] = {}
        failure: Exception | None = None
        paths = datasets(self._data)
        make_room(sum(len(files_of(path)) for path in paths), self.max_sessions)
        for path in paths:
            name = path.name
            known = self._now.datasets.get(name)
            try:
                found[name] = _same_or_new(known, path)
            except (GraphZeroError, OSError, ValueError) as error:
                if _is_of_the_process(error):
                    raise
                # Without the error's frames, which would keep opened files if all datasets fail.
                failure = error.with_traceback(None)
                if known is None:
                    left_out[name] = error_text(error)
                else:
                    found[name] = known
                    outdated[name] = error_text(error)
        if not found and failure is not None:
            if len(left_out) == 1:
                raise failure
            raise InputError(_nothing_to_serve(self._data, left_out)) from failure
        self._read_all_in_the_planned_way(found)
        is_new = {name: found[name] is not self._now.datasets.get(name) for name in found}
        return Version(found, is_new, left_out, outdated)

    def _read_all_in_the_planned_way(self, found: dict[str, Dataset]) -> None:
        """Applies the plan. A dataset in use is not changed: if it is to be read in another way, it
        is opened again."""
        plans = self._plan.make(list(found.values()))
        for dataset, plan in zip(list(found.values()), plans, strict=True):
            if dataset is not self._now.datasets.get(dataset.name):
                self._plan.apply(plan, dataset)
            elif not plan.holds_for(dataset):
                again = _open_again(dataset)
                if again is not None:
                    self._plan.apply(plan, again)
                    found[dataset.name] = again

    def adopt(self, version: Version) -> None:
        self._now = version

    def all(self) -> list[Dataset]:
        return list(self._now.datasets.values())

    @property
    def num_files(self) -> int:
        """Data files that are open, of the versions that new sessions get."""
        return sum(1 + len(dataset.columns) for dataset in self._now.datasets.values())

    @property
    def left_out(self) -> dict[str, str]:
        """Datasets that could not be opened, and why."""
        return self._now.left_out

    def find(self, name: str) -> Dataset:
        """The dataset of that name; "" stands for the only one."""
        served, left_out = self._now.datasets, self._now.left_out
        if not name and len(served) == 1 and not left_out:
            return next(iter(served.values()))
        if name in left_out:
            raise UnusableDataset(
                f"dataset {quoted(name)} is left out: {left_out[name]}; mend it, then send the "
                "daemon SIGHUP"
            )
        if name not in served:
            asked = f"dataset {quoted(name)}" if name else "no dataset name"
            raise UnknownDataset(
                f"found {asked}, expected one of {names_text([*served, *left_out])}"
            )
        return served[name]


def _same_or_new(known: Dataset | None, path: Path) -> Dataset:
    if known is None or known.damaged:
        return _open(path)
    if known.identity != dataset_identity(path).files:
        return _open(path)
    if known.settled:
        return known
    opened = _open(path)
    return known if _same(opened, known) else opened


def _open(path: Path) -> Dataset:
    opened = open_dataset(path)
    schema = opened.schema
    size = sum(len(t.directory) for t in schema.types)
    size += sum(len(relation.directory) for relation in schema.relations)
    if size > _MAX_NAME_BYTES:
        raise InputError(
            f"{path}: names of types and relations take {size_text(size)}, expected at most "
            f"{size_text(_MAX_NAME_BYTES)}: every result has them several times; choose shorter "
            "ones"
        )
    return opened


def _open_again(known: Dataset) -> Dataset | None:
    """Opens the same files again; None if they are gone or were replaced."""
    try:
        opened = _open(known.path)
    except (GraphZeroError, OSError, ValueError) as error:
        if _is_of_the_process(error):
            raise
        return None
    return opened if _same(opened, known) else None


def _same(one: Dataset, other: Dataset) -> bool:
    return one.identity == other.identity and one.fingerprint == other.fingerprint


def _is_of_the_process(error: Exception) -> bool:
    """Whether the dataset is not at fault: the process, or the machine, has no more descriptors."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def _nothing_to_serve(data: Path, left_out: dict[str, str]) -> str:
    reasons = [f"{quoted(name)}: {why}" for name, why in left_out.items()]
    shown = "; ".join(reasons[:_REASONS_SHOWN])
    more = len(reasons) - _REASONS_SHOWN
    return f"{data}: none of its {count_text(len(reasons))} datasets can be served: {shown}" + (
        f"; and {more} more" if more > 0 else ""
    )
