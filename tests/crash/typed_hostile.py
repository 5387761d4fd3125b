"""Attacks on a dataset with types and times. Run as: python typed_hostile.py ADDRESS ATTACK

What hostile.py says of its attacks holds for these. The daemon serves the graph of hostile.py as
"flat" and the synthetic schema "shop" as "shop", whose numbers are below.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from graphzero.proto import graphzero_pb2 as pb
from hostile import Attacker, note, read_and_release, say

SCALE = 0.2
USERS, ITEMS, REVIEWS = 20_000, 4_000, 100_000
USER, ITEM, REVIEW = 0, 1, 2
BY, ABOUT, VISITS, LIKE, REV_BY, REV_ABOUT, REV_VISITS = range(7)
RELATIONS = 7
# A time after all others of the dataset, and one amid them, in seconds.
END, MIDDLE = 2_000_000_000, 1_640_000_000


def _attacker(address: str, name: str = "attacker", **hello: Any) -> Attacker:
    return Attacker(address, name, dataset="shop", **hello)


def _of(*counts: tuple[int, int]) -> list[pb.TypedSeeds]:
    return [pb.TypedSeeds(type=number, count=count) for number, count in counts]


def _fanouts(*edges: int, relations: int = RELATIONS) -> list[pb.Fanout]:
    return [pb.Fanout(edges=edges)] * relations


def _links(relation: int, links: int = 1, **rest: Any) -> pb.Links:
    return pb.Links(num_sources=links, num_links=links, relation=relation, **rest)


def _times(count: int) -> pb.Temporal:
    return pb.Temporal(num_times=count)


# --- words ---


def _nonsense() -> Iterator[dict[str, Any]]:
    """Samples that fit no schema, each wrong in one way."""
    big = 2**63
    one: dict[str, Any] = {"seeds": [1], "fanout": [1]}
    yield one  # of no type
    for types in (_of((99, 1)), _of((2**32 - 1, 1)), _of((USER, 2)), _of((USER, big))):
        yield {**one, "typed_seeds": types}
    yield {**one, "typed_seeds": _of((ITEM, 1), (USER, 0))}  # in the wrong order
    yield {**one, "typed_seeds": _of((USER, 1), (USER, 0))}  # twice
    yield {**one, "typed_seeds": _of(*((n % 3, 0) for n in range(100_000)))}
    yield {**one, "seeds": [ITEMS], "typed_seeds": _of((ITEM, 1))}  # outside its type
    yield {**one, "seeds": [-1], "typed_seeds": _of((ITEM, 1))}
    user: dict[str, Any] = {**one, "typed_seeds": _of((USER, 1))}
    yield {**user, "relation_fanout": _fanouts(1)}  # beside another
    for fanouts in (
        _fanouts(1, relations=1),
        _fanouts(1, relations=100_000),
        [*_fanouts(1, relations=6), pb.Fanout(edges=[1, 1])],
        _fanouts(-7),
        _fanouts(2**62),
    ):
        yield {**user, "fanout": [], "relation_fanout": fanouts, "replace": True}
    yield {**user, "columns": ["user/nothing", "../user/x", "shop/user/x"]}
    for temporal in (
        pb.Temporal(),
        _times(2),
        _times(big),
        pb.Temporal(own=True),  # users have no times
        pb.Temporal(num_times=1, own=True),
        pb.Temporal(columns=["nothing"]),
        pb.Temporal(columns=["review/time"]),  # of another type
        pb.Temporal(columns=["user/y"] * 100_000),
    ):
        yield {**user, "temporal": temporal}
    yield {**user, "seeds": [1, -(2**63)], "temporal": _times(1)}  # NaT
    yield {**user, "seeds": [1, END], "temporal": pb.Temporal(num_times=1, strategy=77)}
    yield {**user, "seeds": [1, END], "temporal": _times(1), "subgraph": 99}
    two: dict[str, Any] = {"seeds": [1, 1], "fanout": [1]}
    for relation in (RELATIONS, 99, 2**32 - 1):
        yield {**two, "links": _links(relation)}
    yield {**two, "seeds": [USERS - 1, ITEMS], "links": _links(VISITS)}  # a user as target
    yield {**two, "seeds": [REVIEWS - 1, 1], "links": _links(VISITS)}  # a review as source
    yield {**two, "typed_seeds": _of((USER, 2)), "links": _links(VISITS)}
    yield {**two, "links": pb.Links(num_sources=big, num_links=big, relation=VISITS)}
    yield {**two, "links": _links(VISITS, exclude=pb.EXCLUDE_LINKS_OWN)}  # without times
    yield {**two, "seeds": [1, 1, 5, 6], "temporal": _times(2), "links": _links(VISITS)}
    yield {
        **two,
        "seeds": [1, 1, 2**40, END],
        "temporal": _times(1),
        "links": _links(VISITS, has_edge_ids=True, num_candidates=big),
    }
    yield {**two, "links": _links(VISITS, candidates_column="review/train", **_targets(1))}


def _targets(count: int, **rest: Any) -> dict[str, Any]:
    return {"negative_kind": pb.NEGATIVE_KIND_TARGETS, "num_negatives": count, **rest}


def _walks() -> Iterator[pb.Walk]:
    """Walks along metapaths that do not fit."""
    starts = np.arange(4).tobytes()
    for path in ([], [99], [BY, BY], [VISITS, ABOUT], [LIKE] * 200_000, [2**32 - 1]):
        yield pb.Walk(starts=starts, length=4, p=1, q=1, metapath=path)
    outside = np.array([USERS]).tobytes()
    yield pb.Walk(starts=outside, length=4, p=1, q=1, metapath=[VISITS, REV_VISITS])


def wrong_schema(address: str) -> None:
    """Types, relations, times and metapaths that do not fit: an error each, and nothing else."""
    session = _attacker(address).session
    numbers = itertools.count(2)
    say("attacking")
    while True:
        for request in _nonsense():
            session.sample(next(numbers), **request)
            _expect_error(session.receive(), request)
        for walk in _walks():
            session.send(request_id=next(numbers), walk=walk)
            _expect_error(session.receive(), walk)
        for number in (3, 2**32 - 1):
            found = pb.FindNodes(ids=bytes(8), type=number)
            session.send(request_id=next(numbers), find_nodes=found)
            _expect_error(session.receive(), found)
        say("all refused")


def _expect_error(answer: pb.SessionResponse, request: Any) -> None:
    if answer.WhichOneof("body") != "error":
        say(f"served nonsense: {str(request)[:300]}")
    note(answer)


# --- memory ---


def fanouts_of_relations(address: str) -> None:
    """A million edges for each node, of every relation."""
    _attacker(address).keep_asking(
        4, range(200), [], typed_seeds=_of((USER, 200)), relation_fanout=_fanouts(10**6),
        replace=True, columns=[],
    )  # fmt: skip


def seeds_of_all_types(address: str) -> None:
    """Millions of seeds of every type, in pieces."""
    each = 1 << 22
    pieces = [(np.arange(1 << 17) % ITEMS).tobytes()] * (3 * each >> 17)
    session = _attacker(address).session
    say("attacking")
    threading.Thread(target=read_and_release, args=(session,), daemon=True).start()
    for number in itertools.count(2):
        types = _of((USER, each), (ITEM, each), (REVIEW, each))
        body = pb.Sample(seeds=pieces[0], more_seeds=True, fanout=[5], typed_seeds=types)
        session.send(request_id=number, sample=body)
        for at, piece in enumerate(pieces[1:], start=2):
            session.send(request_id=number, ids=pb.IdsChunk(ids=piece, last=at == len(pieces)))
            while session._up.qsize() > 8:
                time.sleep(0.001)


def trees_through_time(address: str) -> None:
    """Trees by time that grow over all types."""
    count = 20_000
    seeds = np.concatenate([np.arange(count) % ITEMS, np.full(count, END)])
    _attacker(address).keep_asking(
        4, seeds, [-1] * 6, typed_seeds=_of((ITEM, count)), temporal=_times(count), columns=[]
    )


def negatives_at_a_time(address: str) -> None:
    """More negatives at a time than there is memory for."""
    links = _links(VISITS, negative_kind=pb.NEGATIVE_KIND_PAIRS, num_negatives=2**26 - 1)
    _attacker(address).keep_asking(
        4, [1, 2, MIDDLE], [1], links=links, temporal=_times(1), timeout_ms=1000
    )


# --- time ---


def rejections_at_a_time(address: str) -> None:
    """Negatives for which long rows are read, from a client that asks and leaves."""
    count = 500
    ends = np.concatenate([np.arange(count), np.arange(count) % ITEMS, np.full(count, MIDDLE)])
    links = _links(VISITS, count, **_targets(1_000 * count, reject_edges=True))
    say("attacking")
    while True:
        attacker = _attacker(address)
        for _ in range(8):
            attacker.ask(ends, [1], links=links, temporal=_times(count), timeout_ms=1000)
        time.sleep(0.2)
        attacker.session.close()


def cancelled_by_time(address: str) -> None:
    """Samples by time that are given up as soon as they are asked for, or a little later."""
    count = 2_000
    seeds = np.concatenate([np.arange(count), np.full(count, END)])
    request: dict[str, Any] = {
        "fanout": [20, 10, 10],
        "typed_seeds": _of((ITEM, count)),
        "temporal": _times(count),
        "columns": [],
        "timeout_ms": 2**31,
    }
    attacker = _attacker(address)
    threading.Thread(target=read_and_release, args=(attacker.session,), daemon=True).start()
    say("attacking")
    for round_number in itertools.count():
        asked = [attacker.ask(seeds, seed=round_number, **request) for _ in range(4)]
        time.sleep(0.03 * (round_number % 4))
        for number in asked:
            attacker.session.send(request_id=number, cancel=pb.Cancel())


def endless_metapaths(address: str) -> None:
    """Walks of a hundred thousand steps along a metapath, as many as may be in flight."""
    session = _attacker(address).session
    numbers = itertools.count(2)
    walk = pb.Walk(
        starts=np.arange(64).tobytes(), length=100_000, p=1, q=1, metapath=[VISITS, REV_VISITS]
    )
    for _ in range(32):
        session.send(request_id=next(numbers), timeout_ms=2**31, walk=walk)
    say("attacking")
    while True:
        answer = session.receive()
        note(answer)
        if answer.WhichOneof("body") == "result":
            session.release(answer.result)
        session.send(request_id=next(numbers), timeout_ms=2**31, walk=walk)


ATTACKS = (
    wrong_schema,
    fanouts_of_relations,
    seeds_of_all_types,
    trees_through_time,
    negatives_at_a_time,
    rejections_at_a_time,
    cancelled_by_time,
    endless_metapaths,
)

if __name__ == "__main__":
    {attack.__name__: attack for attack in ATTACKS}[sys.argv[2]](sys.argv[1])
