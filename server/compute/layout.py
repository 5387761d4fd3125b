"""Where the arrays of a result lie in its block."""

from __future__ import annotations

import math
from typing import NamedTuple

from graphzero.proto import graphzero_pb2 as pb

# Alignment of the start of each array: a cache line, which is also enough for any vector load.
_ALIGN = 64
_ITEM_SIZES = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2,
    "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "int64": 8, "bool": 1,
}  # fmt: skip


class Placement(NamedTuple):
    """One array: its name, type and shape, its offset in the block and its size in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    byte_size: int


class Layout:
    """Arrays one after the other, each aligned."""

    def __init__(self) -> None:
        self.placements: list[Placement] = []
        self.byte_size = 0

    def add(self, name: str, dtype: str, shape: tuple[int, ...]) -> Placement:
        size = math.prod(shape) * _ITEM_SIZES[dtype]
        placement = Placement(name, dtype, shape, self.byte_size, size)
        self.byte_size += -(-size // _ALIGN) * _ALIGN
        self.placements.append(placement)
        return placement

    def describe(self, result: pb.Result) -> None:
        for name, dtype, shape, offset, _ in self.placements:
            result.tensors.add(name=name, dtype=dtype, shape=shape, offset=offset)
