"""Which requests the event loop may answer by itself: only those whose cost their sizes bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from graphzero._dataset import open_dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.work import Recipes, is_brief

SEEDS = 4


def sample(**fields: Any) -> pb.SessionRequest:
    return pb.SessionRequest(sample=pb.Sample(**{"fanout": [3, 2], "columns": ["x"], **fields}))


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
