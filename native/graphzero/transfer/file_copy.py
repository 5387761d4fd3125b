"""Copies one file block by block, and compares each block with its checksum.

The file has its final size from the start and is sparse. If an earlier run has left a part of it,
each block with the right checksum stays, whatever version it was copied from. So a copy that was
killed continues where it was, and a copy of a new version keeps the blocks that have not changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import NamedTuple

from graphzero import _engine
from graphzero.base.errors import FormatError
from graphzero.transfer.source import DatasetChanged, Source, SourceFile

# Bytes of one read from the source, and reads under way; their product is the memory in use.
PIECE_BYTES = 8 << 20
PIECES_AT_ONCE = 4
# .gl and .gd files begin with it; files of GraphZero 0.2 do not.
_MAGIC = b"\x89GZG"
# How often a block with a wrong checksum is read again before the source counts as damaged.
_MORE_ATTEMPTS = 2


class _Block(NamedTuple):
    offset: int
    size: int
    checksum: int | None
    """None if it is not known."""


class FileCopy:
    """Copies one file to `target`. `advance` is called, on any thread, with the number of bytes
    that have become right, and whether an earlier run had left them."""

    def __init__(
        self, source: Source, file: SourceFile, target: Path, advance: Callable[[int, bool], None]
    ) -> None:
        self._source = source
        self._file = file
        self._target = target
        self._advance = advance

    def run(self, executor: Executor) -> None:
        """Raises FormatError if the source is damaged, DatasetChanged if it has changed."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._target, flags, 0o666)
        try:
            self._descriptor = descriptor
            self._resumed = os.fstat(descriptor).st_size > 0
            os.ftruncate(descriptor, self._file.byte_size)
            blocks = self._blocks()
            _run_all(executor, self._copy_piece, _pieces(blocks))
        finally:
            os.close(descriptor)
        if self._file.modified_ns:
            # A file of GraphZero 0.2 has its size and modification time as fingerprint.
            os.utime(self._target, ns=(self._file.modified_ns, self._file.modified_ns))

    def _blocks(self) -> Sequence[_Block]:
        """The blocks of data. Fetches the header and the tables, which list them."""
        size = self._file.byte_size
        head = self._source.read(self._file, 0, min(size, _engine.MOST_HEAD_BYTES))
        if head[: len(_MAGIC)] != _MAGIC:
            return self._blocks_without_list()
        _write_all(self._descriptor, memoryview(head), 0)
        listed = _engine.BlockList.open(os.fspath(self._target))
        assert listed is not None  # because the file begins with _MAGIC
        if self._file.fingerprint and listed.fingerprint != self._file.fingerprint:
            raise DatasetChanged(
                f"{self._source.label}: {self._file.name} has changed: found fingerprint "
                f"{listed.fingerprint.hex()}, expected {self._file.fingerprint.hex()}"
            )
        table = _Block(*listed.checksum_table)
        for begin in range(0, table.size, PIECE_BYTES):
            piece = min(PIECE_BYTES, table.size - begin)
            data = self._source.read(self._file, table.offset + begin, piece)
            _write_all(self._descriptor, memoryview(data), table.offset + begin)
        blocks = [_Block(*map(int, block)) for block in zip(*listed.data_blocks(), strict=True)]
        self._clear_between([_Block(0, listed.head_bytes, None), table, *blocks])
        self._advance(listed.head_bytes + table.size, False)
        return blocks

    def _blocks_without_list(self) -> list[_Block]:
        """The blocks of a file of GraphZero 0.2, which stores no checksums: the source may know
        them."""
        step, size = _engine.CHECKSUM_BLOCK, self._file.byte_size
        places = range(0, size, step)
        known = self._source.block_checksums(self._file)
        if known is not None and len(known) != len(places):
            raise DatasetChanged(
                f"{self._source.label}: {self._file.name}: found {len(known)} checksums, expected "
                f"{len(places)}"
            )
        checksums: Sequence[int | None] = known or [None] * len(places)
        return [
            _Block(at, min(step, size - at), checksum)
            for at, checksum in zip(places, checksums, strict=True)
        ]

    def _clear_between(self, blocks: Sequence[_Block]) -> None:
        """Zeroes the padding between blocks, where an earlier run may have left other bytes."""
        end = 0
        for block in sorted(blocks):
            _write_zeros(self._descriptor, end, block.offset - end)
            end = block.offset + block.size
        _write_zeros(self._descriptor, end, self._file.byte_size - end)

    def _copy_piece(self, blocks: Sequence[_Block]) -> None:
        wrong = [block for block in blocks if not self._is_there(block)]
        kept = sum(block.size for block in blocks) - sum(block.size for block in wrong)
        self._advance(kept, self._resumed)
        for run in _pieces(wrong):
            for block in self._fetch(run):
                self._fetch_again(block)

    def _is_there(self, block: _Block) -> bool:
        if block.checksum is None or not _has_data(self._descriptor, block.offset, block.size):
            return False
        found = os.pread(self._descriptor, block.size, block.offset)
        return _engine.checksum(memoryview(found)) == block.checksum

    def _fetch(self, blocks: Sequence[_Block]) -> list[_Block]:
        """Fetches consecutive blocks; returns those that arrived with a wrong checksum."""
        begin, end = blocks[0].offset, blocks[-1].offset + blocks[-1].size
        data = memoryview(self._source.read(self._file, begin, end - begin))
        wrong = []
        for block in blocks:
            part = data[block.offset - begin : block.offset - begin + block.size]
            if block.checksum in (None, _engine.checksum(part)):
                _write_all(self._descriptor, part, block.offset)
                self._advance(block.size, False)
            else:
                wrong.append(block)
        return wrong

    def _fetch_again(self, block: _Block) -> None:
        if all(self._fetch([block]) for _ in range(_MORE_ATTEMPTS)):
            raise FormatError(
                f"{self._source.label}: {self._file.name}: bytes {block.offset} to "
                f"{block.offset + block.size}: their checksum is not {block.checksum}, in "
                f"{1 + _MORE_ATTEMPTS} attempts; the source is damaged there, as graphzero verify "
                "would say"
            )


