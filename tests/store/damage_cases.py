"""Damaged variants of a small file, one after the other, and what must come of each."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import reference_writer as rw
import xxhash

# What must happen. In all cases: no crash, no hang, no exception that is not ours.
REFUSED = "refused"  # FormatError at open
FOUND = "found"  # verify, or open, names the damaged place
SURVIVED = "survived"  # nothing more

TABLE = rw.HEADER.size
# Fields of the header by offset: what reseal() recomputes.
_TABLE_CHECKSUM, _FINGERPRINT, _PROPERTIES, _HEADER_CHECKSUM = 48, 56, 72, 248


@dataclass(frozen=True)
class Case:
    name: str
    data: bytes
    expected: str
    place: str = ""  # what a problem must mention


def cases(original: bytes) -> Iterator[Case]:
    """Every truncation and every flipped bit; for version 1 also behind renewed checksums."""
    for length in range(len(original)):
        yield Case(f"cut to {length} bytes", original[:length], REFUSED)
    yield Case("a byte too long", original + b"\0", REFUSED)
    if original[:1] == b"\x89":
        yield from _version_1(original)
    else:
        yield from _legacy(original)


def _version_1(original: bytes) -> Iterator[Case]:
    count = struct.unpack_from("<I", original, 32)[0]
    data_start = TABLE + count * rw.ENTRY.size
    for name, data in _flips(original, range(data_start)):
        yield Case(name, data, REFUSED)
        # A writer with bad intentions makes the checksums right.
        yield Case(f"{name}, resealed", reseal(data), SURVIVED)
    for name, data in _extremes(original, data_start):
        yield Case(name, reseal(data), SURVIVED)
    end, before = data_start, "section table"
    for kind, offset, size in _sections(original, count):
        # Padding is long and all the same: its edges and some of what lies between.
        padding = {end, offset - 1, *range(end, offset, 509)} if end < offset else set()
        for name, data in _flips(original, sorted(padding)):
            yield Case(name, data, FOUND, f"padding after {before}")
        end, before = offset + size, _NAMES[kind]
        for name, data in _flips(original, range(offset, end)):
            yield Case(name, data, FOUND, before)


def _legacy(original: bytes) -> Iterator[Case]:
    header = 64 if original.startswith(b"graphlit") else 32
    for name, data in _flips(original, range(header)):
        # Nothing else in the file tells int32 from float32, or int64 from float64.
        unseen = header == 32 and name == "bit 1 of byte 12"
        yield Case(name, data, SURVIVED if unseen else REFUSED)
    for name, data in _flips(original, range(header, len(original))):
        yield Case(name, data, SURVIVED)


def reseal(data: bytes) -> bytes:
    """The same header and table with the checksums that belong to them."""
    result = bytearray(data)
    count = min(struct.unpack_from("<I", data, 32)[0], rw.ALIGN)
    table = data[TABLE : TABLE + count * rw.ENTRY.size]
    struct.pack_into("<Q", result, _TABLE_CHECKSUM, xxhash.xxh3_64_intdigest(table))
    identity = data[40:48] + data[_PROPERTIES : _PROPERTIES + 128] + table
    result[_FINGERPRINT : _FINGERPRINT + 16] = xxhash.xxh3_128_digest(identity)
    checksum = xxhash.xxh3_64_intdigest(bytes(result[:_HEADER_CHECKSUM]))
    struct.pack_into("<Q", result, _HEADER_CHECKSUM, checksum)
    return bytes(result)


def _flips(original: bytes, positions: range | list[int]) -> Iterator[tuple[str, bytes]]:
    for at in positions:
        for bit in range(8):
            flipped = bytearray(original)
            flipped[at] ^= 1 << bit
            yield f"bit {bit} of byte {at}", bytes(flipped)


def _extremes(original: bytes, end: int) -> Iterator[tuple[str, bytes]]:
    """Each aligned 8 bytes of header and table as numbers that overflow sums and products."""
    for at in range(8, end, 8):
        value = struct.unpack_from("<Q", original, at)[0]
        for extreme in (0, value + 1, 1 << 32, 1 << 61, 1 << 63, (1 << 64) - 4096, (1 << 64) - 1):
            changed = bytearray(original)
            struct.pack_into("<Q", changed, at, extreme & ((1 << 64) - 1))
            yield f"{extreme} at byte {at}, resealed", bytes(changed)


def _sections(original: bytes, count: int) -> Iterator[tuple[int, int, int]]:
    for index in range(count):
        fields = rw.ENTRY.unpack_from(original, TABLE + index * rw.ENTRY.size)
        yield fields[0], fields[6], fields[7]


_NAMES = {
    rw.CHECKSUMS: "checksums",
    rw.ROWS: "rows",
    **{
        first + step: f"{direction}.{name}"
        for direction, first in rw.FIRST_KIND.items()
        for step, name in enumerate(("indptr", "indices", "weights", "edge_ids", "times"))
    },
}
