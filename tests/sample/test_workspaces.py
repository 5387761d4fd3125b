"""Working memory that calls leave behind for the next ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine

LIMIT = 2 << 20
DEFAULT = 512 << 20


@pytest.fixture
def small_limit() -> Iterator[None]:
    _engine.set_workspace_limit(LIMIT)
    yield
    _engine.set_workspace_limit(DEFAULT)


@pytest.mark.usefixtures("small_limit")
def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    edges = np.random.default_rng(0).integers(0, 20_000, (2, 200_000))
    gz.write_graph(tmp_path / "graph.gl", *edges, num_nodes=20_000)
    graph = gz.Graph(tmp_path / "graph.gl")
    before = _engine.workspace_usage()
    for _ in range(4):  # takes what other tests have left, and gives back more than the limit
        graph.sample(np.arange(20_000), [-1, -1], seed=1)
    after = _engine.workspace_usage()
    assert after.bytes <= max(LIMIT, before.bytes)
    small = graph.sample([1], [1], seed=1)
    assert len(small.n_id) <= 2
    assert _engine.workspace_usage().bytes <= max(LIMIT, before.bytes)
