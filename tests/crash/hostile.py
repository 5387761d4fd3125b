"""Clients that do what no client should. Run as: python hostile.py ADDRESS ATTACK

Each attack is a function of this module; it goes on until the process is killed. They speak the
protocol without the client library, which would not let them. "attacking" is printed once the
attack is under way, and later what the daemon answers with, one line for each kind of answer.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub
from raw_session import RawSession

NODES = 200_000
_seen: set[Any] = set()


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def note(answer: pb.SessionResponse) -> None:
    """Prints what the daemon answers with, once for each code."""
    kind = answer.WhichOneof("body")
    text = f"{kind} {answer.error.code} {answer.error.message}" if kind == "error" else str(kind)
    key = " ".join(text.split()[:2])
    if key not in _seen:
        _seen.add(key)
        say(text.replace("\n", " ")[:500])


class Attacker:
    """A session that asks without end, with so many requests in flight."""

    def __init__(self, address: str, name: str = "attacker", **hello: Any) -> None:
        self.session = RawSession(address, client_name=name, stream_timeout=None, **hello)
        self._numbers = itertools.count(2)

    def ask(self, seeds: Any, fanout: list[int], **rest: Any) -> int:
        number = next(self._numbers)
        self.session.sample(number, seeds, fanout, **rest)
        return number

    def keep_asking(self, in_flight: int, *args: Any, **rest: Any) -> None:
        for _ in range(in_flight):
            self.ask(*args, **rest)
        say("attacking")
        while True:
            answer = self.session.receive()
            note(answer)
            if answer.WhichOneof("body") == "result":
                self.session.release(answer.result)
            self.ask(*args, **rest)


def _forever() -> None:
    say("attacking")
    threading.Event().wait()


def _ids(count: int) -> Any:
    return np.arange(count) % NODES


# --- memory ---


def wide_fanout(address: str) -> None:
    """200 seeds that draw a million edges each."""
    Attacker(address).keep_asking(4, range(200), [1_000_000], replace=True, columns=[])


def whole_neighbourhoods(address: str) -> None:
    """Trees that grow over the whole graph."""
    Attacker(address).keep_asking(4, _ids(20_000), [-1] * 8, disjoint=True, columns=[])


def many_negatives(address: str) -> None:
    """More negatives than the daemon has memory for, from a few bytes."""
    links = pb.Links(
        num_sources=1,
        num_links=1,
        negative_kind=pb.NEGATIVE_KIND_PAIRS,
        num_negatives=2**26 - 1,
        reject_edges=True,
    )
    Attacker(address).keep_asking(4, [1, 2], [1], links=links, timeout_ms=1000)


def many_seeds(address: str) -> None:
    """2^26 - 1 seeds in pieces."""
    attacker = Attacker(address)
    piece = _ids(1 << 17).astype(np.int64).tobytes()
    say("attacking")
    threading.Thread(target=read_and_release, args=(attacker.session,), daemon=True).start()
    for number in itertools.count(2):
        body = pb.Sample(seeds=piece, more_seeds=True, fanout=[1])
        attacker.session.send(request_id=number, sample=body)
        for at in range(511):
            ids = pb.IdsChunk(ids=piece, last=at == 510)
            attacker.session.send(request_id=number, ids=ids)
            while attacker.session._up.qsize() > 8:
                time.sleep(0.001)


def read_and_release(session: RawSession) -> None:
    while True:
        answer = session.receive()
        note(answer)
        if answer.WhichOneof("body") == "result":
            session.release(answer.result)


def unfinished_ids(address: str) -> None:
    """Requests whose ids never end, in four sessions."""
    piece = _ids(1 << 17).astype(np.int64).tobytes()
    sessions = [Attacker(address, f"attacker-{number}").session for number in range(4)]
    for session in sessions:
        threading.Thread(target=read_and_release, args=(session,), daemon=True).start()
        body = pb.Sample(seeds=piece, more_seeds=True, fanout=[1])
        session.send(request_id=2, timeout_ms=2**31, sample=body)
        for _ in range(400):
            session.send(request_id=2, ids=pb.IdsChunk(ids=piece))
    _forever()


def batches_in_flight(address: str) -> None:
    """60 requests of many megabytes in flight, none of whose results is ever released."""
    attacker = Attacker(address)
    for _ in range(60):
        attacker.ask(_ids(4000), [15, 10], columns=["x"], timeout_ms=2**31)
    threading.Thread(target=_keep, args=(attacker.session,), daemon=True).start()
    _forever()


def _keep(session: RawSession) -> None:
    while True:
        note(session.receive())


def inline_results(address: str) -> None:
    """20 sessions that ask for large results in messages and never read them."""
    attackers = []
    for number in range(20):
        hello = {"transport": pb.TRANSPORT_INLINE}
        attackers.append(Attacker(address, f"attacker-{number}", **hello))
    for attacker in attackers:
        for _ in range(4):
            attacker.ask(_ids(40_000), [5, 5], columns=["x"], timeout_ms=2**31)
    _forever()


def kept_messages(address: str) -> None:
    """40 sessions that each send one message that is large when it is decoded, and no other."""
    hello = {"transport": pb.TRANSPORT_INLINE}  # of others there cannot be so many
    sessions = [Attacker(address, f"attacker-{number}", **hello).session for number in range(40)]
    for session in sessions:
        session.send(request_id=2, find_nodes=pb.FindNodes(texts=[""] * 1_000_000))
        note(session.receive())
    _forever()


def large_hellos(address: str) -> None:
    """Messages that are large when they are decoded, in streams that are refused."""
    channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
    hello = pb.Hello(protocol_version=77)
    first = pb.SessionRequest(hello=hello, released_block_ids=[1] * 2_000_000)
    say("attacking")
    while True:
        code = SamplerServiceStub(channel).Session(iter([first])).code()
        if code not in _seen:
            _seen.add(code)
            say(f"ended {code}")


def long_names(address: str) -> None:
    """Errors that would quote megabytes, to a client that does not read them."""
    attacker = Attacker(address)
    name = "n" * 1_500_000
    for _ in range(400):
        attacker.ask([1], [1], columns=[name])
    _forever()


def long_fanout(address: str) -> None:
    """A million hops, again and again."""
    Attacker(address).keep_asking(30, [1], [1] * 1_000_000)


# --- time ---


def slow_rejections(address: str) -> None:
    """Work that takes long, from a client that asks and leaves."""
    links = pb.Links(
        num_sources=1000,
        num_links=1000,
        negative_kind=pb.NEGATIVE_KIND_TARGETS,
        num_negatives=1_000_000,
        negative_weights=pb.NEGATIVE_WEIGHTS_DEGREE,
        reject_edges=True,
    )
    ids = _ids(2000)
    say("attacking")
    while True:
        attacker = Attacker(address)
        for _ in range(8):
            attacker.ask(ids, [1], links=links, timeout_ms=1000)
        time.sleep(0.2)
        attacker.session.close()


def endless_walks(address: str) -> None:
    """Walks of a hundred thousand steps, as many as may be in flight."""
    attacker = Attacker(address)
    starts = _ids(64).astype(np.int64).tobytes()
    numbers = itertools.count(2)

    def ask() -> None:
        walk = pb.Walk(starts=starts, length=100_000, p=0.1, q=10.0, seed=1)
        attacker.session.send(request_id=next(numbers), timeout_ms=2**31, walk=walk)

    for _ in range(32):
        ask()
    say("attacking")
    while True:
        answer = attacker.session.receive()
        note(answer)
        if answer.WhichOneof("body") == "result":
            attacker.session.release(answer.result)
        ask()


def weighted_hubs(address: str) -> None:
    """Draws by weight with replacement, in every session that is left."""
    attackers = [Attacker(address, f"attacker-{number}") for number in range(8)]
    for attacker in attackers:
        threading.Thread(
            target=attacker.keep_asking,
            args=(8, _ids(2000), [50, 50]),
            kwargs={"replace": True, "columns": []},
            daemon=True,
        ).start()
    _forever()


def new_sessions(address: str) -> None:
    """Large requests, each in a session of its own, which has used no time yet."""
    links = pb.Links(
        num_sources=1,
        num_links=1,
        negative_kind=pb.NEGATIVE_KIND_PAIRS,
        num_negatives=1_500_000,
        reject_edges=True,
    )

    def keep_coming(name: str) -> None:
        while True:
            attacker = Attacker(address, name)
            attacker.ask([1, 2], [1], links=links)
            note(attacker.session.receive())
            attacker.session.close()

    for number in range(8):
        name = f"attacker-{number}"
        threading.Thread(target=keep_coming, args=(name,), daemon=True).start()
    _forever()


def rounds_of_one_link(address: str) -> None:
    """Half a million negatives of one link, in trees of their own: as many rounds."""
    links = pb.Links(
        num_sources=1,
        num_links=1,
        negative_kind=pb.NEGATIVE_KIND_TARGETS,
        num_negatives=500_000,
    )
    Attacker(address).keep_asking(4, [1, 2], [1], links=links, disjoint=True)


def out_of_credit(address: str) -> None:
    """A trainer that holds all it may have, with 60 requests waiting."""
    attacker = Attacker(address, window=4)
    for _ in range(60):
        attacker.ask(_ids(1000), [10, 5], columns=["x"], timeout_ms=2**31)
    threading.Thread(target=_keep, args=(attacker.session,), daemon=True).start()
    _forever()


# --- the event loop ---


def long_releases(address: str) -> None:
    """As many block ids as fit into a message, from sessions that come again when they end."""
    message = pb.SessionRequest(release=pb.Release(block_ids=[1] * 2_000_000))
    say("attacking")
    while True:
        session = Attacker(address).session
        session._up.put(message)
        key = f"ended {session.status().name}"
        session.close()
        if key not in _seen:
            _seen.add(key)
            say(key)


def empty_texts(address: str) -> None:
    """A million texts in each message, which take long to decode."""
    session = Attacker(address).session
    threading.Thread(target=read_and_release, args=(session,), daemon=True).start()
    texts = pb.FindNodes(texts=[""] * 1_000_000)
    say("attacking")
    for number in itertools.count(2):
        session.send(request_id=number, find_nodes=texts)
        while session._up.qsize() > 8:
            time.sleep(0.001)


# --- regions ---


def cut_region(address: str) -> None:
    """Cuts its own regions, before or after saying that they are mapped."""
    say("attacking")
    for confirm in itertools.cycle((False, True)):
        attacker = Attacker(address)
        for _ in range(6):
            attacker.ask(_ids(500), [10, 5], columns=["x"])
        try:
            for _ in range(3):
                _cut_next(attacker.session, confirm=confirm)
        except (grpc.RpcError, StopIteration) as error:
            key = f"ended {getattr(error, 'code', lambda: '')()}"
            if key not in _seen:
                _seen.add(key)
                say(key)
        attacker.session.close()


def _cut_next(session: RawSession, *, confirm: bool) -> None:
    message = next(session._down)
    if message.WhichOneof("body") == "region_offer":
        offer = message.region_offer
        path = Path("/dev/shm") / offer.name.lstrip("/")
        if confirm:
            descriptor = os.open(path, os.O_RDWR)
            session.send(region_mapped=pb.RegionMapped(region_id=offer.region_id))
            os.ftruncate(descriptor, 4096)
            os.close(descriptor)
        else:
            os.truncate(path, 0)
            session.send(region_mapped=pb.RegionMapped(region_id=offer.region_id))
    elif message.WhichOneof("body") in ("result", "error"):
        note(message)
        session.send(release=pb.Release(block_ids=[message.result.block.block_id]))


def leave_and_keep(address: str) -> None:
    """Takes all the shared memory that it gets, leaves, keeps it mapped and comes again."""
    kept = []
    say("attacking")
    while True:
        try:
            attacker = Attacker(address)
        except grpc.RpcError as error:  # none is left
            if "refused" not in _seen:
                _seen.add("refused")
                say(f"refused {error.details()}")
            time.sleep(0.01)
            continue
        answer = pb.SessionResponse()
        while answer.WhichOneof("body") != "error":
            attacker.ask(_ids(1000), [10, 5], columns=["x"], timeout_ms=200)
            answer = attacker.session.receive()
            note(answer)
        kept.append(attacker)
        attacker.session.close()


# --- words ---


def forged_names(address: str) -> None:
    """Names with line breaks and terminal escapes; long errors of regions without end."""
    text = "x\n2026-01-01 INFO forged line\x1b[2J\u202e" + "y" * 50_000
    attackers = [Attacker(address, text) for _ in range(3)]
    text += "y" * 1_000_000
    say("attacking")
    while True:
        for attacker in attackers:
            mapped = pb.RegionMapped(region_id=1, error=text)
            attacker.session.send(region_mapped=mapped)
        time.sleep(0.01)


def noise(address: str) -> None:
    """Bytes that are no messages."""
    say("attacking")
    while True:
        channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
        method = "/graphzero.v1.SamplerService/Session"
        call = channel.stream_stream(method)(_noise())
        try:
            for _ in call:
                pass
        except grpc.RpcError as error:
            key = f"ended {error.code()}"
            if key not in _seen:
                _seen.add(key)
                say(key)
        channel.close()


def _noise() -> Iterator[bytes]:
    yield pb.SessionRequest(request_id=1, hello=pb.Hello(protocol_version=1)).SerializeToString()
    yield b"\xff" * 1000


ATTACKS = (
    wide_fanout,
    whole_neighbourhoods,
    many_negatives,
    many_seeds,
    unfinished_ids,
    batches_in_flight,
    inline_results,
    kept_messages,
    large_hellos,
    long_names,
    long_fanout,
    slow_rejections,
    endless_walks,
    weighted_hubs,
    new_sessions,
    rounds_of_one_link,
    out_of_credit,
    long_releases,
    empty_texts,
    cut_region,
    leave_and_keep,
    forged_names,
    noise,
)

if __name__ == "__main__":
    {attack.__name__: attack for attack in ATTACKS}[sys.argv[2]](sys.argv[1])
