"""Publishes files and datasets: readers see the old one or the complete new one, never a part."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from graphzero import _engine
from graphzero.base.fail_points import fail_point
from graphzero.files.drafts import draft_directory, make_durable, parent_directories
from graphzero.files.paths import COLUMN_SUFFIX, GRAPH_FILE, columns_of_types

StrPath = str | os.PathLike[str]

# In a draft, the dataset that the new one has replaced.
REPLACED = "replaced"


@contextlib.contextmanager
def new_file(path: StrPath, *, overwrite: bool = False) -> Iterator[str]:
    """Yields the name of a file to create. When the block ends it becomes `path`; when the block
    raises, nothing is left."""
    target = Path(path).absolute()
    _check_file_target(target, overwrite)
    with draft_directory(target) as draft:
        file = draft / target.name
        yield str(file)
        make_durable(file)
        if overwrite:
            file.rename(target)
        else:
            _engine.rename_to_new(str(file), str(target))
        make_durable(target.parent)


@contextlib.contextmanager
def new_dataset(path: StrPath, *, overwrite: bool = False) -> Iterator[Path]:
    """Yields a directory to fill. When the block ends it becomes the dataset `path`; when the block
    raises, or the process is killed, the old dataset stays as it was.

    Readers that have the old dataset open keep it.
    """
    target = Path(path).absolute()
    check_dataset_target(target, overwrite=overwrite)
    with parent_directories(target), draft_directory(target) as draft:
        # One level below the draft: the draft itself is locked, which the dataset must not be.
        dataset = draft / target.name
        dataset.mkdir()
        yield dataset
        put_in_place(dataset, target, overwrite=overwrite)


def put_in_place(dataset: Path, target: Path, *, overwrite: bool) -> None:
    """Makes the directory `dataset`, on the same file system, the dataset `target`. If `target`
    exists, the old dataset becomes the directory REPLACED beside `dataset`."""
    fail_point("publish.filled")
    _make_all_durable(dataset)
    fail_point("publish.durable")
    # Checked here even if it was checked before: filling the directory may have taken hours.
    if check_dataset_target(target, overwrite=overwrite):
        dataset.chmod(stat.S_IMODE(target.stat().st_mode))
        _exchange(dataset, target)
    else:
        _engine.rename_to_new(str(dataset), str(target))
    fail_point("publish.replaced")
    make_durable(target.parent)


def _exchange(dataset: Path, target: Path) -> None:
    """Daemons may have the old dataset open, and parts may share its files. So it never gets the
    name `dataset`: a run that is killed now would leave it for the next run to write into."""
    ready = dataset.with_name(REPLACED)
    dataset.rename(ready)
    try:
        _engine.exchange_names(str(ready), str(target))
    except OSError:  # the names are as they were
        ready.rename(dataset)
        raise


@contextlib.contextmanager
def new_directory(path: StrPath) -> Iterator[Path]:
    """Yields a directory to fill. When the block ends it becomes `path`, which must not exist; when
    the block raises, nothing is left."""
    target = Path(path).absolute()
    _check_absent(target)
    with parent_directories(target), draft_directory(target) as draft:
        directory = draft / target.name
        directory.mkdir()
        yield directory
        _make_all_durable(directory)
        _engine.rename_to_new(str(directory), str(target))
        make_durable(target.parent)


def _make_all_durable(directory: Path) -> None:
    for entry in directory.iterdir():
        if entry.is_dir():  # the columns of a type or relation
            _make_all_durable(entry)
        else:
            make_durable(entry)
    make_durable(directory)


def _check_absent(target: Path) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "exists; choose another name", str(target))


def _check_file_target(target: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory, expected a file name", str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such directory", str(target.parent))
    if target.exists() and not overwrite:
        raise FileExistsError(
            errno.EEXIST, "exists; --overwrite (overwrite=True) replaces it", str(target)
        )


def check_dataset_target(target: Path, *, overwrite: bool) -> bool:
    """Whether there is a dataset to replace. Raises OSError if `target` must not be replaced."""
    if not os.path.lexists(target):
        return False
    if not target.is_dir() or target.is_symlink():
        raise NotADirectoryError(
            errno.ENOTDIR, "exists and is not a dataset directory", str(target)
        )
    # --overwrite removes a directory: it must be certain that it is a dataset and nothing else.
    entries = list(target.iterdir())
    below = {file.parent for file in columns_of_types(target)}
    foreign = [p.name for p in entries if not _belongs_to_dataset(p, below)]
    if foreign:
        raise FileExistsError(
            errno.EEXIST,
            f"holds {foreign[0]!r}, which is no part of a dataset; choose another directory",
            str(target),
        )
    if entries and not overwrite:
        raise FileExistsError(
            errno.EEXIST, "exists; --overwrite (overwrite=True) replaces it", str(target)
        )
    return True


def _belongs_to_dataset(path: Path, column_directories: set[Path]) -> bool:
    if path in column_directories and not path.is_symlink():
        return all(_is_column(entry) for entry in path.iterdir())
    return _is_column(path) or (path.is_file() and path.name == GRAPH_FILE)


def _is_column(path: Path) -> bool:
    return path.is_file() and path.suffix == COLUMN_SUFFIX
