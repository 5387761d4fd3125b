"""A small typed and timed dataset, made without the engine: users rate movies and follow users,
movies have tags.

    user   300 nodes, no times           x, y, city (categories), original_id (texts), train
    movie  120 nodes, with times         x, year, released (their times), train_mask
    tag    9 nodes, nothing
    rates  user -> movie, with weights, edge ids, times; column rating; a split; view rev_rates
    follows user -> user, edge ids, no times
    has    movie -> tag, neither; view rev_has

Some users and movies have no edge, some edges come twice, and many times are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import reference_writer as rw

RATES, REV_RATES = ("user", "rates", "movie"), ("movie", "rev_rates", "user")
FOLLOWS = ("user", "follows", "user")
HAS, REV_HAS = ("movie", "has", "tag"), ("tag", "rev_has", "movie")
RELATIONS = [RATES, FOLLOWS, HAS, REV_RATES, REV_HAS]
USERS, MOVIES, TAGS = 300, 120, 9
CITIES = ["Oslo", "Paris", "Zürich"]


@dataclass(frozen=True)
class TypedData:
    """What the files hold, as plain arrays."""

    path: Path
    edges: dict[tuple[str, str, str], rw.Edges]
    times: dict[str, list[int]]
    """Of nodes, by type."""
    columns: dict[str, np.ndarray[Any, Any]]
    """By key."""

    def edge_times(self, relation: tuple[str, str, str]) -> list[int] | None:
        times = self.edges[relation].times
        return None if times is None else list(times)


def write_typed_dataset(
    path: Path, *, seed: int = 7, times: bool = True, weights: bool = True
) -> TypedData:
    """Fills a directory that does not exist yet."""
    rng = np.random.default_rng(seed)

    def ends(count: int, sources: int, targets: int) -> tuple[list[int], list[int]]:
        # The last tenth of the nodes has no edge; squares make hubs.
        skewed = (rng.random((2, count)) ** 2 * 0.9 * [[sources], [targets]]).astype(int)
        skewed[:, : count // 20] = skewed[:, count // 20 : 2 * (count // 20)]
        return skewed[0].tolist(), skewed[1].tolist()

    def some_times(count: int) -> list[int]:
        return rng.integers(-50, 50, count).tolist()

    rates = rw.Edges(
        *ends(2000, USERS, MOVIES),
        weights=rng.random(2000, dtype=np.float32).tolist() if weights else None,
        edge_ids=rng.permutation(2000).tolist(),
        times=some_times(2000) if times else None,
    )
    follows = rw.Edges(*ends(900, USERS, USERS), edge_ids=list(range(900)))
    has = rw.Edges(*ends(400, MOVIES, TAGS))
    released = some_times(MOVIES)
    path.mkdir(parents=True)
    rw.typed_topology(
        [
            rw.NodeType("user", USERS),
            rw.NodeType("movie", MOVIES, released if times else None),
            rw.NodeType("tag", TAGS),
        ],
        [
            rw.Relation(0, "rates", 1, rates),
            rw.Relation(0, "follows", 0, follows),
            rw.Relation(1, "has", 2, has),
        ],
        views=[rw.View("rev_rates", 0), rw.View("rev_has", 2)],
        time_unit="s" if times else "",
    ).write(path / "graph.gl")
    columns = {
        "user/x": rng.random((USERS, 8), dtype=np.float32),
        "user/y": rng.integers(0, 5, USERS),
        "user/joined": np.array(some_times(USERS)),
        "movie/x": rng.random((MOVIES, 4), dtype=np.float32),
        "movie/year": rng.integers(1950, 2020, MOVIES).astype(np.int16),
        "movie/released": np.array(released),
        "movie/train_mask": rng.random(MOVIES) < 0.5,
        "user.rates.movie/rating": rng.random(2000, dtype=np.float32),
    }
    for key, array in columns.items():
        write_column(path, key, array, role="edge" if "." in key else "node")
    columns["user/train"] = np.arange(0, USERS, 3)
    columns["user.rates.movie/train"] = np.arange(0, 2000, 2)
    for key in ("user/train", "user.rates.movie/train"):
        write_column(path, key, columns[key], role="ids")
    names = np.array([f"u{number:03}".encode() for number in range(USERS)])
    columns["user/original_id"] = names.view(np.uint8).reshape(USERS, -1)
    write_column(path, "user/original_id", columns["user/original_id"])
    columns["user/city"] = rng.integers(-1, 3, USERS).astype(np.int32)
    write_column(path, "user/city", columns["user/city"], description=b'{"categories":true}')
    texts = np.array([city.encode() for city in CITIES]).view(np.uint8).reshape(3, -1)
    write_column(path, "user/city.categories", texts, role="categories")
    return TypedData(
        path,
        {RATES: rates, FOLLOWS: follows, HAS: has},
        {"movie": released} if times else {},
        columns,
    )


def write_column(path: Path, key: str, array: np.ndarray[Any, Any], **options: Any) -> None:
    file = path / f"{key}.gd"
    file.parent.mkdir(exist_ok=True)
    rw.matrix(array, **options).write(file)
