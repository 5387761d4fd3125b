"""Damaged variants of a small file, one after the other, and what must come of each."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import reference_writer as rw
import xxhash

# What must happen. In all cases: no crash, no hang, no exception that is not ours.
REFUSED = "refused"  # FormatError at open
FOUND = "found"  # verify, or open, names the damaged place
SURVIVED = "survived"  # nothing more

TABLE = rw.HEADER.size
# Fields of the header by offset: what resealed() recomputes.
_TABLE_CHECKSUM, _FINGERPRINT, _PROPERTIES, _HEADER_CHECKSUM = 48, 56, 72, 248


@dataclass(frozen=True)
class Case:
    """Bytes to write over the sound file at `offset`."""

    name: str
    offset: int
    patch: bytes
    expected: str
    place: str = ""  # what a problem must mention


def cases(original: bytes) -> Iterator[Case]:
    """Every flipped bit; for version 1 also with checksums that agree."""
    return _version_1(original) if original[:1] == b"\x89" else _legacy(original)


def _version_1(original: bytes) -> Iterator[Case]:
    count = struct.unpack_from("<I", original, 32)[0]
    front = original[: TABLE + count * rw.ENTRY.size]
    for name, at, byte in _flips(original, range(len(front))):
        yield Case(name, at, byte, REFUSED)
        # A writer with bad intentions makes the checksums right.
        yield Case(f"{name}, resealed", 0, resealed(front, at, byte), SURVIVED)
    for name, at, number in _extremes(front):
        yield Case(name, 0, resealed(front, at, number), SURVIVED)
    end, before = len(front), "section table"
    for kind, offset, size in _sections(original, count):
        # Padding is long and all the same: its edges and some of what lies between.
        padding = {end, offset - 1, *range(end, offset, 509)} if end < offset else set()
        for name, at, byte in _flips(original, sorted(padding)):
            yield Case(name, at, byte, FOUND, f"padding after {before}")
        end, before = offset + size, _NAMES[kind]
        for name, at, byte in _flips(original, range(offset, end)):
            yield Case(name, at, byte, FOUND, before)
            if kind in _RESEALED:
                yield Case(f"{name}, resealed", 0, _resealed_data(original, at, byte), SURVIVED)


def _legacy(original: bytes) -> Iterator[Case]:
    header = 64 if original.startswith(b"graphlit") else 32
    for name, at, byte in _flips(original, range(len(original))):
        # Nothing else in the file tells int32 from float32, or int64 from float64.
        unseen = header == 32 and name == "bit 1 of byte 12"
        yield Case(name, at, byte, REFUSED if at < header and not unseen else SURVIVED)


def resealed(front: bytes, at: int, change: bytes) -> bytes:
    """Header and table with a change and the checksums that belong to it."""
    result = bytearray(front)
    result[at : at + len(change)] = change
    count = min(struct.unpack_from("<I", result, 32)[0], rw.ALIGN)
    table = bytes(result[TABLE : TABLE + count * rw.ENTRY.size])
    struct.pack_into("<Q", result, _TABLE_CHECKSUM, xxhash.xxh3_64_intdigest(table))
    identity = bytes(result[40:48] + result[_PROPERTIES : _PROPERTIES + 128]) + table
    result[_FINGERPRINT : _FINGERPRINT + 16] = xxhash.xxh3_128_digest(identity)
    checksum = xxhash.xxh3_64_intdigest(bytes(result[:_HEADER_CHECKSUM]))
    struct.pack_into("<Q", result, _HEADER_CHECKSUM, checksum)
    return bytes(result)


def _resealed_data(original: bytes, at: int, change: bytes) -> bytes:
    """The whole file with a change in a section of less than a block, and right checksums."""
    result = bytearray(original)
    result[at : at + len(change)] = change
    count = struct.unpack_from("<I", result, 32)[0]
    entries = list(_sections(result, count))
    table = [TABLE + index * rw.ENTRY.size for index in range(count)]
    checksums_at, checksums_size = next(e[1:] for e in entries if e[0] == rw.CHECKSUMS)
    for entry, (kind, offset, size) in zip(table, entries, strict=True):
        if kind != rw.CHECKSUMS and offset <= at < offset + size:
            first_block = struct.unpack_from("<Q", result, entry + 40)[0]
            block = xxhash.xxh3_64_digest(bytes(result[offset : offset + size]))[::-1]
            result[checksums_at + 8 * first_block : checksums_at + 8 * first_block + 8] = block
            struct.pack_into("<Q", result, entry + 48, xxhash.xxh3_64_intdigest(block))
        if kind == rw.CHECKSUMS:
            data = bytes(result[checksums_at : checksums_at + checksums_size])
            struct.pack_into("<Q", result, entry + 48, xxhash.xxh3_64_intdigest(data))
    front = TABLE + count * rw.ENTRY.size
    result[:front] = resealed(bytes(result[:front]), 0, bytes(result[:1]))
    return bytes(result)


def _flips(original: bytes, positions: Iterable[int]) -> Iterator[tuple[str, int, bytes]]:
    for at in positions:
        for bit in range(8):
            yield f"bit {bit} of byte {at}", at, bytes([original[at] ^ (1 << bit)])


def _extremes(front: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Each aligned 8 bytes of header and table as numbers that overflow sums and products."""
    for at in range(8, len(front), 8):
        value = struct.unpack_from("<Q", front, at)[0]
        for extreme in (0, value + 1, 1 << 32, 1 << 61, 1 << 63, (1 << 64) - 4096, (1 << 64) - 1):
            number = struct.pack("<Q", extreme & ((1 << 64) - 1))
            yield f"{extreme} at byte {at}, resealed", at, number


def _sections(original: bytes, count: int) -> Iterator[tuple[int, int, int]]:
    for index in range(count):
        fields = rw.ENTRY.unpack_from(original, TABLE + index * rw.ENTRY.size)
        yield fields[0], fields[6], fields[7]


# Sections that are changed with right checksums too: the reader acts on what they say.
_RESEALED = {
    rw.SCHEMA,
    rw.NODE_TIMES,
    rw.NODES_BY_TIME,
    rw.TIMES_BY_TIME,
    rw.QUANTISATION,
    21,
    37,
}

_NAMES = {
    rw.CHECKSUMS: "checksums",
    rw.WEIGHT_NAME: "weight_name",
    rw.SCHEMA: "schema",
    rw.NODE_TIMES: "node_times",
    rw.NODES_BY_TIME: "nodes_by_time",
    rw.TIMES_BY_TIME: "times_by_time",
    rw.TIME_UNIT: "time_unit",
    rw.ROWS: "rows",
    rw.ROW_SHAPE: "row_shape",
    rw.QUANTISATION: "quantisation",
    **{
        first + step: f"{direction}.{name}"
        for direction, first in rw.FIRST_KIND.items()
        for step, name in enumerate(
            ("indptr", "indices", "weights", "edge_ids", "times", "slot_times")
        )
    },
}
