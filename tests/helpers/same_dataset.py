"""Whether a dataset is another one with its nodes in another order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
from graphzero import _engine
from graphzero.files.column_keys import column_key, split_key
from graphzero.files.dataset import Dataset, open_dataset


def old_numbers(before: Path, after: Path) -> dict[int, Any]:
    """The node of `before` that each node of `after` is, by the number of their type."""
    old, new = open_dataset(before), open_dataset(after)
    found = {}
    for number, kind in enumerate(old.schema.types):
        ids = gz.OriginalIds(new.columns[column_key(kind.directory, "original_id")])
        original = ids.gather(np.arange(kind.count))
        # Both ways: the index of original ids finds each node again.
        assert np.array_equal(ids.find(original), np.arange(kind.count))
        key = column_key(kind.directory, "original_id")
        numbers = (
            gz.OriginalIds(old.columns[key]).find(original) if key in old.columns else original
        )
        assert sorted(numbers) == list(range(kind.count))
        found[number] = numbers
    return found


def edges_of(dataset: Dataset, relation: int, numbers: dict[int, Any] | None = None) -> list[Any]:
    """All edges, sorted: ends, weight, id and time; ends by the numbers given."""
    graph, found = dataset.graph.topology, dataset.schema.relations[relation]
    reader, edges = _engine.EdgeReader(graph, relation), []
    while (batch := reader.next()) is not None:
        src, dst, weights, ids, times = batch
        if numbers is not None:
            src, dst = numbers[found.source][src], numbers[found.target][dst]
        columns = [src, dst]
        columns += [own for own in (weights, times) if own is not None]
        columns += [ids] if found.has_edge_ids else []
        edges += list(zip(*(own.tolist() for own in columns), strict=True))
    return sorted(edges)


def assert_same_in_another_order(before: Path, after: Path) -> None:
    """Edge for edge and row for row."""
    assert not gz.verify(after).problems
    old, new = open_dataset(before), open_dataset(after)
    numbers = old_numbers(before, after)
    for n, (was, now) in enumerate(zip(old.schema.relations, new.schema.relations, strict=True)):
        assert now == was, "what the graph says of a relation stays"
        if not was.is_view:
            assert edges_of(new, n, numbers) == edges_of(old, n)
    for name in ("multi_edges_dropped", "weight_name", "time_unit", "symmetric"):
        assert getattr(new.graph.topology, name) == getattr(old.graph.topology, name)
    for number, kind in enumerate(old.schema.types):
        times = [d.graph.topology.node_times(number) for d in (old, new)]
        assert np.array_equal(times[1], times[0][numbers[number]] if kind.has_times else [])
    kept = {key for key in old.columns if split_key(key)[1] != "original_id"}
    assert kept == {key for key in new.columns if split_key(key)[1] != "original_id"}
    for key in kept:
        _same_column(old, new, key, numbers)


def _same_column(old: Dataset, new: Dataset, key: str, numbers: dict[int, Any]) -> None:
    was, now = old.columns[key], new.columns[key]
    assert (now.dtype, now.role, now.shape) == (was.dtype, was.role, was.shape)
    assert now.description == was.description
    rows = [
        np.concatenate([np.asarray(p) for p in c.pieces()] or [c.new_array(0)]) for c in (was, now)
    ]
    kind, number = "type", 0
    if old.schema.typed:
        kind, number = old.schema.owner_of(split_key(key)[0]) or ("", 0)
    if kind == "type" and was.role == "node":
        assert np.array_equal(
            rows[1], rows[0][numbers[number]], equal_nan=was.dtype.storage.kind == "f"
        )
    elif kind == "type" and was.role == "ids":
        assert np.array_equal(numbers[number][rows[1]], rows[0]), "the same nodes in the same order"
    else:
        assert np.array_equal(rows[1], rows[0])
