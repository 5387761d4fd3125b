"""`shard_dataset`: deals the large columns of a dataset to parts, each a dataset of its own.

Each of N parts has the whole graph, all small columns, and every N-th block of rows of each large
column. The daemons of all parts together serve the same as one daemon of the whole dataset: parts
carry the fingerprint of the whole, and batches have the same bytes.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphzero import _engine
from graphzero.base.errors import GraphZeroError, InputError
from graphzero.base.numbers import whole_number
from graphzero.base.progress import ShowProgress, no_progress
from graphzero.base.text import names_text
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import split_key
from graphzero.files.copying import copy_opened
from graphzero.files.dataset import Dataset, open_dataset
from graphzero.files.drafts import draft_directory, make_durable
from graphzero.files.file_identity import FileIdentity
from graphzero.files.paths import ORIGINAL_IDS
from graphzero.files.publish import StrPath, check_dataset_target, new_dataset
from graphzero.files.verify import show_bytes

# Smaller columns are copied to every part.
DEFAULT_THRESHOLD = 64 << 20
# As in store/FORMAT.md.
_MOST_PARTS = 1 << 16
# Rows of one round, in which each part gets a block.
_MOST_ROWS = 1 << 62
# Approximate size of a block of rows: many pages, so that neighbours in the file stay together, but
# small enough that hot rows, which lie together in an ordered dataset, spread over all parts.
_BLOCK_BYTES = 128 << 10
_PART = re.compile(r"part-(0|[1-9][0-9]{0,5})")


@dataclass(frozen=True)
class ShardReport:
    """What `shard_dataset` wrote."""

    parts: tuple[Path, ...]
    """Directories of the parts."""
    dealt: dict[str, int]
    """Rows per block of each column that was dealt, by key."""
    copied: tuple[str, ...]
    """Names of the files that every part has as a whole."""
    byte_size: int
    """Size of the files that were written, without links to files of the whole dataset."""
    removed: tuple[Path, ...] = ()
    """Directories of an older deal that had more parts."""


def shard_dataset(
    path: StrPath,
    out: StrPath,
    parts: int,
    *,
    part: int | None = None,
    threshold: int = DEFAULT_THRESHOLD,
    block_rows: int | None = None,
    keep: Collection[str] = (),
    overwrite: bool = False,
    progress: bool = False,
) -> ShardReport:
    """Deals a dataset to the directories out/part-0, out/part-1 and so on, as `graphzero shard`
    does.

    parts, part: the number of parts, and the one to write (default: all of them).
    threshold: columns of fewer bytes are copied to every part, and so are splits, categories,
    original ids and the columns whose keys are in `keep`. Copies are hard links if the parts lie on
    the same file system.
    block_rows: number of consecutive rows that stay together (default: about 128 KiB of rows).
    overwrite: replace parts that are there. If all parts are written, parts of an older deal whose
    numbers this one does not have are removed; nothing else is.
    progress: show progress on stderr.
    """
    if whole_number(parts, "parts", least=1) > _MOST_PARTS:
        raise ValueError(f"parts is {parts}, expected at most {_MOST_PARTS}")
    if block_rows is not None:
        most = _MOST_ROWS // parts
        if whole_number(block_rows, "block_rows", least=1) > most:
            raise ValueError(f"block_rows is {block_rows}, expected at most {most}")
    if part is not None and not 0 <= part < parts:
        raise ValueError(f"part is {part}, expected 0 to {parts - 1}")
    dataset = open_dataset(Path(path))
    if dataset.shard is not None:
        raise InputError(f"{path}: is part {dataset.shard.part} of {dataset.shard.parts} itself")
    unknown = set(keep) - set(dataset.columns)
    if unknown:
        raise InputError(
            f"found no column {names_text(unknown)} to keep, expected {names_text(dataset.columns)}"
        )
    dealt = {
        key: block_rows or _block_rows(column)
        for key, column in dataset.columns.items()
        if key not in keep and _is_dealt(key, column, threshold)
    }
    if not dealt:
        raise InputError(
            f"{path}: found no column of {threshold} bytes or more to deal; lower --threshold, or "
            "copy the dataset as it is (graphzero fetch)"
        )
    show = show_bytes if progress else no_progress
    chosen = range(parts) if part is None else [part]
    written = 0
    directories = []
    for number in chosen:
        target = Path(out) / f"part-{number}"
        with new_dataset(target, overwrite=overwrite) as draft:
            written += _write_part(dataset, draft, dealt, number, parts, show)
            _require_same_version(dataset, draft)
        directories.append(target)
    # After the last part is in place: until then a run that fails should take nothing away.
    removed = _remove_older(Path(out), parts) if overwrite and part is None else ()
    copied = tuple(file.name for file in dataset.files if file.key not in dealt)
    return ShardReport(tuple(directories), dealt, copied, written, removed)


def _remove_older(out: Path, parts: int) -> tuple[Path, ...]:
    """Removes the directories part-N of `out` that an older deal has left, of numbers that a deal
    to `parts` parts does not have: a daemon that serves one of them would find no peers."""
    older = sorted(
        (int(found[1]), path)
        for path in out.iterdir()
        if (found := _PART.fullmatch(path.name)) and int(found[1]) >= parts
    )
    older = [(number, path) for number, path in older if _is_part(path, number)]
    if not older:
        return ()
    # Readers see a part or none, so each goes by a rename. The draft is one of part-0, because
    # every deal has that part: if this run is killed, the next one removes what lies in there.
    with draft_directory((out / "part-0").absolute()) as draft:
        for _, path in older:
            path.rename(draft / path.name)
        make_durable(out)
    return tuple(path for _, path in older)


def _is_part(path: Path, number: int) -> bool:
    """Whether the directory has that part of some dataset and nothing else."""
    with contextlib.suppress(GraphZeroError, OSError):
        if check_dataset_target(path, overwrite=True):
            shard = open_dataset(path).shard
            return shard is not None and shard.part == number
    return False


def _is_dealt(key: str, column: ColumnFile, threshold: int) -> bool:
    is_values = column.role in ("node", "edge") and split_key(key)[1] != ORIGINAL_IDS
    return is_values and column.byte_size >= threshold


def _block_rows(column: ColumnFile) -> int:
    rows = max(1, _BLOCK_BYTES // column.matrix.row_stride)
    return int(1 << (rows.bit_length() - 1))


def _write_part(
    dataset: Dataset,
    draft: Path,
    dealt: dict[str, int],
    part: int,
    parts: int,
    show: ShowProgress,
) -> int:
    """Writes one part; returns the number of bytes written."""
    written = 0
    for file in _in_order(dataset.files):
        target = draft / file.name
        target.parent.mkdir(exist_ok=True)
        if file.key not in dealt:
            written += _link_or_copy(file, target)
            continue
        with show(f"part {part} {file.name}") as report:
            _engine.write_shard(
                dataset.columns[file.key].matrix,
                str(target),
                part=part,
                parts=parts,
                block_rows=dealt[file.key],
                report=report,
            )
        written += target.stat().st_size
    return written


def _in_order(files: Sequence[FileIdentity]) -> list[FileIdentity]:
    """Small files first, so that a file that cannot be linked or copied shows before hours of
    dealing."""
    return sorted(files, key=lambda file: file.byte_size)


def _link_or_copy(file: FileIdentity, target: Path) -> int:
    """Returns the bytes written: a hard link takes none. Links are safe because files are never
    changed in place."""
    with os.fdopen(file.open(), "rb") as opened:  # raises if it was replaced
        try:
            os.link(file.path.resolve(), target)  # a symbolic link would get a second name itself
            if os.path.samestat(target.lstat(), os.fstat(opened.fileno())):
                return 0
            target.unlink()  # it was replaced just now; the file that is open is the right one
        except OSError:
            pass  # another file system, or one without links
        # With its times: the time of the last change is the fingerprint of a GraphZero 0.2 file.
        copy_opened(opened.fileno(), file.path, target, keep_attributes=True)
    return file.byte_size


def _require_same_version(dataset: Dataset, draft: Path) -> None:
    """Raises InputError if the part is not one of the dataset that was opened."""
    found = open_dataset(draft).fingerprint
    if found != dataset.fingerprint:
        raise InputError(
            f"{dataset.path}: the part has fingerprint {found.hex()}, expected "
            f"{dataset.fingerprint.hex()}, that of the whole dataset; a file was changed "
            "meanwhile: run graphzero shard again"
        )
