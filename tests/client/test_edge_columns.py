"""Columns per edge: one row for each edge of a batch, by its e_id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest


def test_rows_are_those_of_the_edges(client: gz.Client, column: Callable[[str], Any]) -> None:
    batch = client.sample(range(50), fanout=[4, 3], columns=["x", "when"])
    assert batch.when.shape == (batch.edge_index.shape[1],)
    np.testing.assert_array_equal(batch.when, column("when")[batch.e_id])
    np.testing.assert_array_equal(batch.x, column("x")[batch.n_id])


def test_they_are_gathered_when_asked_for_only(client: gz.Client) -> None:
    assert client.info().dataset.edge_columns == ["when"]
    assert "when" not in client.sample([1, 2], fanout=[3])


def test_a_loader_gives_them(client: gz.Client, column: Callable[[str], Any]) -> None:
    for batch in client.loader("train", fanout=[3], batch_size=200, columns=["when"]):
        np.testing.assert_array_equal(batch.when, column("when")[batch.e_id])


def test_seeds_have_no_edge_columns(client: gz.Client) -> None:
    with pytest.raises(gz.InvalidRequest, match="'when' is by edge, expected one by node"):
        client.sample([1], fanout=[1], columns=[], seed_columns=["when"])


def test_a_graph_without_edge_ids_says_how_to_get_them(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    (tmp_path / "ds").mkdir()
    gz.write_graph(tmp_path / "ds/graph.gl", [0, 1], [1, 0])
    gz.write_features(tmp_path / "ds/when.gd", np.arange(2.0), role="edge")
    with (
        gz.connect(start_daemon(tmp_path / "ds").address) as client,
        pytest.raises(gz.ClientError, match="'when' is by edge id, and the graph stores none"),
    ):
        client.sample([0], fanout=[1], columns=["when"])


def test_the_embedded_store_gathers_by_e_id(graph: gz.Graph, dataset: Path) -> None:
    drawn = graph.sample([3, 4], fanout=[5], edge_ids=True)
    when = gz.FeatureStore(dataset / "when.gd")
    np.testing.assert_array_equal(when.gather(drawn.e_id), when.get_tensor()[drawn.e_id])