def block_checksums(path: Path) -> list[int]:
    """The checksums of a file, one for each CHECKSUM_BLOCK bytes."""
    with path.open("rb") as file:
        blocks = iter(lambda: file.read(_engine.CHECKSUM_BLOCK), b"")
        return [_engine.checksum(memoryview(block)) for block in blocks]


def _pieces(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Runs of consecutive blocks, each run at most PIECE_BYTES, to be read at once."""
    piece: list[_Block] = []
    size = 0
    for block in blocks:
        joined = piece and block.offset == piece[-1].offset + piece[-1].size
        if piece and (not joined or size + block.size > PIECE_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(block)
        size += block.size
    if piece:
        yield piece


def _run_all(
    executor: Executor,
    work: Callable[[Sequence[_Block]], None],
    pieces: Iterator[Sequence[_Block]],
) -> None:
    """Runs PIECES_AT_ONCE pieces at a time. After a failure no further piece begins, and pieces
    under way end before the error is raised."""
    under_way: set[Future[None]] = set()
    try:
        for piece in pieces:
            under_way.add(executor.submit(work, piece))
            if len(under_way) == PIECES_AT_ONCE:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for one in done:
                    one.result()
        for one in under_way:
            one.result()
    finally:
        wait(under_way)


def _has_data(descriptor: int, offset: int, size: int) -> bool:
    """Whether a sparse file was ever written in this range."""
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA) < offset + size
    except OSError:  # ENXIO: no data up to the end of the file
        return False


def _write_zeros(descriptor: int, offset: int, size: int) -> None:
    """Zeroes padding, which has less than a page unless the table of sections is hostile."""
    step = _engine.CHECKSUM_BLOCK
    for begin in range(offset, offset + size, step):
        part = min(step, offset + size - begin)
        if _has_data(descriptor, begin, part):
            _write_all(descriptor, memoryview(bytes(part)), begin)


def _write_all(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written
