"""What readers give to compilers: edges and rows in chunks, readable any number of times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError

if TYPE_CHECKING:
    from graphzero.conversion.inputs.matrix_columns import MatrixColumn
    from graphzero.conversion.inputs.tables import ReadTally

Array: TypeAlias = npt.NDArray[Any]

# Bytes of a chunk: large enough that the fixed cost of a chunk does not matter.
CHUNK_BYTES = 8 << 20


# The files of an input that has several, each with its first row in the whole.
Parts: TypeAlias = tuple[tuple[str, int], ...]


def part_of(name: str, parts: Parts, row: int) -> tuple[str, int]:
    """The file that has a row, and the row's number there."""
    own = [part for part in parts if part[1] <= row]
    file, first = own[-1] if own else (name, 0)
    return file, row - first


def row_place(name: str, parts: Parts, row: int) -> str:
    """What messages call a row."""
    return "{} row {}".format(*part_of(name, parts, row))


class Texts(NamedTuple):
    """Ids that are texts: text i is data[offsets[i] : offsets[i + 1]] in UTF-8."""

    offsets: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]

    @property
    def num_texts(self) -> int:
        return max(len(self.offsets) - 1, 0)

    def take(self, places: Array) -> Texts:
        """The texts at these places, in this order."""
        lengths = np.diff(self.offsets)[places]
        offsets = np.zeros(len(places) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # Where each byte of the result comes from: its text's start, and its place in the text.
        starts = np.repeat(self.offsets[places] - offsets[:-1], lengths)
        return Texts(offsets, self.data[starts + np.arange(offsets[-1])])

    def are_any_of(self, words: Sequence[str]) -> npt.NDArray[np.bool_]:
        """For each text whether it is one of these words."""
        found = np.zeros(self.num_texts, np.bool_)
        lengths = np.diff(self.offsets)
        for word in words:
            expected = np.frombuffer(word.encode(), np.uint8)
            places = np.flatnonzero(lengths == len(expected))
            bytes_of = self.data[self.offsets[places, None] + np.arange(len(expected))]
            found[places[(bytes_of == expected).all(axis=1)]] = True
        return found

    def emptied(self, which: npt.NDArray[np.bool_]) -> Texts:
        """The same texts, but for those with a True, which are empty."""
        known = np.flatnonzero(~which)
        texts = self.take(known)
        lengths = np.zeros(len(which), np.int64)
        lengths[known] = np.diff(texts.offsets)
        offsets = np.zeros(len(which) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Texts(offsets, texts.data)

    def text(self, position: int) -> str:
        first, end = self.offsets[position : position + 2]
        return bytes(self.data[first:end]).decode(errors="replace")


IdColumn: TypeAlias = "Array | Texts"

# Among numbers these stand for a missing value; among texts they may do so too.
WORDS_FOR_NOTHING = ("NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?")


def words_for_nothing(index: _engine.IdIndex) -> list[str]:
    """Texts of the index that often stand for a missing value, if it holds texts."""
    if not index.holds_texts:
        return []
    offsets = np.cumsum([0, *map(len, WORDS_FOR_NOTHING)])
    data = np.frombuffer("".join(WORDS_FOR_NOTHING).encode(), np.uint8)
    rows = index.find_texts(offsets, data)
    return [word for word, row in zip(WORDS_FOR_NOTHING, rows, strict=True) if row >= 0]


def id_count(ids: IdColumn) -> int:
    return ids.num_texts if isinstance(ids, Texts) else len(ids)


def as_int64(ids: Array, place: Callable[[int], str], first_row: int) -> npt.NDArray[np.int64]:
    """The ids as int64. Raises InputError for one that does not fit. `place` names a row for
    messages."""
    if ids.dtype == np.uint64 and ids.size and int(ids.max()) >= 2**63:
        row = int(np.argmax(ids >= 2**63))
        raise InputError(
            f"{place(first_row + row)}: found id {ids[row]}, expected at most 2^63 - 1"
        )
    return np.ascontiguousarray(ids, np.int64)


def select_ids(ids: IdColumn, chosen: Array) -> IdColumn:
    """The ids where `chosen` is true."""
    return ids.take(np.flatnonzero(chosen)) if isinstance(ids, Texts) else ids[chosen]


class EdgeChunk(NamedTuple):
    """Consecutive edges."""

    src: IdColumn
    dst: IdColumn
    weights: npt.NDArray[np.float32] | None
    numbers: Array | None = None  # of their rows, if rows were skipped
    end_row: int | None = None  # the rows so far, skipped ones included
    byte_size: int = 0  # stored bytes that they were read from, if the stream has progress_bytes
    times: npt.NDArray[np.int64] | None = None  # for all edges of a stream or for none


@dataclass(frozen=True)
class EdgeStream:
    """Edges of an input, chunk after chunk, in the order of its rows."""

    name: str  # for messages
    open: Callable[[], Iterator[EdgeChunk]]
    weighted: bool
    texts: bool = False  # ids are texts: they must be relabelled
    count: int = 0  # of edges; 0: not known
    parts: Parts = ()
    stored_bytes: int = 0  # size of the input
    place_of: Callable[[int], str] | None = None  # instead of name and parts
    tally: ReadTally | None = None
    ends: tuple[str, str] | None = None  # what a table calls sources and targets
    guessed: bool = False  # nothing names the ends: they are the first of several columns
    progress_bytes: int = 0  # sum of the byte sizes of its chunks; 0: they have none
    timed: bool = False  # edges have times
    time_unit: str = ""  # of the times; empty: unknown

    def place(self, row: int) -> str:
        """What messages call a row."""
        if self.place_of is not None:
            return self.place_of(row)
        return row_place(self.name, self.parts, row)


class RowChunk(NamedTuple):
    """Consecutive rows, with the ids of their nodes or edges unless they come in order."""

    ids: IdColumn | None
    rows: Array
    replaced: int = 0  # missing values that the value for NaN replaced
    numbers: Array | None = None  # of the rows in the input, if some were skipped

    def number(self, position: int, first_row: int) -> int:
        """The number of the row at a position, if first_row rows came before this chunk."""
        return first_row + position if self.numbers is None else int(self.numbers[position])


@dataclass(frozen=True)
class RowStream:
    """Rows of a matrix, chunk after chunk."""

    name: str  # for messages
    open: Callable[[], Iterator[RowChunk]]
    row_shape: tuple[int, ...]  # the dimensions of a row: none, one or several
    dtype: str
    rows: int | None = None  # None: not known before it is read
    has_ids: bool = False
    texts: bool = False  # ids, or the values of a split, are texts
    parts: Parts = ()
    stored_bytes: int = 0  # size of the input
    place_of: Callable[[int], str] | None = None  # instead of name and parts
    tally: ReadTally | None = None
    # Reads the ids alone, if that is cheaper than reading everything.
    open_ids: Callable[[], Iterator[IdColumn]] | None = None
    matrix: MatrixColumn | None = None  # what makes its rows, to be prepared before they are read
    id_column: str | None = None  # what a table calls the ids

    def place(self, row: int) -> str:
        """What messages call a row."""
        if self.place_of is not None:
            return self.place_of(row)
        return row_place(self.name, self.parts, row)


def rows_per_chunk(row_bytes: int) -> int:
    return max(1, CHUNK_BYTES // max(1, row_bytes))


def array_edges(
    name: str,
    src: Array,
    dst: Array,
    weights: Array | None,
    times: npt.NDArray[np.int64] | None = None,
) -> EdgeStream:
    """Edges of arrays in memory, also of mapped ones."""

    def ends(piece: slice) -> tuple[Array, Array]:
        return src[piece], dst[piece]

    return _edges_in_pieces(name, src.shape, src.nbytes + dst.nbytes, ends, weights, times)


def pair_edges(name: str, pairs: Any, weights: Any, times: Any = None) -> EdgeStream:
    """Edges of an array with the two ends of an edge in each row, and of arrays of weights and of
    times, or None. Arrays may be in files, which are read slice by slice."""

    def ends(piece: slice) -> tuple[Array, Array]:
        both = pairs[piece]
        return both[:, 0], both[:, 1]

    return _edges_in_pieces(name, pairs.shape[:1], pairs.nbytes, ends, weights, times)


def _edges_in_pieces(
    name: str,
    shape: tuple[int, ...],
    stored_bytes: int,
    ends: Callable[[slice], tuple[Array, Array]],
    weights: Any,
    times: Any = None,
) -> EdgeStream:
    """`ends` gives sources and targets of some consecutive edges."""
    if times is not None and times.shape != shape:
        raise InputError(
            f"{name}: found times of shape {times.shape}, expected {shape}, one for each edge"
        )
    if weights is not None and weights.shape != shape:
        raise InputError(
            f"{name}: found weights of shape {weights.shape}, expected {shape}, a number for each "
            "edge"
        )

    def chunks() -> Iterator[EdgeChunk]:
        step = rows_per_chunk(16)
        for first in range(0, shape[0], step):
            piece = slice(first, first + step)
            weight = None if weights is None else np.asarray(weights[piece], np.float32)
            time = None if times is None else np.ascontiguousarray(times[piece], np.int64)
            yield EdgeChunk(*ends(piece), weight, times=time)

    size = stored_bytes + sum(own.nbytes for own in (weights, times) if own is not None)
    return EdgeStream(
        name,
        chunks,
        weights is not None,
        count=shape[0],
        stored_bytes=size,
        timed=times is not None,
    )


def array_rows(name: str, array: Any) -> RowStream:
    """Rows of an array, a tensor or an array in a file, in order."""
    from graphzero.conversion.matrix_arrays import dtype_name, pieces_of

    def chunks() -> Iterator[RowChunk]:
        for piece in pieces_of(array):
            yield RowChunk(None, piece)

    shape = tuple(array.shape)
    size = math.prod(shape) * array.dtype.itemsize
    return RowStream(
        name, chunks, shape[1:], dtype_name(array.dtype), rows=shape[0], stored_bytes=size
    )
