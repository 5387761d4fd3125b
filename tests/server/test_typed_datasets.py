"""Datasets with types in the daemon: how they are read, what is kept, counted and refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.files.dataset import open_dataset
from graphzero.files.topology_file import TopologyFile
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute import Recipes, is_brief
from graphzero.server.compute.recipe import SampleRecipe, SeedSizes
from graphzero.server.datasets.hot_rows import hot_nodes
from typed_dataset import FOLLOWS, HAS, RATES, TypedData, write_column, write_typed_dataset


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TypedData:
    return write_typed_dataset(tmp_path_factory.mktemp("typed") / "shop")


def stats_of(daemon: Any) -> dict[str, Any]:
    return {column.column: column for column in daemon_stats(daemon.address).columns}


@pytest.mark.parametrize("path", ["mapped", "cached", "direct"])
def test_batches_are_the_same_on_every_path(
    start_daemon: Callable[..., Any], data: TypedData, path: str
) -> None:
    daemon = start_daemon(data.path, "--feature-io", path, "--row-cache", "0")
    with gz.connect(daemon.address) as client:
        batch = client.sample({"user": range(50)}, [4, 3], columns=["x", "year", "rating"])
        for owner in ("user", "movie"):
            values = data.columns[f"{owner}/x"]
            np.testing.assert_array_equal(batch[owner].x, values[batch[owner].n_id])
        rating = data.columns["user.rates.movie/rating"]
        np.testing.assert_array_equal(batch[RATES].rating, rating[batch[RATES].e_id])
    stats = stats_of(daemon)
    for key in ("user/x", "movie/year", "user.rates.movie/rating"):
        assert (stats[key].path, stats[key].dataset) == (path, "shop")
    assert stats["user/x"].rows == batch["user"].num_nodes
    # The relation and its view read the same column.
    views = batch["movie", "rev_rates", "user"]
    assert stats["user.rates.movie/rating"].rows == batch[RATES].num_edges + views.num_edges
    assert f"shop/user/x is {path} (as asked for)" in daemon.output()


def test_top_shows_columns_by_key(start_daemon: Callable[..., Any], data: TypedData) -> None:
    daemon = start_daemon(data.path, "--topology-io", "staged", "--feature-io", "direct")
    with gz.connect(daemon.address) as client:
        client.sample({"user": range(50)}, [4, 3])
        command = [sys.executable, "-m", "graphzero", "top", "--once", str(daemon.socket)]
        page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "shop/user/x, direct" in page
    assert "shop/movie/year, direct" in page
    assert "shop/graph.gl, staged" in page


def test_everything_is_warm_after_the_start(
    start_daemon: Callable[..., Any], data: TypedData
) -> None:
    # Only files that are read through the page cache.
    daemon = start_daemon(data.path, "--feature-io", "mapped", "--topology-io", "mapped")
    daemon.wait_for_output("warm start read")
    assert f"warm start read {2 + len(data.columns)} files" in daemon.output()


def found_by(data: TypedData, name: str) -> np.ndarray:
    """How many edges lead from each node of a type to nodes that samples start at."""
    counts = np.zeros({"user": 300, "movie": 120, "tag": 9}[name], int)
    for (source, _, target), edges in data.edges.items():
        if source == name:
            counts += np.bincount(edges.src, minlength=len(counts))
        # The views: each edge leads back as well.
        if target == name and (source, target) != ("user", "user"):
            counts += np.bincount(edges.dst, minlength=len(counts))
    return counts


@pytest.mark.parametrize("name", ["user", "movie", "tag"])
@pytest.mark.parametrize("most", [0, 1, 50, 1000])
def test_hot_nodes_are_counted_over_all_relations(data: TypedData, name: str, most: int) -> None:
    graph = TopologyFile(data.path / "graph.gl")
    counts = found_by(data, name)
    nodes = np.concatenate(list(hot_nodes(graph, most, graph.schema.type_number(name))))
    np.testing.assert_array_equal(nodes, np.unique(nodes))
    expected = np.sort(counts[counts > 0])[::-1][:most]
    np.testing.assert_array_equal(np.sort(counts[nodes])[::-1], expected)


def test_rows_of_all_types_are_in_the_row_cache_after_a_warm_start(
    start_daemon: Callable[..., Any], data: TypedData
) -> None:
    daemon = start_daemon(data.path, "--feature-io", "direct", "--row-cache", "8M")
    daemon.wait_for_output("rows into the row cache")
    before = stats_of(daemon)
    with gz.connect(daemon.address) as client:
        batch = client.sample({"user": [299]}, [5], columns=["x"])
        batch = client.sample({"user": range(60)}, [5, 4], columns=["x"])
    after = stats_of(daemon)
    for name in ("user", "movie"):
        key = f"{name}/x"
        found = batch[name].num_nodes - batch[name].batch_size
        assert after[key].cache_hits - before[key].cache_hits >= found > 30


def test_names_that_no_result_could_carry_are_refused(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    edges = rw.Edges([0], [0])
    types = [rw.NodeType("ä" * 120, 1)]
    relations = [rw.Relation(0, f"{number:03}" + "ü" * 120, 0, edges) for number in range(200)]
    (tmp_path / "shop").mkdir()
    rw.typed_topology(types, relations).write(tmp_path / "shop/graph.gl")
    with pytest.raises(RuntimeError, match=r"names of types and relations take .* at most 256"):
        start_daemon(tmp_path / "shop")


def test_many_relations(start_daemon: Callable[..., Any], tmp_path: Path) -> None:
    """As many as a file may have; results name all of them."""
    count = 1024
    types = [rw.NodeType(f"t{number}", 3) for number in range(count)]
    relations = [
        rw.Relation(number, "next", (number + 1) % count, rw.Edges([0, 1], [1, 2]), ["in"])
        for number in range(count)
    ]
    (tmp_path / "chain").mkdir()
    rw.typed_topology(types, relations).write(tmp_path / "chain/graph.gl")
    write_column(tmp_path / "chain", "t5/x", np.arange(3.0))
    daemon = start_daemon(tmp_path / "chain")
    with gz.connect(daemon.address) as client:
        batch = client.sample({"t7": [2]}, [-1, -1, -1])
        assert len(batch.edge_types) == count
        found = {
            name: batch[name].n_id.tolist() for name in batch.node_types if batch[name].num_nodes
        }
        assert found == {"t7": [2], "t6": [1], "t5": [0]}
        assert batch["t5"].x.tolist() == [0.0]
        only = {("t6", "next", "t7"): [1]}
        alone = client.sample({"t7": [2]}, only, default_fanout=[0])
        assert sum(alone[name].num_nodes for name in alone.node_types) == 2


SEEDS = [pb.TypedSeeds(type=0, count=4)]


def sample(**fields: Any) -> pb.SessionRequest:
    asked = {"typed_seeds": SEEDS, "fanout": [2, 1], "columns": ["user/x", "movie/x"], **fields}
    return pb.SessionRequest(sample=pb.Sample(**asked))


def brief(data: TypedData, request: pb.SessionRequest, ids: int = 4) -> bool:
    opened = open_dataset(data.path)
    return is_brief(opened, Recipes(opened), request, ids)


def test_small_samples_are_brief(data: TypedData) -> None:
    assert brief(data, sample())
    assert brief(data, sample(temporal=pb.Temporal(num_times=4)), 8)
    assert brief(data, sample(temporal=pb.Temporal(columns=["user/joined"])))


@pytest.mark.parametrize(
    "fields",
    [
        {"fanout": [-1]},
        {"fanout": [30, 30]},
        {"typed_seeds": [pb.TypedSeeds(type=0, count=200)]},
        {"relation_fanout": [pb.Fanout(edges=[e]) for e in (1, -1, 1, 1, 1)], "fanout": []},
        {"weighted": True},
        {"subgraph": pb.SUBGRAPH_INDUCED},
        {"typed_seeds": [pb.TypedSeeds(type=9, count=4)]},
    ],
)
def test_what_may_cost_more_is_not(data: TypedData, fields: dict[str, Any]) -> None:
    assert not brief(data, sample(**fields))


def recipe_of(recipes: Recipes, request: pb.Sample) -> SampleRecipe:
    return recipes.of(request)[0]


def test_work_is_counted_along_the_relations(data: TypedData) -> None:
    fanout = [pb.Fanout(edges=edges) for edges in ([2, 2], [3, 3], [5, 5], [7, 7], [11, 11])]
    asked = {"relation_fanout": fanout, "columns": ["user/x", "movie/x", "user.rates.movie/rating"]}
    recipes = Recipes(open_dataset(data.path))
    recipe = recipe_of(recipes, pb.Sample(typed_seeds=SEEDS, **asked))
    # In-edges of a user: 3 users by follows, 7 movies by rev_rates; of a movie: 2 users by rates,
    # 11 tags by rev_has.
    users, movies, tags = 1 + 3 + 3 * 3 + 7 * 2, 7 + 3 * 7, 7 * 11
    nodes = users + movies + tags
    assert recipe.work_per_seed is not None
    assert recipe.work_per_seed[0] == (nodes, 32 * users + 16 * movies + 4 * nodes)
    assert recipe.most_work(SeedSizes((5,), 0), 5) == (
        5 * nodes,
        5 * recipe.work_per_seed[0][1],
    )
    out = recipe_of(recipes, pb.Sample(typed_seeds=SEEDS, direction=pb.DIRECTION_OUT, **asked))
    # Out-edges of a user: 2 movies by rates, 3 users by follows; of a movie: 5 tags by has, 7 users
    # by rev_rates.
    users, movies, tags = 1 + 3 + 3 * 3 + 2 * 7, 2 + 3 * 2, 2 * 5
    assert out.work_per_seed is not None
    assert out.work_per_seed[0][0] == users + movies + tags


def test_a_recipe_serves_any_number_of_seeds(data: TypedData) -> None:
    recipes = Recipes(open_dataset(data.path))

    def of(count: int, **fields: Any) -> Any:
        seeds = [pb.TypedSeeds(type=0, count=count)]
        return recipe_of(recipes, pb.Sample(typed_seeds=seeds, fanout=[2], **fields))

    assert of(4) is of(7)
    timed = of(4, temporal=pb.Temporal(num_times=4))
    assert timed is of(7, temporal=pb.Temporal(num_times=7))
    assert timed is not of(4)
    movies = [pb.TypedSeeds(type=1, count=4)]
    assert recipe_of(recipes, pb.Sample(typed_seeds=movies, fanout=[2])) is not of(4)


def test_edges_of_every_relation_count_against_the_limit(
    start_daemon: Callable[..., Any], data: TypedData
) -> None:
    total = sum(len(edges.src) for edges in data.edges.values())
    assert total == 3300
    assert {RATES, FOLLOWS, HAS} == set(data.edges)
    daemon = start_daemon(data.path, "--max-edges", "3000")
    with gz.connect(daemon.address) as client:
        few = client.sample({"movie": range(120)}, [-1], columns=[])
        assert few[RATES].num_edges == 2000
        with pytest.raises(gz.InvalidRequest, match=r"3000.*--max-edges"):
            client.sample({"movie": range(120), "user": range(300), "tag": range(9)}, [-1])


def test_a_result_that_is_too_large_is_refused(
    start_daemon: Callable[..., Any], data: TypedData
) -> None:
    daemon = start_daemon(data.path, "--max-result", "64K")
    with gz.connect(daemon.address) as client:
        with pytest.raises(gz.InvalidRequest, match="expected at most 64"):
            client.sample({"movie": range(120), "user": range(300)}, [8, 8])
        assert client.sample({"user": [1]}, [2])["user"].batch_size == 1
