"""Arrays in files: .npy, arrays that an archive stores as they are, plain values.

They are read piece by piece and not mapped: a file that is cut short while it is mapped ends the
process that reads it, and here it is an error that names the file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.streams import Array, rows_per_chunk

np_format: Any = np.lib.format  # has no type annotations


class NpyHeader(NamedTuple):
    """The header of a .npy file."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]


def read_npy_header(file: Any) -> NpyHeader:
    """Leaves `file` at the first value. Raises ValueError or EOFError if it is no .npy file."""
    version = np_format.read_magic(file)
    if version == (1, 0):
        return NpyHeader(*np_format.read_array_header_1_0(file))
    return NpyHeader(*np_format.read_array_header_2_0(file))


class _Descriptor:
    """The descriptor of an open file, which is closed when no array needs it any more."""

    def __init__(self, path: str) -> None:
        self.number = -1
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        if self.number >= 0:
            os.close(self.number)


@dataclass(frozen=True)
class FileArray:
    """An array in a file that stays open. A slice of it is read when it is taken."""

    name: str  # for messages
    descriptor: _Descriptor
    offset: int  # of the first value
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran_order: bool = False

    @classmethod
    def open(
        cls, name: str, path: str, offset: int, header: NpyHeader, kind: str = "file"
    ) -> FileArray:
        """Raises InputError if the file ends before the array does."""
        if header.dtype.hasobject:
            raise InputError(f"{name}: found Python objects, expected numbers")
        descriptor = _Descriptor(path)
        array = cls(name, descriptor, offset, header.shape, header.dtype, header.fortran_order)
        found = os.fstat(descriptor.number).st_size
        if found < offset + array.nbytes:
            raise InputError(
                f"{name}: not a readable {kind}: found {found} bytes, expected "
                f"{offset + array.nbytes} for {array.dtype} of shape {array.shape}"
            )
        return array

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def T(self) -> FileArray:
        """With rows and columns exchanged, as NumPy calls it."""
        return replace(self, shape=self.shape[::-1], fortran_order=not self.fortran_order)

    def texts_as_bytes(self) -> FileArray:
        """An array of texts of one length as rows of bytes; another one as it is."""
        if self.dtype.kind != "S":
            return self
        return replace(self, shape=(*self.shape, self.dtype.itemsize), dtype=np.dtype(np.uint8))

    def __getitem__(self, rows: slice) -> Array:
        """Consecutive rows, read from the file."""
        first, last, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(f"found a step of {step}, expected 1")
        count = max(0, last - first)
        shape = (count, *self.shape[1:])
        if not self.fortran_order or self.ndim == 1:
            piece = np.empty(shape, self.dtype)
            row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
            self._read(piece.reshape(-1), first * row_bytes)
            return piece
        if self.ndim != 2:
            raise InputError(f"{self.name}: found {self.ndim} dimensions, expected 1 or 2")
        piece = np.empty(shape, self.dtype, order="F")
        for column in range(shape[1]):
            self._read(piece[:, column], (column * len(self) + first) * self.dtype.itemsize)
        return piece

    def whole(self) -> Array:
        """All values: for small arrays, and arrays without dimensions."""
        piece = np.empty(self.shape, self.dtype, order="F" if self.fortran_order else "C")
        self._read(piece.reshape(-1, order="A"), 0)
        return piece

    def pieces(self) -> Iterator[Array]:
        """Consecutive rows, all of them."""
        row_bytes = self.nbytes // max(1, len(self))
        step = rows_per_chunk(row_bytes)
        for first in range(0, len(self), step):
            yield self[first : first + step]

    def _read(self, values: Array, place: int) -> None:
        """Fills `values`, which are contiguous in memory and in the file, from `place` bytes after
        the first value."""
        out = memoryview(cast(Any, values.view(np.uint8))) if values.nbytes else memoryview(b"")
        done = 0
        while done < len(out):
            done += os.preadv(self.descriptor.number, [out[done:]], self.offset + place + done)
            # Checked even after a full read: a page that is cut off meanwhile can read as zeros.
            found = os.fstat(self.descriptor.number).st_size
            if found < self.offset + self.nbytes:
                raise InputError(
                    f"{self.name}: cut short while it was read: found {found} bytes, expected "
                    f"{self.offset + self.nbytes}; copy it again"
                )


def open_npy(source: str) -> FileArray:
    """The array of a .npy file. Raises InputError, and OSError if there is no such file."""
    with Path(source).open("rb") as file:
        try:
            header = read_npy_header(file)
        except (ValueError, EOFError) as error:
            raise InputError(f"{source}: not a readable .npy file: {error}") from error
        offset = file.tell()
    if header.dtype.hasobject:
        raise InputError(f"{source}: not a readable .npy file: found Python objects")
    return FileArray.open(source, source, offset, header, ".npy file")
