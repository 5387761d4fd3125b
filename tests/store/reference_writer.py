"""A second writer of the file formats, from FORMAT.md alone and sharing no code with the engine.

Small and slow on purpose. Tests compare the engine's files with it byte for byte, and make files
with it that the engine never writes: damaged, hostile, from the future, larger than the disk.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

BLOCK = 1 << 20
ALIGN = 4096
HEADER = struct.Struct("<8s HHI QQ II II Q 16s 128s 48s Q")
ENTRY = struct.Struct("<I I H H I Q Q Q Q Q 40s")
TOPOLOGY_MAGIC = b"\x89GZGL\r\n\x1a"
MATRIX_MAGIC = b"\x89GZGD\r\n\x1a"

SYMMETRIC, SORTED, MULTI_EDGES_DROPPED = 1, 2, 4
DTYPES = {
    "float32": 1,
    "float64": 2,
    "float16": 3,
    "bfloat16": 4,
    "int8": 5,
    "uint8": 6,
    "int16": 7,
    "int32": 8,
    "int64": 9,
    "bool": 10,
    "uint32": 12,
    "uint64": 13,
}
CHECKSUMS, WEIGHT_NAME, ROWS, ROW_SHAPE, DESCRIPTION = 1, 48, 64, 65, 66
INDPTR, INDICES, WEIGHTS, EDGE_IDS, TIMES = range(5)
FIRST_KIND = {"out": 16, "in": 32}
ROLES = {"node": 0, "edge": 1, "ids": 2, "categories": 3}


@dataclass(frozen=True)
class Section:
    """One section. `data` may be left out for a section of zeros, of which only size is stored."""

    kind: int
    dtype: int
    count: int
    size: int
    data: bytes | None = None
    must_understand: bool = True
    encoding: int = 0
    relation: int = 0

    def blocks(self) -> list[int]:
        if self.data is not None:
            return [
                xxhash.xxh3_64_intdigest(self.data[at : at + BLOCK])
                for at in range(0, self.size, BLOCK)
            ]
        full, rest = divmod(self.size, BLOCK)
        return [xxhash.xxh3_64_intdigest(bytes(BLOCK))] * full + (
            [xxhash.xxh3_64_intdigest(bytes(rest))] if rest else []
        )


def array_section(kind: int, array: np.ndarray[Any, Any], **options: Any) -> Section:
    data = array.tobytes()
    return Section(kind, DTYPES[array.dtype.name], array.size, len(data), data, **options)


@dataclass(frozen=True)
class Image:
    """A file: its bytes at the offsets where there are any, zeros elsewhere."""

    size: int
    parts: list[tuple[int, bytes]]

    def bytes(self) -> bytes:
        result = bytearray(self.size)
        for offset, data in self.parts:
            result[offset : offset + len(data)] = data
        return bytes(result)

    def write(self, path: Path) -> Path:
        with path.open("wb") as file:
            file.truncate(self.size)
            for offset, data in self.parts:
                file.seek(offset)
                file.write(data)
        return path


def container(
    magic: bytes,
    properties: bytes,
    sections: Sequence[Section],
    *,
    optional_flags: int = 0,
    required_flags: int = 0,
    version: tuple[int, int] = (1, 0),
) -> Image:
    blocks = [section.blocks() for section in sections]
    packed = [struct.pack(f"<{len(b)}Q", *b) for b in blocks]
    everything = b"".join(packed)
    checksums = Section(
        CHECKSUMS, DTYPES["uint64"], sum(map(len, blocks)), len(everything), everything
    )
    checksum_of = [xxhash.xxh3_64_intdigest(p) for p in (*packed, everything)]

    table = b""
    parts = []
    end = _align(HEADER.size + ENTRY.size * (len(sections) + 1))
    first_block = 0
    for index, section in enumerate((*sections, checksums)):
        own = section.kind == CHECKSUMS
        table += ENTRY.pack(
            section.kind,
            int(section.must_understand),
            section.dtype,
            section.encoding,
            section.relation,
            section.count,
            end,
            section.size,
            0 if own else first_block,
            checksum_of[index],
            bytes(40),
        )
        if section.data is not None:
            parts.append((end, section.data))
        end = _align(end + section.size)
        first_block += 0 if own else len(blocks[index])

    flags = struct.pack("<II", required_flags, optional_flags)
    properties = properties.ljust(128, b"\0")
    fingerprint = xxhash.xxh3_128_digest(flags + properties + table)
    header = HEADER.pack(
        magic,
        *version,
        HEADER.size,
        end,
        HEADER.size,
        len(sections) + 1,
        ENTRY.size,
        required_flags,
        optional_flags,
        xxhash.xxh3_64_intdigest(table),
        fingerprint,
        properties,
        bytes(48),
        0,
    )
    header = header[:-8] + struct.pack("<Q", xxhash.xxh3_64_intdigest(header[:-8]))
    return Image(end, [(0, header + table), *parts])


@dataclass(frozen=True)
class Edges:
    """Stored edges in input order, before they are sorted into rows."""

    src: Sequence[int]
    dst: Sequence[int]
    weights: Sequence[float] | None = None
    edge_ids: Sequence[int] | None = None
    times: Sequence[int] | None = None


def adjacency(
    direction: str, rows: int, row_of: Sequence[int], neighbour_of: Sequence[int], edges: Edges
) -> list[Section]:
    """Rows sorted by (neighbour, edge id); without edge ids, by (neighbour, input order)."""
    first = FIRST_KIND[direction]
    ids = edges.edge_ids if edges.edge_ids is not None else range(len(row_of))
    order = sorted(range(len(row_of)), key=lambda e: (row_of[e], neighbour_of[e], ids[e]))
    degrees = np.bincount(np.asarray(row_of, np.int64), minlength=rows)
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint64)
    sections = [
        array_section(first + INDPTR, indptr),
        array_section(first + INDICES, np.asarray(neighbour_of, np.uint32)[order]),
    ]
    for step, values, dtype in (
        (WEIGHTS, edges.weights, np.float32),
        (EDGE_IDS, edges.edge_ids, np.uint32),
        (TIMES, edges.times, np.int64),
    ):
        if values is not None:
            sections.append(array_section(first + step, np.asarray(values, dtype)[order]))
    return sections


def topology(
    num_nodes: int,
    edges: Edges,
    *,
    directions: Sequence[str] = ("out", "in"),
    flags: int = SORTED,
    edge_id_bound: int | None = None,
    extra: Sequence[Section] = (),
) -> Image:
    sections: list[Section] = []
    if "out" in directions:
        sections += adjacency("out", num_nodes, edges.src, edges.dst, edges)
    if "in" in directions:
        sections += adjacency("in", num_nodes, edges.dst, edges.src, edges)
    bound = len(edges.src) if edge_id_bound is None else edge_id_bound
    properties = struct.pack("<4Q", num_nodes, num_nodes, len(edges.src), bound)
    return container(TOPOLOGY_MAGIC, properties, [*sections, *extra], optional_flags=flags)


def matrix(
    array: np.ndarray[Any, Any],
    *,
    role: str = "node",
    row_stride: int | None = None,
    dtype: str | None = None,
    description: bytes = b"",
) -> Image:
    rows, *row_shape = array.shape
    cols = math.prod(row_shape)
    width = cols * array.itemsize
    stride = width if row_stride is None else row_stride
    data = b"".join(row.tobytes().ljust(stride, b"\0") for row in array)
    sections = [Section(ROWS, DTYPES[dtype or array.dtype.name], rows, len(data), data)]
    if description:
        about = np.frombuffer(description, np.uint8)
        sections.insert(0, array_section(DESCRIPTION, about, must_understand=False))
    if len(row_shape) > 1:
        shape = np.array(row_shape, np.uint64)
        sections.insert(0, array_section(ROW_SHAPE, shape, must_understand=False))
    properties = matrix_properties(rows, cols, stride, min(array.ndim, 2), role)
    return container(MATRIX_MAGIC, properties, sections)


def weight_name(name: str) -> Section:
    text = np.frombuffer(name.encode(), np.uint8)
    return array_section(WEIGHT_NAME, text, must_understand=False)


def zero_matrix(rows: int, cols: int, dtype: str) -> Image:
    """A matrix of zeros of any size: write() makes a sparse file."""
    width = cols * np.dtype(dtype).itemsize
    section = Section(ROWS, DTYPES[dtype], rows, rows * width)
    return container(MATRIX_MAGIC, matrix_properties(rows, cols, width, 2, "node"), [section])


def matrix_properties(rows: int, cols: int, stride: int, ndim: int, role: str) -> bytes:
    return struct.pack("<QQQII", rows, cols, stride, ndim, ROLES[role])


def _align(value: int) -> int:
    return -(-value // ALIGN) * ALIGN
