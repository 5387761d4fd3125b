"""Working memory that calls leave behind for the next ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine

LIMIT = 2 << 20
DEFAULT = 512 << 20


@pytest.fixture
def limit() -> Iterator[Callable[[int], None]]:
    """limit(bytes): of what is kept from now on."""
    yield _engine.set_workspace_limit
    _engine.set_workspace_limit(DEFAULT)


def test_what_is_kept_is_bounded(tmp_path: Path, limit: Callable[[int], None]) -> None:
    edges = np.random.default_rng(0).integers(0, 20_000, (2, 200_000))
    gz.write_graph(tmp_path / "graph.gl", *edges, num_nodes=20_000)
    graph = gz.Graph(tmp_path / "graph.gl")

    def take_much() -> None:
        graph.sample(np.arange(20_000), [-1, -1], seed=1)

    limit(LIMIT)
    # Each takes one of those that other tests have left, and gives back more than the limit.
    for _ in range(_engine.workspace_usage().kept):
        take_much()
    take_much()
    assert (_engine.workspace_usage().kept, _engine.workspace_usage().bytes) == (0, 0)
    limit(DEFAULT)
    take_much()
    assert _engine.workspace_usage().kept == 1
    assert _engine.workspace_usage().bytes > LIMIT
    limit(LIMIT)
    take_much()
    assert _engine.workspace_usage().kept == 0
    graph.sample([1], [1], seed=1)
    assert _engine.workspace_usage().kept == 1
    assert 0 < _engine.workspace_usage().bytes <= LIMIT
