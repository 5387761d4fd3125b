"""Times in a graph without types, through a daemon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest

NODES, EDGES = 200, 3000


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Its path, and the times of edges (by id) and of nodes."""
    path = tmp_path_factory.mktemp("timed") / "calls"
    path.mkdir()
    rng = np.random.default_rng(3)
    ends, times = rng.integers(0, NODES, (2, EDGES)), rng.integers(-40, 40, EDGES)
    born = rng.integers(-40, 0, NODES)
    gz.write_graph(
        path / "graph.gl", *ends, times=times, node_times=born, time_unit="s", edge_ids=True
    )
    gz.write_features(path / "born.gd", born)
    return path, times, born


@pytest.mark.parametrize(
    "options",
    [
        {"time": np.arange(-20, 20)},
        {"time": "own"},
        {"time": 7, "time_window": 10},
        {"time": 7, "temporal_strategy": "last", "time_strict": True},
    ],
)
def test_samples_are_those_of_the_embedded_engine(
    timed: Any, daemon_of: Callable[[Path], Any], options: dict[str, Any]
) -> None:
    path, times, born = timed
    with gz.connect(daemon_of(path).address) as client:
        batch = client.sample(range(40), [5, 4], seed=2, columns=[], **options)
        expected = gz.Graph(path).sample(range(40), [5, 4], seed=2, **options)
        for name in ("n_id", "edge_index", "e_id", "batch", "seed_time"):
            assert np.array_equal(batch[name], getattr(expected, name)), name
        of_seed = batch.seed_time.numpy()
        assert (times[batch.e_id] <= of_seed[batch.batch[batch.edge_index[1]]]).all()
        assert (born[batch.n_id[40:]] <= of_seed[batch.batch[40:]]).all()
        assert batch.edge_index.shape[1] > 50
        column = client.sample(range(40), [5, 4], seed=2, columns=[], time="born")
        own = client.sample(range(40), [5, 4], seed=2, columns=[], time="own")
        same_sample_of(column, own)
        assert client.info().dataset.has_node_times


def same_sample_of(one: Any, other: Any) -> None:
    for name in ("n_id", "edge_index", "seed_time"):
        assert np.array_equal(one[name], other[name]), name


def test_links_with_times(timed: Any, daemon_of: Callable[[Path], Any]) -> None:
    path, _, _ = timed
    asked: dict[str, Any] = {"time": [5, 6, 7], "negatives": gz.Negatives("pairs"), "seed": 4}
    with gz.connect(daemon_of(path).address) as client:
        batch = client.sample_links([1, 2, 3], [4, 5, 6], [5], **asked, columns=[])
        expected = gz.Graph(path).sample_links([1, 2, 3], [4, 5, 6], [5], **asked)
        for name in ("n_id", "edge_index", "batch", "seed_time", "source_index", "target_index"):
            assert np.array_equal(batch[name], getattr(expected, name)), name


@pytest.mark.parametrize("time", ["own", "born"])
def test_loaders_take_times(timed: Any, daemon_of: Callable[[Path], Any], time: str) -> None:
    path, _, born = timed
    with gz.connect(daemon_of(path).address) as client:
        for batch in client.loader(None, [3], 50, time=time, shuffle=True, columns=[]):
            assert batch.seed_time.tolist() == born[batch.n_id[: batch.batch_size]].tolist()


def test_data_of_a_batch_has_the_times_of_its_seeds(
    timed: Any, daemon_of: Callable[[Path], Any]
) -> None:
    with gz.connect(daemon_of(timed[0]).address) as client:
        data = client.sample([3, 1], [2], time=[5, 6], columns=[]).to_pyg()
        assert data.seed_time.tolist() == [5, 6]
        assert "seed_time" not in client.sample([3, 1], [2], columns=[]).to_pyg()
