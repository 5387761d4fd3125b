"""Messages about types, relations and times that no client would send."""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from daemon_process import DaemonProcess
from graphzero.proto import graphzero_pb2 as pb
from typed_dataset import write_typed_dataset

INVALID, PRECONDITION, NOT_FOUND = 3, 9, 5
USER, MOVIE = 0, 1
HUGE = 2**64 - 1


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    shop = write_typed_dataset(tmp_path_factory.mktemp("typed") / "shop").path
    place = Path(tempfile.mkdtemp(prefix="gz-"))
    started = DaemonProcess(shop, place / "s.sock", "--work-memory", "64M")
    yield started
    assert started.stop() == 0
    shutil.rmtree(place)


@pytest.fixture
def session(daemon: DaemonProcess, raw: Any) -> Any:
    opened = raw(daemon.address)
    yield opened
    opened.close()


def seeds(*counts: tuple[int, int]) -> list[pb.TypedSeeds]:
    return [pb.TypedSeeds(type=number, count=count) for number, count in counts]


def ask(session: Any, ids: Any, fanout: list[int], **fields: Any) -> Any:
    session.sample(7, ids, fanout, **fields)
    return session.receive()


def fanouts(*hops: list[int]) -> list[pb.Fanout]:
    return [pb.Fanout(edges=edges) for edges in hops]


