"""Synthetic datasets with types: complete, reproducible to the byte, and worth training on."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import numpy.typing as npt
import pytest
from commands import run_graphzero
from contents import file_bytes
from graphzero import InputError, _engine
from graphzero.files.paths import find_problems
from sklearn.linear_model import LogisticRegression

Array = npt.NDArray[Any]
SEED = 3


def column(directory: Path, name: str) -> Array:
    return np.asarray(gz.FeatureStore(directory / f"{name}.gd").get_tensor())


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("generated") / "shop"
    gz.generate(path, schema="shop", scale=0.03, seed=SEED)
    return path


def neighbours(shop: Path, relation: int, rows: int) -> Array:
    """The one target of each source of a relation that has one edge of each."""
    graph = _engine.Topology.open(str(shop / "graph.gl"))
    found = [graph.neighbours(node, "out", relation) for node in range(rows)]
    assert {len(row) for row in found} == {1}
    return np.concatenate(found).astype(np.int64)


# --- What is written ---


def test_the_shop_has_its_types_relations_and_times(shop: Path) -> None:
    graph = _engine.Topology.open(str(shop / "graph.gl"))
    assert find_problems(graph) == []
    counts = {own.name: (own.count, own.has_times) for own in graph.types}
    assert counts == {"user": (3_000, False), "item": (600, False), "review": (15_000, True)}
    names = [own.name for own in graph.types]
    found = [
        (names[own.source], own.name, names[own.target], own.num_edges, own.is_view)
        for own in graph.relations
    ]
    assert found == [
        ("review", "by", "user", 15_000, False),
        ("review", "about", "item", 15_000, False),
        ("user", "visits", "item", 60_000, False),
        ("item", "like", "item", 6_000, False),
        ("user", "rev_by", "review", 15_000, True),
        ("item", "rev_about", "review", 15_000, True),
        ("item", "rev_visits", "user", 60_000, True),
    ]
    assert graph.relations[3].symmetric
    assert graph.relations[2].has_edge_times
    assert graph.time_unit == "s"
    first, last = (int(np.datetime64(year, "s").astype(int)) for year in ("2020", "2024"))
    reviews = graph.node_times(2)
    assert first <= reviews.min() <= reviews.max() <= last
    assert (np.diff(reviews) >= 0).all()  # they ascend with the id
    assert reviews[0] < first + 10**5
    assert reviews[-1] > last - 10**5


def test_an_edge_is_not_older_than_its_ends(tmp_path: Path) -> None:
    schema = {
        "types": {"a": {"nodes": 50}, "b": {"nodes": 50, "time": "random"}},
        "relations": [{"source": "a", "name": "r", "target": "b", "edges": 900, "time": True}],
    }
    gz.generate(tmp_path / "ds", schema=schema)
    graph = _engine.Topology.open(str(tmp_path / "ds/graph.gl"))
    nodes = graph.node_times(1)
    for node in range(50):
        assert (graph.times(node, "in", 0) >= nodes[node]).all()


def test_columns_and_splits_are_complete(shop: Path) -> None:
    assert {path.parent.name for path in shop.rglob("*.gd")} == {"user", "item", "review"}
    assert column(shop / "user", "x").shape == (3_000, 32)
    assert column(shop / "item", "x").shape == (600, 64)
    labels = column(shop / "review", "y")
    counts = np.bincount(labels, minlength=8)
    assert counts.min() == counts.max()
    times = column(shop / "review", "time")
    splits = [column(shop / "review", name) for name in ("train", "valid", "test")]
    assert sorted(np.concatenate(splits).tolist()) == list(range(15_000))
    for before, after in pairwise(splits):
        assert times[before].max() < times[after].min()
    assert [round(len(split) / 15_000, 1) for split in splits] == [0.6, 0.2, 0.2]


def test_degrees_are_skewed_as_asked(tmp_path: Path) -> None:
    def largest(skew: int) -> float:
        schema = {
            "types": {"a": {"nodes": 2_000}, "b": {"nodes": 2_000}},
            "relations": [
                {"source": "a", "name": "r", "target": "b", "edges": 40_000, "target_skew": skew}
            ],
        }
        gz.generate(tmp_path / str(skew), schema=schema)
        graph = _engine.Topology.open(str(tmp_path / str(skew) / "graph.gl"))
        return max(graph.degree(node, "in", 0) for node in range(2_000)) / 20

    none, some, most = (largest(skew) for skew in (0, 1, 2))
    assert none < 2.5 < some < most
    assert most > 15


def test_random_splits_and_times(tmp_path: Path) -> None:
    schema = {
        "classes": 3,
        "time": {"from": -5, "to": 5},
        "types": {
            "a": {"nodes": 500, "dim": 2, "label": True},
            "b": {"nodes": 90, "time": "random"},
        },
        "relations": [{"source": "a", "name": "r", "target": "b", "each": 2}],
    }
    gz.generate(tmp_path / "ds", schema=schema)
    graph = _engine.Topology.open(str(tmp_path / "ds/graph.gl"))
    times = graph.node_times(1)
    assert set(times.tolist()) == set(range(-5, 6))
    assert not (np.diff(times) >= 0).all()
    assert graph.time_unit == ""
    assert {graph.degree(node, "out", 0) for node in range(500)} == {2}
    parts = [set(column(tmp_path / "ds/a", name).tolist()) for name in ("train", "valid", "test")]
    assert set().union(*parts) == set(range(500))
    assert sum(map(len, parts)) == 500
    assert all(
        abs(len(part) - 500 * share) < 60
        for part, share in zip(parts, (0.6, 0.2, 0.2), strict=True)
    )


# --- Worth training on ---


def test_neighbours_tell_more_about_labels_than_features_do(shop: Path) -> None:
    x, y = column(shop / "review", "x"), column(shop / "review", "y")
    users, items = (neighbours(shop, relation, len(y)) for relation in (0, 1))
    around = [column(shop / "user", "x")[users], column(shop / "item", "x")[items]]
    train, test = (column(shop / "review", name) for name in ("train", "test"))

    def past(groups: Array) -> Array:
        """The mean of earlier reviews of the same user or item."""
        sums = np.zeros((groups.max() + 1, x.shape[1]))
        counts = np.zeros(groups.max() + 1)
        np.add.at(sums, groups[train], x[train])
        np.add.at(counts, groups[train], 1)
        return (sums / np.maximum(counts, 1)[:, None])[groups]

    def score(features: Array) -> float:
        model = LogisticRegression(max_iter=300).fit(features[train], y[train])
        return float(model.score(features[test], y[test]))

    own, one_hop = score(x), score(np.hstack([x, *around]))
    two_hops = score(np.hstack([x, *around, past(users), past(items)]))
    assert 0.4 < own < 0.62
    assert one_hop > own + 0.1
    assert two_hops > one_hop + 0.02


# --- Reproducible ---


def test_the_same_bytes_whatever_memory_and_threads(shop: Path, tmp_path: Path) -> None:
    gz.generate(
        tmp_path / "again", schema="shop", scale=0.03, seed=SEED, memory=64 << 20, threads=1
    )
    assert file_bytes(tmp_path / "again") == file_bytes(shop)
    gz.generate(tmp_path / "other", schema="shop", scale=0.03, seed=SEED + 1)
    other = file_bytes(tmp_path / "other")
    drawn = [name for name in other if not name.endswith(("train.gd", "valid.gd", "test.gd"))]
    assert all(other[name] != file_bytes(shop)[name] for name in drawn)


def test_the_bytes_are_those_of_every_machine(tmp_path: Path) -> None:
    """A change of any of them changes what everybody generates."""
    gz.generate(tmp_path / "ds", schema="shop", scale=0.001, seed=1)
    found = {
        name: hashlib.sha256(content).hexdigest()[:12]
        for name, content in file_bytes(tmp_path / "ds").items()
    }
    assert found == DIGESTS


DIGESTS = {
    "graph.gl": "34c8b63f8a41",
    "item/x.gd": "e56d62bbc45d",
    "review/test.gd": "4a02ba45fb33",
    "review/time.gd": "90c865dc30cf",
    "review/train.gd": "849286728db4",
    "review/valid.gd": "d8c11f4a8c7e",
    "review/x.gd": "b018fd8ea9fa",
    "review/y.gd": "2d255f8c7b2a",
    "user/x.gd": "e903c0353665",
}


def test_the_command_takes_presets_and_files(tmp_path: Path) -> None:
    done = run_graphzero(
        "generate", "--schema", "shop", "--scale", "0.001", "--seed", "1", tmp_path / "a"
    )
    assert done.returncode == 0, done.stderr
    assert "a: 620 nodes of 3 types, " in done.stdout
    (tmp_path / "s.toml").write_text(
        """
        [types.a]
        nodes = "1k"
        time = "random"
        [[relations]]
        source = "a"
        name = "r"
        target = "a"
        edges = "2k"
        time = true
        reverse = false
        """
    )
    report = gz.generate(tmp_path / "b", schema=tmp_path / "s.toml", dtype="float16")
    assert (report.num_nodes, report.num_edges) == (1_000, 2_000)
    assert set(report.files) == {"graph.gl", "a/time.gd"}


# --- Mistakes ---

TYPES = {"a": {"nodes": 10}, "b": {"nodes": 20}}
RELATION = {"source": "a", "name": "r", "target": "b", "edges": 5}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("mall", "schema 'mall': found no such file, expected a TOML file or one of shop"),
        ({}, "schema: types: found None, expected a table of keys and values"),
        ({"types": {}}, "schema: found no type, expected [types.NAME] for each of them"),
        (
            {"typos": 1},
            "schema: found key 'typos', expected one of classes, time, types, relations",
        ),
        ({"types": {"a": {}}}, "schema: types.a: found no nodes, expected how many there are"),
        ({"types": {"a": {"nodes": "x"}}}, "schema: types.a.nodes: found 'x', expected a count"),
        ({"types": {"a": {"nodes": -1}}}, "schema: types.a.nodes: found -1, expected a count"),
        ({"types": {"a": {"nodes": 3}}}, "schema: types.a: found 3 nodes, expected at least 8"),
        (
            {"types": {"a": {"nodes": 9, "time": "falling"}}},
            "schema: types.a.time: found 'falling', expected one of ascending, random",
        ),
        ({"types": TYPES}, "schema: found no relation, expected one at least"),
        (
            {"types": TYPES, "relations": [{}]},
            "schema: relations[0]: found no source, expected source, name and target",
        ),
        (
            {"types": TYPES, "relations": [{**RELATION, "target": "c"}]},
            "schema: relations[0].target: found 'c', expected one of a, b",
        ),
        (
            {"types": TYPES, "relations": [{**RELATION, "each": 1}]},
            "schema: relations[0]: expected edges = COUNT in all, or each = COUNT of each source",
        ),
        (
            {"types": TYPES, "relations": [{**RELATION, "homophily": 2}]},
            "schema: relations[0].homophily: found 2, expected a number from 0 to 1",
        ),
        (
            {"types": TYPES, "relations": [{**RELATION, "source_skew": 3}]},
            "schema: relations[0].source_skew: found 3, expected 0 (none), 1 or 2 (a power law)",
        ),
        (
            {"types": TYPES, "relations": [RELATION, RELATION]},
            "relation 'a r b': found twice, expected different names",
        ),
        (
            {"types": TYPES, "relations": [RELATION], "time": {"from": 5, "to": 3}},
            "schema: time: found 5, 3, expected points in time that ascend",
        ),
        (
            {"types": TYPES, "relations": [RELATION], "time": {"from": "2020-01-01"}},
            "schema: time: found no to, expected from and to",
        ),
        (
            {"types": TYPES, "relations": [RELATION], "time": {"from": "soon", "to": "later"}},
            "schema: time: found 'soon', expected a date such as 2013-01-31",
        ),
    ],
)
def test_what_is_wrong_with_a_schema_is_named(tmp_path: Path, schema: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        gz.generate(tmp_path / "ds", schema=schema)
    assert message in str(caught.value)
    assert not (tmp_path / "ds").exists()


def test_arguments_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nodes is 5 beside a schema, which says it itself"):
        gz.generate(tmp_path / "ds", schema="shop", nodes=5)
    with pytest.raises(ValueError, match=r"scale is 0\.5, which is for a schema"):
        gz.generate(tmp_path / "ds", nodes=5, scale=0.5)
    with pytest.raises(ValueError, match="scale is 0, expected a number greater than 0"):
        gz.generate(tmp_path / "ds", schema="shop", scale=0)
    with pytest.raises(ValueError, match="seed is -1, expected 0 to 2"):
        gz.generate(tmp_path / "ds", schema="shop", seed=-1)


def test_a_model_refuses_what_makes_no_sense() -> None:
    node = _engine.TypedNodes(nodes=10, dim=0, times=_engine.NodeTimes.NONE)

    def model(**change: Any) -> _engine.TypedModel:
        given: dict[str, Any] = {
            "seed": 0,
            "classes": 2,
            "first_time": 0,
            "last_time": 1,
            "types": [node],
            "relations": [],
        }
        return _engine.TypedModel(**{**given, **change})

    def edges(**change: Any) -> _engine.TypedEdges:
        given: dict[str, Any] = {
            "source": 0,
            "target": 0,
            "edges": 5,
            "each": False,
            "source_skew": 0,
            "target_skew": 0,
            "homophily": 0.5,
            "timed": False,
        }
        return _engine.TypedEdges(**{**given, **change})

    for change, message in (
        ({"classes": 0}, "classes is 0, expected 1 to"),
        ({"classes": 11}, "type 0: nodes is 10, expected 11 to"),
        ({"types": []}, "found no types, expected one at least"),
        ({"first_time": 2}, "times end before they begin"),
        ({"relations": [edges(source=1)]}, "relation 0: source is 1, expected 0 to 0"),
        (
            {"relations": [edges(source_skew=9)]},
            "relation 0: skew of the source is 9, expected 0 to 2",
        ),
        (
            {"relations": [edges(homophily=float("nan"))]},
            "relation 0: homophily is nan, expected 0",
        ),
        ({"relations": [edges(edges=2**60)]}, "relation 0: edges is 1152921504606846976, expected"),
    ):
        with pytest.raises(ValueError, match=message):
            model(**change)
    with pytest.raises(IndexError, match="nodes 5 and 6 more of 10"):
        model().labels(0, 5, 6, threads=1)
    with pytest.raises(IndexError):
        model().labels(1, 0, 1, threads=1)
    everything = model(first_time=-(2**63) + 1, last_time=2**63 - 1, relations=[edges(timed=True)])
    source, target, times = everything.edges(0, 0, 5, threads=2)
    assert ((source != target).all(), len(times)) == (True, 5)
