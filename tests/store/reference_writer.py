"""A second writer of the file formats, from FORMAT.md alone and sharing no code with the engine.

Small and slow on purpose. Tests compare the engine's files with it byte for byte, and make files
with it that the engine never writes: damaged, hostile, from the future, larger than the disk.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
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

SCHEMA_HEAD = struct.Struct("<4I")
QUANTISATION_HEAD = struct.Struct("<H 6s d d Q")
TYPE_RECORD = struct.Struct("<Q I I I 12s")
RELATION_RECORD = struct.Struct("<I I I I I I Q Q I 20s")

SYMMETRIC, SORTED, MULTI_EDGES_DROPPED, TIME_ORDERED = 1, 2, 4, 8
HAS_NODE_TIMES, TIMES_ASCEND = 1, 2
NO_RELATION = 0xFFFFFFFF
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
CHECKSUMS, WEIGHT_NAME, ROWS, ROW_SHAPE, DESCRIPTION, ROWS_BY_ID = 1, 48, 64, 65, 66, 67
QUANTISATION = 70
SHARD = 72
SCHEMA, NODE_TIMES, NODES_BY_TIME, TIMES_BY_TIME, TIME_UNIT = 49, 50, 51, 52, 53
INDPTR, INDICES, WEIGHTS, EDGE_IDS, TIMES, SLOT_TIMES = range(6)
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
    """Stored edges in input order, before they are sorted into rows.

    Without `edge_ids` an edge's id is its place. They decide the order of rows also if they are not
    stored.
    """

    src: Sequence[int]
    dst: Sequence[int]
    weights: Sequence[float] | None = None
    edge_ids: Sequence[int] | None = None
    times: Sequence[int] | None = None
    store_ids: bool = True

    def slot_times(
        self, neighbours: Sequence[int], node_times: Sequence[int] | None
    ) -> list[int] | None:
        """The later of each edge's time and its neighbour's; None where neither has one."""
        if node_times is None:
            return None if self.times is None else list(self.times)
        of_nodes = [node_times[n] for n in neighbours]
        if self.times is None:
            return of_nodes
        return [max(pair) for pair in zip(self.times, of_nodes, strict=True)]


def adjacency(
    direction: str,
    rows: int,
    edges: Edges,
    *,
    neighbours: int | None = None,
    node_times: Sequence[int] | None = None,
    time_ordered: bool = False,
    relation: int = 0,
) -> list[Section]:
    """Rows by (neighbour, edge id); `time_ordered` ones by (slot time, edge id, neighbour).

    `neighbours` is how many nodes may be neighbours, `node_times` are theirs.
    """
    first = FIRST_KIND[direction]
    out = direction == "out"
    row_of, neighbour_of = (edges.src, edges.dst) if out else (edges.dst, edges.src)
    ids = edges.edge_ids if edges.edge_ids is not None else range(len(row_of))
    slot_times = edges.slot_times(neighbour_of, node_times)
    if time_ordered and slot_times is not None:
        times = slot_times
        order = sorted(
            range(len(row_of)), key=lambda e: (row_of[e], times[e], ids[e], neighbour_of[e])
        )
    else:
        order = sorted(range(len(row_of)), key=lambda e: (row_of[e], neighbour_of[e], ids[e]))
    if slot_times is not None and edges.times is not None and slot_times == list(edges.times):
        slot_times = None
    degrees = np.bincount(np.asarray(row_of, np.int64), minlength=rows)
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint64)
    id_type = np.uint64 if neighbours is not None and neighbours > 1 << 32 else np.uint32
    sections = [
        array_section(first + INDPTR, indptr, relation=relation),
        array_section(first + INDICES, np.asarray(neighbour_of, id_type)[order], relation=relation),
    ]
    for step, values, dtype in (
        (WEIGHTS, edges.weights, np.float32),
        (EDGE_IDS, edges.edge_ids if edges.store_ids else None, np.uint32),
        (TIMES, edges.times, np.int64),
        (SLOT_TIMES, slot_times, np.int64),
    ):
        if values is not None:
            array = np.asarray(values, dtype)[order]
            sections.append(array_section(first + step, array, relation=relation))
    return sections


def node_time_sections(times: Sequence[int] | None, type_number: int = 0) -> list[Section]:
    if times is None:
        return []
    array = np.asarray(times, np.int64)
    sections = [array_section(NODE_TIMES, array, relation=type_number)]
    order = np.array(sorted(range(len(array)), key=lambda i: (array[i], i)), np.uint32)
    if order.tolist() != list(range(len(array))):
        sections.append(array_section(NODES_BY_TIME, order, relation=type_number))
        sections.append(array_section(TIMES_BY_TIME, array[order], relation=type_number))
    return sections


def time_unit_sections(unit: str) -> list[Section]:
    text = np.frombuffer(unit.encode(), np.uint8)
    return [array_section(TIME_UNIT, text, must_understand=False)] if unit else []


def topology(
    num_nodes: int,
    edges: Edges,
    *,
    directions: Sequence[str] = ("out", "in"),
    flags: int = SORTED,
    edge_id_bound: int | None = None,
    node_times: Sequence[int] | None = None,
    time_unit: str = "",
    extra: Sequence[Section] = (),
) -> Image:
    """A graph without types. Timed rows are ordered if `flags` has TIME_ORDERED."""
    sections = node_time_sections(node_times)
    for direction in ("out", "in"):
        if direction in directions:
            sections += adjacency(
                direction,
                num_nodes,
                edges,
                node_times=node_times,
                time_ordered=bool(flags & TIME_ORDERED),
            )
    bound = len(edges.src) if edge_id_bound is None else edge_id_bound
    properties = struct.pack("<4Q", num_nodes, num_nodes, len(edges.src), bound)
    return container(
        TOPOLOGY_MAGIC,
        properties,
        [*sections, *extra, *time_unit_sections(time_unit)],
        optional_flags=flags,
    )


@dataclass(frozen=True)
class NodeType:
    """A type of nodes."""

    name: str
    count: int
    times: Sequence[int] | None = None

    def flags(self) -> int:
        if self.times is None:
            return 0
        ascend = all(a <= b for a, b in zip(self.times, self.times[1:], strict=False))
        return HAS_NODE_TIMES | (TIMES_ASCEND if ascend else 0)


@dataclass(frozen=True)
class Relation:
    """A stored relation; `source` and `target` are numbers of types.

    Without `flags`, rows are sorted, or ordered by time where there are slot times.
    """

    source: int
    name: str
    target: int
    edges: Edges
    directions: Sequence[str] = ("out", "in")
    flags: int | None = None
    extra_flags: int = 0
    """SYMMETRIC or MULTI_EDGES_DROPPED, beside the order of rows."""
    edge_id_bound: int | None = None
    weight_name: str = ""

    @property
    def bound(self) -> int:
        return len(self.edges.src) if self.edge_id_bound is None else self.edge_id_bound

    def all_flags(self, types: Sequence[NodeType]) -> int:
        if self.flags is not None:
            return self.flags
        flags = self.extra_flags
        for direction in self.directions:
            neighbours = types[self.target if direction == "out" else self.source]
            timed = self.edges.times is not None or neighbours.times is not None
            flags |= TIME_ORDERED if timed else SORTED
        return flags


@dataclass(frozen=True)
class View:
    """Relation number `base` with its ends exchanged."""

    name: str
    base: int


def schema_bytes(
    types: Sequence[NodeType],
    relations: Sequence[Relation],
    views: Sequence[View] = (),
    inverses: Sequence[tuple[int, int]] = (),
) -> bytes:
    names = b""
    records = b""
    inverse = {a: b for pair in inverses for a, b in (pair, pair[::-1])}
    for node_type in types:
        name = node_type.name.encode()
        records += TYPE_RECORD.pack(
            node_type.count, len(names), len(name), node_type.flags(), bytes(12)
        )
        names += name
    for number, relation in enumerate(relations):
        name = relation.name.encode()
        records += RELATION_RECORD.pack(
            relation.source,
            relation.target,
            len(names),
            len(name),
            relation.all_flags(types),
            number,
            len(relation.edges.src),
            relation.bound,
            inverse.get(number, NO_RELATION),
            bytes(20),
        )
        names += name
    for view in views:
        name = view.name.encode()
        base = relations[view.base]
        records += RELATION_RECORD.pack(
            base.target,
            base.source,
            len(names),
            len(name),
            base.all_flags(types),
            view.base,
            len(base.edges.src),
            base.bound,
            NO_RELATION,
            bytes(20),
        )
        names += name
    return SCHEMA_HEAD.pack(len(types), len(relations), len(views), len(names)) + records + names


def relation_sections(number: int, relation: Relation, types: Sequence[NodeType]) -> list[Section]:
    sections: list[Section] = []
    flags = relation.all_flags(types)
    ends = {"out": (relation.source, relation.target), "in": (relation.target, relation.source)}
    for direction in ("out", "in"):
        if direction in relation.directions:
            rows, neighbours = (types[t] for t in ends[direction])
            sections += adjacency(
                direction,
                rows.count,
                relation.edges,
                neighbours=neighbours.count,
                node_times=neighbours.times,
                time_ordered=bool(flags & TIME_ORDERED),
                relation=number,
            )
    if relation.weight_name:
        sections.append(weight_name(relation.weight_name, relation=number))
    return sections


def typed_topology(
    types: Sequence[NodeType],
    relations: Sequence[Relation],
    *,
    views: Sequence[View] = (),
    inverses: Sequence[tuple[int, int]] = (),
    time_unit: str = "",
    schema: bytes | None = None,
    extra: Sequence[Section] = (),
) -> Image:
    """A typed graph; `schema` replaces the bytes that belong to it, for hostile files."""
    if schema is None:
        schema = schema_bytes(types, relations, views, inverses)
    sections = [array_section(SCHEMA, np.frombuffer(schema, np.uint8))]
    for number, node_type in enumerate(types):
        sections += node_time_sections(node_type.times, number)
    for number, relation in enumerate(relations):
        sections += relation_sections(number, relation, types)
    sections += [*extra, *time_unit_sections(time_unit)]
    nodes = sum(t.count for t in types)
    edges = sum(len(r.edges.src) for r in relations)
    bound = max((r.bound for r in relations), default=0)
    return container(TOPOLOGY_MAGIC, struct.pack("<4Q", nodes, nodes, edges, bound), sections)


def matrix(
    array: np.ndarray[Any, Any],
    *,
    role: str = "node",
    row_stride: int | None = None,
    dtype: str | None = None,
    description: bytes = b"",
    quantisation: bytes = b"",
) -> Image:
    rows, *row_shape = array.shape
    stride = math.prod(row_shape) * array.itemsize if row_stride is None else row_stride
    sections = matrix_sections(array, stride, dtype, description, quantisation)
    properties = matrix_properties(rows, math.prod(row_shape), stride, min(array.ndim, 2), role)
    return container(MATRIX_MAGIC, properties, sections)


def matrix_sections(
    array: np.ndarray[Any, Any],
    stride: int,
    dtype: str | None,
    description: bytes,
    quantisation: bytes = b"",
) -> list[Section]:
    rows, *row_shape = array.shape
    data = b"".join(row.tobytes().ljust(stride, b"\0") for row in array)
    sections = [Section(ROWS, DTYPES[dtype or array.dtype.name], rows, len(data), data)]
    if quantisation:
        codes = np.frombuffer(quantisation, np.uint8)
        sections.insert(0, array_section(QUANTISATION, codes))
    if description:
        about = np.frombuffer(description, np.uint8)
        sections.insert(0, array_section(DESCRIPTION, about, must_understand=False))
    if len(row_shape) > 1:
        shape = np.array(row_shape, np.uint64)
        sections.insert(0, array_section(ROW_SHAPE, shape, must_understand=False))
    return sections


def matrix_part(
    array: np.ndarray[Any, Any],
    part: int,
    parts: int,
    block_rows: int,
    *,
    role: str = "node",
    description: bytes = b"",
) -> Image:
    """One part of matrix(array), dealt in blocks of rows."""
    whole = matrix(array, role=role, description=description).bytes()
    mine = array[np.arange(len(array)) // block_rows % parts == part]
    numbers = struct.pack("<4Q", part, parts, block_rows, len(array)) + whole[56:72]
    cols = math.prod(array.shape[1:])
    stride = cols * array.itemsize
    sections = [
        array_section(SHARD, np.frombuffer(numbers, np.uint64)),
        *matrix_sections(mine, stride, None, description),
    ]
    properties = matrix_properties(len(mine), cols, stride, min(array.ndim, 2), role)
    return container(MATRIX_MAGIC, properties, sections, required_flags=1)


@dataclass(frozen=True)
class Quantised:
    """Codes of a matrix, and the section that says how to make values of them."""

    codes: np.ndarray[Any, Any]
    section: bytes

    def image(self, **options: Any) -> Image:
        return matrix(self.codes, quantisation=self.section, **options)


def quantised(
    values: np.ndarray[Any, Any],
    *,
    delivered: str = "float32",
    value_range: tuple[float, float] | None = None,
) -> Quantised:
    """What FORMAT.md says that this project's writer makes of values."""
    rows, cols = len(values), math.prod(values.shape[1:])
    flat = values.reshape(rows, cols).astype(np.float32) + np.float32(0)
    if value_range is not None:
        low, high = (np.full(cols, end, np.float32) for end in value_range)
    elif rows:
        low, high = flat.min(axis=0), flat.max(axis=0)
    else:
        low = high = np.zeros(cols, np.float32)
    scale = ((high.astype(np.float64) - low) / 255).astype(np.float32)
    steps = np.zeros(flat.shape)
    varies = scale > 0
    wide = flat.astype(np.float64)
    steps[:, varies] = (wide[:, varies] - low[varies]) / scale.astype(np.float64)[varies] + 0.5
    codes = np.clip(steps, 0, 255).astype(np.uint8)
    errors = np.abs(dequantised(codes, scale, low, delivered).astype(np.float64) - wide)
    block = max(1, 65536 // cols)
    total = 0.0
    for first in range(0, rows, block):
        # One after the other: NumPy's sum takes them in pairs, Python's makes up for rounding.
        total += reduce(add, errors[first : first + block].ravel().tolist(), 0.0)
    largest = float(errors.max(initial=0.0))
    mean = min(total / errors.size, largest) if errors.size else 0.0
    clipped = int(((flat < low) | (flat > high)).sum())
    head = QUANTISATION_HEAD.pack(DTYPES[delivered], bytes(6), largest, mean, clipped)
    return Quantised(codes.reshape(values.shape), head + scale.tobytes() + low.tobytes())


def dequantised(
    codes: np.ndarray[Any, Any],
    scale: np.ndarray[Any, Any],
    offset: np.ndarray[Any, Any],
    delivered: str = "float32",
) -> np.ndarray[Any, Any]:
    """Values of codes; NumPy rounds after each operation."""
    with np.errstate(over="ignore"):
        products = scale.astype(np.float32) * codes.astype(np.float32)
        return (offset.astype(np.float32) + products).astype(delivered)


def weight_name(name: str, *, relation: int = 0) -> Section:
    text = np.frombuffer(name.encode(), np.uint8)
    return array_section(WEIGHT_NAME, text, must_understand=False, relation=relation)


def zero_matrix(rows: int, cols: int, dtype: str) -> Image:
    """A matrix of zeros of any size: write() makes a sparse file."""
    width = cols * np.dtype(dtype).itemsize
    section = Section(ROWS, DTYPES[dtype], rows, rows * width)
    return container(MATRIX_MAGIC, matrix_properties(rows, cols, width, 2, "node"), [section])


def matrix_properties(rows: int, cols: int, stride: int, ndim: int, role: str) -> bytes:
    return struct.pack("<QQQII", rows, cols, stride, ndim, ROLES[role])


def _align(value: int) -> int:
    return -(-value // ALIGN) * ALIGN
