"""The datasets that the daemon serves, by name, and their replacement by newer versions."""

from __future__ import annotations

from pathlib import Path

from graphzero._dataset import Dataset, open_dataset
from graphzero._errors import InputError
from graphzero._files import datasets
from graphzero._text import names_text, quoted
from graphzero.server import read_plan
from graphzero.server.read_plan import ReadPlan


class UnknownDataset(InputError):
    """A name that is not served."""


class Catalog:
    """Looks datasets up. A session keeps the Dataset it got; reload() changes what later ones get.

    Used by the event loop's thread.
    """

    def __init__(self, data: Path, plan: ReadPlan) -> None:
        self._data = data
        self._plan = plan
        self._datasets = self._open()

    def _open(self) -> dict[str, Dataset]:
        if not self._data.is_dir():
            raise InputError(f"{self._data}: found no directory, expected a dataset or several")
        opened = {path.name: open_dataset(path) for path in datasets(self._data)}
        self._plan.apply(opened.values())
        return opened

    def reload(self) -> dict[str, bool]:
        """Opens what is new; says of each dataset whether it is. On an error the datasets stay as
        they were, and it is raised.

        Those whose files are the same, and sound, stay open: rows that are kept of them stay known.
        """
        opened = self._open()
        kept = {
            name: known
            for name, known in self._datasets.items()
            if name in opened and not known.damaged and _same(known, opened[name])
        }
        self._datasets = opened | kept
        return {name: name not in kept for name in opened}

    def all(self) -> list[Dataset]:
        return list(self._datasets.values())

    def find(self, name: str) -> Dataset:
        """By name; "" is the only one."""
        if not name and len(self._datasets) == 1:
            return next(iter(self._datasets.values()))
        if name not in self._datasets:
            found = f"dataset {quoted(name)}" if name else "no dataset name"
            raise UnknownDataset(f"found {found}, expected one of {names_text(self._datasets)}")
        return self._datasets[name]


def _same(one: Dataset, other: Dataset) -> bool:
    """Whether they have the same files, and read them in the same way."""
    return (
        one.identity == other.identity
        and one.fingerprint == other.fingerprint
        and read_plan.ways(one) == read_plan.ways(other)
    )
