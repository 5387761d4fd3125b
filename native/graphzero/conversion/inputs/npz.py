"""Arrays inside .npz archives, without unpacking them.

An uncompressed array is read like a file of its own; a compressed one is read as a stream of rows.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.file_array import FileArray, NpyHeader, np_format, read_npy_header
from graphzero.conversion.inputs.streams import (
    Array,
    EdgeChunk,
    EdgeStream,
    RowChunk,
    RowStream,
    array_rows,
    pair_edges,
    rows_per_chunk,
)

_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_LOCAL_MAGIC = b"PK\x03\x04"


class NpzArray:
    """One array of an archive."""

    def __init__(self, path: str, member: str | None) -> None:
        self._path = path
        with _opened(path) as archive:
            self._member = _find_member(archive, path, member)
            self._info = archive.getinfo(self._member + ".npy")
            with archive.open(self._info) as file:
                self._header = _read_header(file, str(self))
                self._data_offset = file.tell()

    def __str__(self) -> str:
        return f"{self._path}#{self._member}"

    @property
    def shape(self) -> tuple[int, ...]:
        return self._header.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._header.dtype

    def stored(self) -> FileArray | None:
        """The array without reading it; None if it is compressed."""
        if self._info.compress_type != zipfile.ZIP_STORED or 0 in self.shape:
            return None
        with Path(self._path).open("rb") as file:
            file.seek(self._info.header_offset)
            header = file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size:
            raise InputError(f"{self}: damaged archive: it ends too soon; copy it again")
        fields = _LOCAL_HEADER.unpack(header)
        if fields[0] != _LOCAL_MAGIC:
            raise InputError(f"{self}: damaged archive: found no entry at its offset")
        start = self._info.header_offset + _LOCAL_HEADER.size + fields[-2] + fields[-1]
        return FileArray.open(
            str(self), self._path, start + self._data_offset, self._header, ".npz archive"
        )

    def whole(self) -> Array:
        """The array in memory: for small ones."""
        with _opened(self._path) as archive, archive.open(self._info) as file:
            array: Array = _checked(
                str(self),
                lambda: np_format.read_array(file, allow_pickle=False),
            )
            return array

    def pieces(self, first: int, count: int, items: int) -> Iterator[Array]:
        """Reads `count` rows of `items` values each once, from row `first` on, in the order of the
        file."""
        row_bytes = items * self.dtype.itemsize
        step = rows_per_chunk(row_bytes)
        with _opened(self._path) as archive, archive.open(self._info) as file:
            _checked(str(self), lambda: file.seek(self._data_offset + first * row_bytes))
            for at in range(0, count, step):
                wanted = min(step, count - at) * row_bytes
                data = _checked(str(self), lambda wanted=wanted: _read_fully(file, wanted))
                if len(data) != wanted:
                    raise InputError(
                        f"{self}: found {at + len(data) // max(row_bytes, 1)} rows, expected "
                        f"{count}; the archive is not complete, copy it again"
                    )
                yield np.frombuffer(data, self.dtype)

    def rows(self) -> RowStream:
        """The array as the rows of a matrix."""
        stored = self.stored()
        if stored is not None:
            return array_rows(str(self), stored)
        if self.dtype.kind not in "biuf" or len(self.shape) not in (1, 2):
            raise InputError(
                f"{self}: found {self.dtype} of shape {self.shape}, expected numbers in one or two "
                "dimensions"
            )
        if self._header.fortran_order and len(self.shape) == 2 and self.shape[1] > 1:
            raise InputError(
                f"{self}: found a compressed array in column order, expected row order; save it "
                "anew with numpy.ascontiguousarray"
            )
        items = int(np.prod(self.shape[1:]))

        def chunks() -> Iterator[RowChunk]:
            for piece in self.pieces(0, self.shape[0], items):
                yield RowChunk(None, piece.reshape(-1, *self.shape[1:]))

        return RowStream(
            str(self),
            chunks,
            self.shape[1:],
            self.dtype.name,
            rows=self.shape[0],
            stored_bytes=self._info.compress_size,
        )

    def edges(self) -> EdgeStream:
        """The array, (2, E) or (E, 2), as the two ends of edges."""
        if len(self.shape) != 2 or 2 not in self.shape or self.dtype.kind not in "iu":
            raise InputError(
                f"{self}: found {self.dtype} of shape {self.shape}, expected integers of shape "
                "(2, E) or (E, 2)"
            )
        rows_are_ends = self.shape[0] == 2
        stored = self.stored()
        if stored is not None:
            return pair_edges(str(self), stored.T if rows_are_ends else stored, None)
        count = self.shape[1] if rows_are_ends else self.shape[0]
        # In the file, either all sources come before all targets, or the two ends of each edge are
        # together.
        together = rows_are_ends == self._header.fortran_order

        def chunks() -> Iterator[EdgeChunk]:
            if together:
                for piece in self.pieces(0, count, 2):
                    pairs = piece.reshape(-1, 2)
                    yield EdgeChunk(pairs[:, 0], pairs[:, 1], None)
                return
            # Two readers, one half way ahead of the other, decompress the array one and a half
            # times.
            sources, targets = self.pieces(0, count, 1), self.pieces(count, count, 1)
            for src, dst in zip(sources, targets, strict=True):
                yield EdgeChunk(src, dst, None)

        return EdgeStream(
            str(self), chunks, weighted=False, count=count, stored_bytes=self._info.compress_size
        )


def members(path: str) -> list[str]:
    """Names of the arrays of an archive."""
    with _opened(path) as archive:
        return _names(archive)


def _names(archive: zipfile.ZipFile) -> list[str]:
    return [n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy")]


def _opened(path: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise InputError(f"{path}: not a readable .npz archive: {error}") from error


def _find_member(archive: zipfile.ZipFile, path: str, member: str | None) -> str:
    names = _names(archive)
    if member is None and len(names) == 1:
        return names[0]
    if member in names:
        return member
    known = ", ".join(names) or "none"
    found = "several arrays" if member is None else f"no array {member!r}"
    raise InputError(f"{path}: found {found}, expected one of {known}, as {path}#NAME")


def _read_header(file: Any, name: str) -> NpyHeader:
    header: NpyHeader = _checked(name, lambda: read_npy_header(file))
    if header.dtype.hasobject:
        raise InputError(f"{name}: found Python objects, expected numbers")
    if not header.dtype.isnative:
        raise InputError(
            f"{name}: found {header.dtype}, expected the byte order of this machine; "
            "save it anew with array.astype(array.dtype.newbyteorder('='))"
        )
    return header


def _read_fully(file: Any, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _checked(name: str, read: Any) -> Any:
    try:
        return read()
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise InputError(f"{name}: damaged archive: {error}; copy it again") from error
    except Exception as error:
        if type(error).__module__ != "zlib":  # zlib.error, which has no other base
            raise
        raise InputError(f"{name}: damaged archive: {error}; copy it again") from error
