"""A session spoken message by message, for tests that must not depend on the client."""

from __future__ import annotations

import queue
from typing import Any

import grpc
import numpy as np
from daemon_process import OWN_CONNECTION
from graphzero import _engine
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub

TIMEOUT_S = 60


class RawSession:
    def __init__(self, address: str, **hello: Any) -> None:
        self.channel = grpc.insecure_channel(address, OWN_CONNECTION)
        self.stub = SamplerServiceStub(self.channel)
        self._up: queue.Queue[pb.SessionRequest | None] = queue.Queue()
        timeout = hello.pop("stream_timeout", TIMEOUT_S)
        self._down = self.stub.Session(iter(self._up.get, None), timeout=timeout)
        self._regions: dict[int, Any] = {}
        self.offers: list[pb.RegionOffer] = []
        self.released = _engine.ReleaseQueue()
        hello.setdefault("protocol_version", 1)
        hello.setdefault("transport", pb.TRANSPORT_SHARED_MEMORY)
        self.send(request_id=1, hello=pb.Hello(**hello))
        self.welcome = next(self._down).welcome

    def send(self, **message: Any) -> None:
        self._up.put(pb.SessionRequest(**message))

    def sample(self, request_id: int, seeds: Any, fanout: list[int], **rest: Any) -> None:
        timeout_ms = rest.pop("timeout_ms", 0)
        ids = np.asarray(seeds, np.int64).tobytes()
        body = pb.Sample(seeds=ids, fanout=fanout, **rest)
        self.send(request_id=request_id, timeout_ms=timeout_ms, sample=body)

    def receive(self) -> pb.SessionResponse:
        """The next answer to a request; regions are mapped on the way."""
        while True:
            message = next(self._down)
            kind = message.WhichOneof("body")
            if kind == "region_offer":
                offer = message.region_offer
                self.offers.append(offer)
                self._regions[offer.region_id] = _engine.RegionView.open(
                    offer.name, offer.byte_size
                )
                self.send(region_mapped=pb.RegionMapped(region_id=offer.region_id))
            elif kind == "region_drop":
                del self._regions[message.region_drop.region_id]
            else:
                return message

    def arrays(self, result: pb.Result) -> dict[str, Any]:
        block = result.block
        lease = _engine.BlockLease.make(
            self._regions[block.region_id],
            self.released,
            block_id=block.block_id,
            offset=block.offset,
            size=block.byte_size,
        )
        return {t.name: lease.array(t.offset, list(t.shape), t.dtype) for t in result.tensors}

    def release(self, *results: pb.Result) -> None:
        self.send(release=pb.Release(block_ids=[r.block.block_id for r in results]))

    def status(self) -> grpc.StatusCode:
        """How the stream ends."""
        try:
            for _ in self._down:
                pass
        except grpc.RpcError:
            pass
        return self._down.code()

    def close(self) -> None:
        """Ends the session. Regions stay mapped, as those of a trainer that keeps its tensors."""
        self._up.put(None)
        self.channel.close()

    def unmap(self) -> None:
        self._regions.clear()
