"""Sends a daemon messages as no client sends them: python wire.py ADDRESS MESSAGES SEED NAMES

NAMES is a JSON object: for each dataset, its number of nodes and the names of its columns. Sessions
come and go; every few messages an honest request must be answered with the bytes that it always
gets, unless the daemon has ended the session for what was sent before. Prints a JSON object with
the number of messages of each kind and of each kind of answer.
"""

from __future__ import annotations

import json
import queue
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub
from wire_messages import Names, broken_bytes, changed_request, random_request, valid_request

# A busy machine may take its time; requests have deadlines of their own.
SESSION_S = 600.0
MESSAGES_OF_A_SESSION = 120
BETWEEN_HONEST_ONES = 12
HONEST = 1 << 40  # request ids of honest requests, from here on
# Bodies that are a violation where no message before asks for them.
VIOLATIONS = ("hello", "ids", "region_mapped")
OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]


class Session:
    """A stream of raw bytes. The daemon may end it at any message."""

    def __init__(self, channel: grpc.Channel, counts: Counter[str]) -> None:
        self._counts = counts
        self._up: queue.Queue[bytes | None] = queue.Queue()
        call = channel.stream_stream("/graphzero.v1.SamplerService/Session")
        self._down: Iterator[bytes] = call(iter(self._up.get, None), timeout=SESSION_S)

    def send(self, kind: str, data: bytes) -> None:
        self._counts[f"sent {kind}"] += 1
        self._up.put(data)

    def receive(self) -> pb.SessionResponse | None:
        """The next message; None when the daemon has ended the stream. An end without a reason, or
        for a fault of the daemon's own, is an error."""
        try:
            answer = pb.SessionResponse.FromString(next(self._down))
        except grpc.RpcError as error:
            code = error.code().name
            if code in ("UNKNOWN", "INTERNAL", "UNIMPLEMENTED", "DEADLINE_EXCEEDED"):
                raise
            self._counts[f"session ended {code}"] += 1
            return None
        kind = answer.WhichOneof("body")
        if kind == "error":
            assert answer.error.message, "an error without a message"
            assert answer.error.code not in (2, 13), f"an internal error: {answer.error.message}"
            kind = f"error {grpc_name(answer.error.code)}"
        self._counts[f"answer {kind}"] += 1
        return answer

    def close(self) -> None:
        self._up.put(None)
        try:
            for _ in self._down:
                pass
        except grpc.RpcError:
            pass


def grpc_name(code: int) -> str:
    return next((status.name for status in grpc.StatusCode if status.value[0] == code), str(code))


class Attack:
    def __init__(self, address: str, seed: int, names: dict[str, Names]) -> None:
        self._rng = random.Random(seed)
        self._names = names
        self.counts: Counter[str] = Counter()
        self._channel = grpc.insecure_channel(address, OWN_CONNECTION)
        self._expected: dict[str, bytes] = {}

    def run(self, messages: int) -> None:
        while sum(n for kind, n in self.counts.items() if kind.startswith("sent")) < messages:
            dataset = self._rng.choice(list(self._names))
            self._session(dataset, self._names[dataset])
            self._call_without_session()
        self._channel.close()

    def _session(self, dataset: str, names: Names) -> None:
        session = Session(self._channel, self.counts)
        inline = self._rng.random() < 0.5
        hello = pb.Hello(
            protocol_version=1,
            dataset=dataset,
            window=self._rng.choice([0, 1, 4, 2**32 - 1]),
            transport=pb.TRANSPORT_INLINE if inline else pb.TRANSPORT_SHARED_MEMORY,
        )
        session.send("hello", pb.SessionRequest(request_id=1, hello=hello).SerializeToString())
        # Violations of the protocol end a session: most sessions are without, to live long.
        violent = self._rng.random() < 0.25
        try:
            number = 2
            while number < MESSAGES_OF_A_SESSION:
                for _ in range(BETWEEN_HONEST_ONES):
                    self._send_any(session, names, number, violent)
                    number += 1
                if not self._ask_honestly(session, dataset, names, number):
                    return
        finally:
            session.close()

    def _send_any(self, session: Session, names: Names, number: int, violent: bool) -> None:
        rng = self._rng
        choice = rng.random()
        if violent and choice < 0.05:
            session.send("broken bytes", broken_bytes(rng, names))
            return
        kind, make = (
            ("valid", valid_request)
            if choice < 0.2
            else ("random", random_request)
            if choice < 0.5
            else ("changed", changed_request)
        )
        request = make(rng, names)
        if not violent and request.WhichOneof("body") in VIOLATIONS:
            request = changed_request(rng, names)
        # One of its own; or one that was used, which is a violation if it is under way.
        other = violent and rng.random() < 0.02
        request.request_id = rng.choice([0, 2, number - 1]) if other else number
        session.send(kind, request.SerializeToString())

    def _ask_honestly(self, session: Session, dataset: str, names: Names, number: int) -> bool:
        """False if the session has ended. Returns the blocks of answers on the way."""
        ids = np.arange(min(4, names.num_nodes), dtype=np.int64).tobytes()
        body = pb.Gather(ids=ids, column=names.columns[0])
        request = pb.SessionRequest(request_id=HONEST + number, gather=body, timeout_ms=30_000)
        session.send("honest", request.SerializeToString())
        held: list[int] = []
        inline = b""
        while True:
            answer = session.receive()
            if answer is None:
                return False
            kind = answer.WhichOneof("body")
            if kind == "region_offer":
                mapped = pb.RegionMapped(region_id=answer.region_offer.region_id)
                session.send("mapped", pb.SessionRequest(region_mapped=mapped).SerializeToString())
            if kind == "result" and answer.result.HasField("block"):
                held.append(answer.result.block.block_id)
            own = answer.request_id == HONEST + number
            if own and kind == "chunk":
                inline += answer.chunk.data
            if own and kind in ("result", "error"):
                self._compare(dataset, answer, inline)
                release = pb.SessionRequest(release=pb.Release(block_ids=held))
                session.send("release", release.SerializeToString())
                return True

    def _compare(self, dataset: str, answer: pb.SessionResponse, inline: bytes) -> None:
        if answer.WhichOneof("body") == "error":
            # Others of its requests may hold all that the session may have, or have said that it
            # cannot map regions.
            assert answer.error.code in (4, 8, 9), answer.error
            return
        if inline:
            expected = self._expected.setdefault(dataset, inline)
            assert inline == expected, "an honest request got other bytes than before"
            self.counts["honest answers compared"] += 1

    def _call_without_session(self) -> None:
        rng = self._rng
        method = rng.choice(["ListDatasets", "GetStats", "EndSession"])
        call = self._channel.unary_unary(f"/graphzero.v1.SamplerService/{method}")
        self.counts[f"sent {method}"] += 1
        try:
            call(rng.randbytes(rng.choice([0, 1, 8, 100])), timeout=SESSION_S)
        except grpc.RpcError as error:
            # gRPC answers what is no message of this kind with INTERNAL, by itself.
            self.counts[f"{method} {error.code().name}"] += 1
        SamplerServiceStub(self._channel).GetStats(pb.GetStatsRequest(), timeout=SESSION_S)


def main() -> None:
    address, messages, seed, facts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    names: dict[str, Any] = {
        dataset: Names(found["num_nodes"], found["columns"])
        for dataset, found in json.loads(facts).items()
    }
    attack = Attack(address, seed, names)
    attack.run(messages)
    print(json.dumps(dict(sorted(attack.counts.items()))))


if __name__ == "__main__":
    main()