CASES: dict[str, tuple[Any, dict[str, Any], int, str]] = {
    "no types": ([1, 2], {}, INVALID, "2 ids of no type, expected typed_seeds"),
    "unknown type": ([1], {"typed_seeds": seeds((3, 1))}, INVALID, "type 3, expected less than 3"),
    "huge type": ([1], {"typed_seeds": seeds((2**32 - 1, 1))}, INVALID, f"{2**32 - 1}"),
    "types twice": ([1, 2], {"typed_seeds": seeds((0, 1), (0, 1))}, INVALID, "rising numbers"),
    "types in reverse": ([1, 2], {"typed_seeds": seeds((1, 1), (0, 1))}, INVALID, "rising numbers"),
    "too few ids": ([1], {"typed_seeds": seeds((0, 2))}, INVALID, "are 2 .* but 1 ids came"),
    "too many ids": ([1, 2, 3], {"typed_seeds": seeds((0, 2))}, INVALID, "are 2 .* but 3 ids"),
    "counts that overflow": (
        [1],
        {"typed_seeds": seeds((0, HUGE), (1, 2))},
        INVALID,
        f"are {HUGE + 2} ",
    ),
    "a seed beyond its type": (
        [1, 200],
        {"typed_seeds": seeds((0, 1), (1, 1))},
        INVALID,
        "200",
    ),
    "a negative seed": ([-1], {"typed_seeds": seeds((1, 1))}, INVALID, "-1"),
    "fanouts of other relations": (
        [1],
        {"typed_seeds": seeds((0, 1)), "relation_fanout": fanouts([1])},
        INVALID,
        "1 entries of relation_fanout, expected 5",
    ),
    "absurdly many fanouts": (
        [1],
        {"typed_seeds": seeds((0, 1)), "relation_fanout": fanouts(*[[1]] * 5000)},
        INVALID,
        "5000 entries of relation_fanout, expected 5",
    ),
    "fanouts of other lengths": (
        [1],
        {"typed_seeds": seeds((0, 1)), "relation_fanout": fanouts([1], [1], [1], [1, 2], [1])},
        INVALID,
        "1 hops of relation 0 and 2 of relation 3",
    ),
    "fanouts below -1": (
        [1],
        {"typed_seeds": seeds((0, 1)), "relation_fanout": fanouts([1], [1], [-2], [1], [1])},
        INVALID,
        "-2",
    ),
    "two kinds of fanout": (
        [1],
        {"typed_seeds": seeds((0, 1)), "relation_fanout": fanouts(*[[1]] * 5), "fanout": [1]},
        INVALID,
        "fanout and relation_fanout, expected one",
    ),
    "times without seeds": (
        [1],
        {"typed_seeds": seeds((0, 0)), "temporal": pb.Temporal(num_times=1)},
        INVALID,
        "1 times for 0 seeds",
    ),
    "too few times": (
        [1, 2, 3],
        {"typed_seeds": seeds((0, 2)), "temporal": pb.Temporal(num_times=1)},
        INVALID,
        "1 times for 2 seeds, expected one for each",
    ),
    "times that overflow": (
        [1, 5],
        {"typed_seeds": seeds((0, 1)), "temporal": pb.Temporal(num_times=HUGE)},
        INVALID,
        f"{HUGE} times for 1 seeds",
    ),
    "no time": (
        [1, -(2**63)],
        {"typed_seeds": seeds((0, 1)), "temporal": pb.Temporal(num_times=1)},
        INVALID,
        "NaT|no time",
    ),
    "times of two kinds": (
        [5, 1],
        {"typed_seeds": seeds((1, 1)), "temporal": pb.Temporal(num_times=1, own=True)},
        INVALID,
        "1 times for 1 seeds, expected none",
    ),
    "own times of a type that has none": (
        [5],
        {"typed_seeds": seeds((0, 1)), "temporal": pb.Temporal(own=True)},
        PRECONDITION,
        "nodes of type 'user' have no times",
    ),
    "a column of times of another type": (
        [5],
        {"typed_seeds": seeds((0, 1)), "temporal": pb.Temporal(columns=["movie/released"])},
        INVALID,
        "'movie/released' of times, expected one of type 'user'",
    ),
    "a column of times that is none": (
        [5],
        {"typed_seeds": seeds((0, 1)), "temporal": pb.Temporal(columns=["user/x"])},
        INVALID,
        "'user/x' is float32 by node in 2 dimensions, expected an int64",
    ),
    "columns of times for other types": (
        [5],
        {"typed_seeds": seeds((0, 1)), "temporal": pb.Temporal(columns=["user/joined"] * 2)},
        INVALID,
        "2 columns of times for seeds of 1 types",
    ),
    "an unknown column of times": (
        [5],
        {"typed_seeds": seeds((0, 1)), "temporal": pb.Temporal(columns=["user/z"])},
        NOT_FOUND,
        "'user/z'",
    ),
    "a window that is none": (
        [5, 1],
        {"typed_seeds": seeds((0, 1)), "temporal": pb.Temporal(num_times=1, window=2**63)},
        INVALID,
        f"window is {2**63}",
    ),
    "a strategy that is none": (
        [5, 1],
        {"typed_seeds": seeds((0, 1)), "temporal": pb.Temporal(num_times=1, strategy=9)},
        INVALID,
        "strategy is 9",
    ),
    "links of a relation that is none": (
        [1, 2],
        {"links": pb.Links(num_sources=1, num_links=1, relation=5)},
        INVALID,
        "relation of links is 5, expected less than 5",
    ),
    "links and typed seeds": (
        [1, 2],
        {"links": pb.Links(num_sources=1, num_links=1), "typed_seeds": seeds((0, 2))},
        INVALID,
        "typed_seeds and links, expected one",
    ),
    "a column of no type": (
        [1],
        {"typed_seeds": seeds((0, 1)), "columns": ["x"]},
        NOT_FOUND,
        "found column 'x'",
    ),
    "a column that leads out": (
        [1],
        {"typed_seeds": seeds((0, 1)), "columns": ["../../user/x"]},
        NOT_FOUND,
        "found column '../../user/x'",
    ),
    "a split as a column": (
        [1],
        {"typed_seeds": seeds((0, 1)), "columns": ["user/train"]},
        INVALID,
        "'user/train' is by ids",
    ),
    "all edges of everything, again and again": (
        range(300),
        {"typed_seeds": seeds((0, 300)), "fanout": [-1] * 1024},
        0,
        "",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_is_refused_with_the_value_and_the_daemon_goes_on(session: Any, case: Any) -> None:
    ids, fields, code, message = case
    fields = {"fanout": [] if "relation_fanout" in fields else [2], **fields}
    answer = ask(session, ids, **fields)
    if code:
        assert answer.error.code == code, answer
        assert re.search(message, answer.error.message), answer.error.message
    else:
        assert answer.HasField("result"), answer
    good = ask(session, [1, 5], [2], typed_seeds=seeds((USER, 1), (MOVIE, 1)))
    assert [c.batch_size for c in good.result.type_counts] == [1, 1, 0]


# Numbers that are likely to be wrong, or just right.
NUMBERS = [0, 1, 2, 3, 4, 5, 7, 119, 120, 299, 300, 2**31, 2**32 - 1]
COUNTS = [*NUMBERS[:8], 2**63 - 1, 2**63, HUGE]
SOUND = ["user/x", "movie/x", "user.rates.movie/rating", "movie.rev_rates.user/rating"]
STRANGE = ["user/train", "x", "", "tag/x", "a/b/c", "\u2603", "movie/released", "user/joined"]


class RandomRequest:
    """Mostly sound, with a few strange values."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def make(self) -> pb.Sample:
        rng = self._rng
        types = sorted(rng.sample(range(3), rng.randint(1, 3)))
        if self._seldom():
            types = rng.choice([[1, 0], [0, 0], [3], [2**32 - 1], []])
        counts = [rng.choice(COUNTS) if self._seldom() else rng.randint(0, 4) for _ in types]
        request = pb.Sample(
            typed_seeds=seeds(*zip(types, counts, strict=True)),
            columns=self._columns(2),
            seed_columns=["user/y"] if rng.random() < 0.2 else [],
            seed=rng.choice(COUNTS),
            replace=rng.random() < 0.1,
            weighted=rng.random() < 0.1,
            disjoint=rng.random() < 0.2,
            direction=9 if self._seldom() else rng.choice([0, 1, 2]),
            subgraph=9 if self._seldom() else rng.choice([0, 1, 2]),
        )
        self._add_fanout(request)
        ids = sum(counts) if sum(counts) < 100 else 5
        if rng.random() < 0.4:
            ids += self._add_times(request, ids)
        if self._seldom():
            self._add_links(request)
        values = [rng.randint(0, 8) for _ in range(ids)]
        if self._seldom():
            values = [rng.choice([-(2**63), -1, 2**62, *NUMBERS]) for _ in range(ids)]
        request.seeds = np.array(values, np.int64).tobytes()
        return request

    def _seldom(self) -> bool:
        return self._rng.random() < 0.08

    def _columns(self, most: int) -> list[str]:
        known = STRANGE if self._seldom() else SOUND
        return [self._rng.choice(known) for _ in range(self._rng.randint(0, most))]

    def _add_fanout(self, request: pb.Sample) -> None:
        edges = [-2, -1, 0, 1, 2, 5] if self._seldom() else [-1, 0, 1, 2]
        fanout = [self._rng.choice(edges) for _ in range(self._rng.randint(0, 3))]
        if self._rng.random() < 0.5 or self._seldom():
            request.fanout.extend(fanout)
        else:
            entries = self._rng.randint(0, 9) if self._seldom() else 5
            request.relation_fanout.extend(pb.Fanout(edges=fanout) for _ in range(entries))

    def _add_times(self, request: pb.Sample, seeds: int) -> int:
        """How many ids are times."""
        rng = self._rng
        request.temporal.strategy = 7 if self._seldom() else rng.choice([0, 1])
        request.temporal.strict = rng.random() < 0.5
        request.temporal.window = rng.choice(COUNTS)
        request.temporal.own = self._seldom()
        if self._seldom():
            request.temporal.columns.extend(["user/joined", "movie/released"][: rng.randint(1, 2)])
            return 0
        request.temporal.num_times = rng.choice(COUNTS) if self._seldom() else seeds
        return min(request.temporal.num_times, 100)

    def _add_links(self, request: pb.Sample) -> None:
        for field in ("num_sources", "num_links", "num_negatives", "num_candidates", "relation"):
            setattr(request.links, field, self._rng.choice(NUMBERS))
        request.links.negative_kind = self._rng.choice([0, 1, 2, 9])
        request.links.candidates_column = self._rng.choice([*SOUND, *STRANGE])
        request.links.reject_edges = self._rng.random() < 0.5
        request.links.exclude = self._rng.choice([0, 1, 2, 3, 9])
        if self._rng.random() < 0.5:
            del request.typed_seeds[:]


def test_whatever_comes_is_answered(session: Any) -> None:
    """With a result, or with an error that says what is wrong with the request."""
    requests = RandomRequest(random.Random(5))
    answers = {"result": 0, "error": 0}
    for number in range(2, 1500):
        request = requests.make()
        session.send(request_id=number, sample=request)
        answer = session.receive()
        kind = answer.WhichOneof("body")
        answers[kind] += 1
        if kind == "error":
            codes = (INVALID, PRECONDITION, NOT_FOUND)
            assert answer.error.code in codes, f"{request}\n{answer.error}"
        else:
            session.release(answer.result)
    assert min(answers.values()) > 300, answers
