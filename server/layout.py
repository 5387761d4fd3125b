"""Where the arrays of a result lie in its block."""

from __future__ import annotations

import math
from dataclasses import dataclass

from graphzero.proto import graphzero_pb2 as pb

# Of the start of each array: a cache line, which is also enough for any vector load.
_ALIGN = 64
_ITEM_SIZES = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2,
    "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "int64": 8, "bool": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Placement:
    """One array: its name, type and shape, and its first byte."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    def to_proto(self) -> pb.TensorRef:
        return pb.TensorRef(name=self.name, dtype=self.dtype, shape=self.shape, offset=self.offset)


class Layout:
    """Arrays one after the other, each aligned."""

    def __init__(self) -> None:
        self.placements: list[Placement] = []
        self.byte_size = 0

    def add(self, name: str, dtype: str, shape: tuple[int, ...]) -> Placement:
        placement = Placement(name, dtype, shape, self.byte_size)
        size = math.prod(shape) * _ITEM_SIZES[dtype]
        self.byte_size += -(-size // _ALIGN) * _ALIGN
        self.placements.append(placement)
        return placement

    def to_proto(self) -> list[pb.TensorRef]:
        return [placement.to_proto() for placement in self.placements]
