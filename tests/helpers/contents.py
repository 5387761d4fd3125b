"""What folders, datasets and batches hold, in a form that can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np


def names(directory: Path) -> list[str]:
    """Of everything in it, hidden files too."""
    return sorted(path.name for path in directory.iterdir())


def file_bytes(directory: Path) -> dict[str, bytes]:
    """Every file in it, by its path."""
    files = (file for file in sorted(directory.rglob("*")) if file.is_file())
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


def column(dataset: Path, name: str) -> Any:
    """All rows of a column, whose checksums are verified."""
    return gz.FeatureStore(dataset / f"{name}.gd", verify=True).get_tensor()


def batch_contents(batch: gz.Batch) -> tuple[Any, ...]:
    """Everything that must be equal for batches to be the same."""
    return batch.seed, batch.n_id.tolist(), batch.edge_index.tolist(), batch.x.sum().item()


def same_sample(batch: gz.Batch, expected: Any) -> None:
    """A batch of a daemon has what the embedded engine has drawn."""
    for name in ("n_id", "edge_index", "e_id", "edge_weight"):
        assert np.array_equal(batch[name], getattr(expected, name)), name
    for name in ("batch", "edge_scale"):
        value = getattr(expected, name)
        assert (getattr(batch, name) is None) == (value is None), name
        assert value is None or np.array_equal(getattr(batch, name), value), name
    assert batch.num_sampled_nodes == expected.num_sampled_nodes
    assert batch.num_sampled_edges == expected.num_sampled_edges
    assert batch.batch_size == expected.batch_size


def same_typed_sample(batch: Any, expected: Any) -> None:
    """A batch of a daemon has, type by type, what the embedded engine has drawn."""
    assert batch.metadata() == expected.metadata()
    for owner in (*expected.node_types, *expected.edge_types):
        found, wanted = batch[owner], expected[owner]
        assert found.facts() == wanted.facts(), owner
        for name in ("n_id", "batch", "edge_index", "e_id", "edge_weight", "edge_scale"):
            value = getattr(wanted, name, None)
            if value is None:
                assert getattr(found, name, None) is None, (owner, name)
            else:
                assert np.array_equal(found[name], value), (owner, name)
    for name in ("source_index", "target_index", "seed_time"):
        value = getattr(expected, name)
        assert (getattr(batch, name) is None) == (value is None), name
        assert value is None or np.array_equal(getattr(batch, name), value), name


def typed_contents(batch: Any) -> tuple[Any, ...]:
    """Everything that must be equal for batches of a graph with types to be the same."""
    stores = {owner: batch[owner] for owner in (*batch.node_types, *batch.edge_types)}
    fields = {(owner, n): store[n].tolist() for owner, store in stores.items() for n in store}
    facts = {owner: store.facts() for owner, store in stores.items()}
    ends = [getattr(batch, name) for name in ("source_index", "target_index", "seed_time")]
    return batch.seed, fields, facts, [None if end is None else end.tolist() for end in ends]
