"""Results as arrays: over the daemon's shared memory, or over bytes that came in messages.

A block of shared memory is owned by the arrays over it, which hold its lease (native/shm/lease.h).
When the last of them dies, the block's id goes to the session's queue of releases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.base.errors import GraphZeroError
from graphzero.base.fail_points import fail_point
from graphzero.client.errors import ClientError, ServerError, SharedMemoryUnavailable
from graphzero.client.memory.pinned import HeldBlock, PinnedMemory
from graphzero.files.dtypes import DataType
from graphzero.proto.graphzero_pb2 import (
    RegionMapped,
    RegionOffer,
    Result,
    SessionRequest,
    TensorRef,
)

_DTYPES = {dtype.label: dtype for dtype in DataType}


@dataclass(frozen=True)
class Tensor:
    """An array of a result. bfloat16, which NumPy does not have, is held as int16."""

    array: npt.NDArray[Any]
    dtype: DataType


@dataclass(frozen=True)
class Reply:
    """A result whose tensors can be read. They keep their block until the last one dies."""

    tensors: dict[str, Tensor]
    result: Result
    block: HeldBlock | None = None
    """The block where they lie, if it is memory that a GPU may read from."""


class ResultReader:
    """What one session knows of the memory that its results lie in. For one thread at a time."""

    def __init__(
        self,
        send: Callable[[SessionRequest], None],
        releases: _engine.ReleaseQueue,
        pinned: PinnedMemory | None,
    ) -> None:
        """`send` takes messages to the daemon, `releases` the ids of blocks without views; `pinned`
        is told of regions and blocks, and is None where no GPU can read them."""
        self._send = send
        self._releases = releases
        self._pinned = pinned
        self._regions: dict[int, _engine.RegionView] = {}
        self._unseen: dict[int, str] = {}  # regions that cannot be opened, and why
        self._chunks: dict[int, bytearray] = {}
        self.saw_memory = False
        """Whether any of the daemon's shared memory could be opened."""

    def add_chunk(self, request_id: int, data: bytes) -> None:
        """Keeps a piece of a result that comes in messages."""
        self._chunks.setdefault(request_id, bytearray()).extend(data)

    def give_up(self, request_id: int) -> None:
        """Drops the pieces of a result that will not be completed."""
        self._chunks.pop(request_id, None)

    def drop_region(self, region_id: int) -> None:
        self._regions.pop(region_id, None)
        self._unseen.pop(region_id, None)
        if self._pinned is not None:
            self._pinned.drop_region(region_id)

    def end(self) -> None:
        """From now on only tensors keep regions mapped. The daemon counts a region while it is."""
        self._regions.clear()
        if self._pinned is not None:
            self._pinned.end()

    def map_region(self, offer: RegionOffer) -> None:
        fail_point("client.offered")
        try:
            region = _engine.RegionView.open(offer.name, offer.byte_size)
        except (OSError, GraphZeroError) as error:
            # Not an error yet: an offer that was read late may be of a region that is gone by now.
            # It becomes an error when a result lies there.
            self._unseen[offer.region_id] = f"{offer.name}: {getattr(error, 'strerror', error)}"
            return
        fail_point("client.mapped")
        self._regions[offer.region_id] = region
        self.saw_memory = True
        self._confirm_region(offer.region_id, "")
        if self._pinned is not None:
            self._pinned.add_region(offer.region_id, region)

    def _region(self, region_id: int) -> _engine.RegionView:
        reason = self._unseen.get(region_id)
        if reason is None:
            return self._regions[region_id]
        self._confirm_region(region_id, reason)
        raise SharedMemoryUnavailable(
            f"cannot open the daemon's shared memory {reason}; trainer and daemon must see the "
            "same /dev/shm (containers: share it, or use one IPC namespace); otherwise connect "
            'with transport="inline"'
        )

    def _confirm_region(self, region_id: int, error: str) -> None:
        mapped = RegionMapped(region_id=region_id, error=error)
        self._send(SessionRequest(region_mapped=mapped))

    def read(self, request_id: int, result: Result) -> Reply | ClientError:
        inline = self._chunks.pop(request_id, bytearray())
        names = [ref.name for ref in result.tensors]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            return ServerError(f"the daemon described a result with two tensors called {twice!r}")
        try:
            if result.HasField("block"):
                return self._reply_in_block(result)
            tensors = {ref.name: _tensor_in_bytes(inline, ref) for ref in result.tensors}
        except (ValueError, TypeError, IndexError, KeyError) as error:
            return ServerError(f"the daemon described a result that cannot be read: {error}")
        return Reply(tensors, result)

    def _reply_in_block(self, result: Result) -> Reply:
        block = result.block
        lease = _engine.BlockLease.make(
            self._region(block.region_id),
            self._releases,
            block_id=block.block_id,
            offset=block.offset,
            size=block.byte_size,
        )
        fail_point("client.received")
        tensors = {
            ref.name: Tensor(
                lease.array(ref.offset, list(ref.shape), ref.dtype), _DTYPES[ref.dtype]
            )
            for ref in result.tensors
        }
        if self._pinned is None:
            return Reply(tensors, result)
        return Reply(tensors, result, self._pinned.hold(block.region_id, block.block_id, lease))


def _tensor_in_bytes(data: bytearray, ref: TensorRef) -> Tensor:
    dtype = _DTYPES[ref.dtype]
    shape = tuple(ref.shape)
    if 0 in shape:
        return Tensor(np.empty(shape, dtype.storage), dtype)
    return Tensor(np.ndarray(shape, dtype.storage, buffer=data, offset=ref.offset), dtype)
