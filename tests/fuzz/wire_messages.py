"""Messages as no client sends them: by the contract's own structure, with values that are right,
nearly right and absurd."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from graphzero.proto import graphzero_pb2 as pb

# Requests, and other bodies, by how often they come.
BODIES = ["sample"] * 6 + ["walk", "walk", "gather", "gather", "find_nodes", "ids", "cancel",
          "release", "region_mapped", "hello"]  # fmt: skip
_EXTREMES = (0, 1, 2, 3, 63, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_NUMBERS = (0.0, 0.5, 1.0, 2.0, -1.0, 1e-300, 1e300, float("nan"), float("inf"))
# Fields whose absurd values only make the daemon wait: a deadline of its own is tested elsewhere.
_SMALL = {"timeout_ms": 2_000, "waited_us": 10**9}


@dataclass(frozen=True)
class Names:
    """What there is to ask for."""

    num_nodes: int
    columns: Sequence[str]

    def ids(self, rng: random.Random) -> bytes:
        count = rng.choice([0, 1, 2, 5, 30, 200])
        ids = [rng.randrange(self.num_nodes) for _ in range(count)]
        if ids and rng.random() < 0.1:
            ids[rng.randrange(count)] = rng.choice([-1, self.num_nodes, 2**62, -(2**63)])
        data = struct.pack(f"<{count}q", *ids)
        return data if rng.random() < 0.97 else data + b"\x01\x02\x03"

    def text(self, rng: random.Random) -> str:
        if rng.random() < 0.8:
            return rng.choice(list(self.columns))
        return rng.choice(["", "nothing", "../x", "x" * 300, "\x1b[2J", "\u202e", "user/x/y"])


def valid_request(rng: random.Random, names: Names) -> pb.SessionRequest:
    """A request that a trainer could send."""
    ids = struct.pack("<8q", *(rng.randrange(names.num_nodes) for _ in range(8)))
    kind = rng.randrange(3)
    if kind == 0:
        body = pb.Sample(seeds=ids, fanout=[3, 2], seed=rng.getrandbits(64))
        return pb.SessionRequest(sample=body)
    if kind == 1:
        return pb.SessionRequest(walk=pb.Walk(starts=ids, length=4, p=1.0, q=1.0))
    return pb.SessionRequest(gather=pb.Gather(ids=ids, column=rng.choice(list(names.columns))))


def random_request(rng: random.Random, names: Names) -> pb.SessionRequest:
    """Any body, any fields."""
    request = pb.SessionRequest()
    _fill(getattr(request, rng.choice(BODIES)), rng, names, 0.5)
    if rng.random() < 0.2:
        _fill_field(request, pb.SessionRequest.DESCRIPTOR.fields_by_name["timeout_ms"], rng, names)
    if rng.random() < 0.2:
        request.released_block_ids.extend(rng.choices(_EXTREMES, k=3))
    return request


def changed_request(rng: random.Random, names: Names) -> pb.SessionRequest:
    """One that was right, with a field or two that are not."""
    request = valid_request(rng, names)
    body = getattr(request, request.WhichOneof("body"))
    for field in rng.choices(body.DESCRIPTOR.fields, k=rng.choice([1, 1, 2])):
        _fill_field(body, field, rng, names)
    return request


def broken_bytes(rng: random.Random, names: Names) -> bytes:
    """The bytes of a message with some of them changed, cut off or added."""
    data = bytearray(changed_request(rng, names).SerializeToString())
    for _ in range(rng.choice([1, 2, 8])):
        if data:
            data[rng.randrange(len(data))] = rng.getrandbits(8)
    if rng.random() < 0.3:
        del data[rng.randrange(len(data) + 1) :]
    if rng.random() < 0.2:
        data += rng.randbytes(rng.choice([1, 10, 1000]))
    return bytes(data)


def _fill(message: Message, rng: random.Random, names: Names, probability: float) -> None:
    for field in message.DESCRIPTOR.fields:
        if rng.random() < probability:
            _fill_field(message, field, rng, names)
    message.SetInParent()


def _fill_field(message: Message, field: Any, rng: random.Random, names: Names) -> None:
    if field.message_type is not None:
        if field.is_repeated:
            for _ in range(rng.choice([0, 1, 2, 5])):
                _fill(getattr(message, field.name).add(), rng, names, 0.7)
        else:
            _fill(getattr(message, field.name), rng, names, 0.5)
        return
    make = _maker(field, rng, names)
    if field.is_repeated:
        count = rng.choice([0, 1, 2, 3, 50 if rng.random() < 0.05 else 2])
        del getattr(message, field.name)[:]
        getattr(message, field.name).extend(make() for _ in range(count))
    else:
        setattr(message, field.name, make())


def _maker(field: Any, rng: random.Random, names: Names) -> Callable[[], Any]:
    if field.cpp_type in _INTEGERS:
        low, high = _INTEGERS[field.cpp_type]
        high = min(high, _SMALL.get(field.name, high))

        def integer() -> int:
            if rng.random() < 0.6:
                return rng.choice([-1, 0, 1, 2, 3, 5]) if low < 0 else rng.choice([0, 1, 2, 3, 5])
            return max(low, min(high, rng.choice(_EXTREMES)))

        return integer
    if field.enum_type is not None:
        return lambda: rng.choice([0, 1, 2, 3, 4, 17])
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return lambda: rng.random() < 0.3
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        if field.type == FieldDescriptor.TYPE_BYTES:
            return lambda: names.ids(rng)
        return lambda: names.text(rng)
    return lambda: rng.choice(_NUMBERS)
