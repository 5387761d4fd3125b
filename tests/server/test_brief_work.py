"""Which requests the event loop may answer by itself: only those whose cost their sizes bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from graphzero.files.dataset import open_dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute import Recipes, is_brief
from graphzero.server.compute.recipe import SampleRecipe, SeedSizes

SEEDS = 4


def sample(**fields: Any) -> pb.SessionRequest:
    return pb.SessionRequest(sample=pb.Sample(**{"fanout": [3, 2], "columns": ["x"], **fields}))


class CountedRecipes(Recipes):
    read = 0

    def of(self, request: pb.Sample) -> tuple[SampleRecipe, SeedSizes]:
        self.read += 1
        return super().of(request)


def recipe_of(recipes: Recipes, request: pb.Sample) -> SampleRecipe:
    return recipes.of(request)[0]


def brief(dataset: Path, request: pb.SessionRequest) -> bool:
    opened = open_dataset(dataset)
    return is_brief(opened, Recipes(opened), request, SEEDS)


def test_a_small_sample_is_brief(dataset: Path) -> None:
    assert brief(dataset, sample())
    assert brief(dataset, sample(disjoint=True))


@pytest.mark.parametrize(
    "fields",
    [
        {"fanout": [-1]},
        {"fanout": [100, 100]},
        {"weighted": True},
        {"subgraph": pb.SUBGRAPH_INDUCED},
        {"links": pb.Links(num_sources=2, num_links=2)},
    ],
    ids=["all edges", "many edges", "weighted", "induced", "links"],
)
def test_what_may_read_whole_rows_is_not(dataset: Path, fields: dict[str, Any]) -> None:
    assert not brief(dataset, sample(**fields))


@pytest.mark.parametrize("edges", [0, 1, 63])
def test_a_long_request_is_not_even_read(dataset: Path, edges: int) -> None:
    """Reading it would hold up everyone: 80 KB of fanout took the event loop 2.3 s."""
    opened = open_dataset(dataset)
    recipes = CountedRecipes(opened)
    request = pb.SessionRequest(sample=pb.Sample(fanout=[edges] * 100_000))
    assert not is_brief(opened, recipes, request, 1)
    assert recipes.read == 0


def test_the_nodes_of_many_hops_are_not_counted(dataset: Path) -> None:
    recipe = recipe_of(Recipes(open_dataset(dataset)), pb.Sample(fanout=[63] * 100))
    assert recipe.work_per_seed is None


def test_what_was_asked_for_is_read_once(dataset: Path) -> None:
    recipes = Recipes(open_dataset(dataset))
    first = recipe_of(recipes, pb.Sample(fanout=[3, 2], columns=["x"], seed=1))
    assert recipe_of(recipes, pb.Sample(fanout=[3, 2], columns=["x"], seed=2)) is first
    for other in (
        pb.Sample(fanout=[3, 1], columns=["x"]),
        pb.Sample(fanout=[3, 2], columns=["y"]),
        pb.Sample(fanout=[3, 2], columns=["x"], replace=True),
        pb.Sample(fanout=[3, 2], columns=["x"], direction=pb.DIRECTION_OUT),
    ):
        assert recipe_of(recipes, other) is not first


def test_few_are_kept(dataset: Path) -> None:
    recipes = Recipes(open_dataset(dataset))
    for edges in range(200):
        recipe_of(recipes, pb.Sample(fanout=[edges]))
    recipe_of(recipes, pb.Sample(fanout=[2**40] * 1000))
    assert 0 < len(recipes._kept) <= 32
