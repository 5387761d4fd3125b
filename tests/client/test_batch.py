"""Batches: tensors in shared memory, and how long they live."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch

SEEDS = list(range(64))
FANOUT = [5, 5]


def draw(client: gz.Client, **options: Any) -> gz.Batch:
    return client.sample(SEEDS, FANOUT, seed=8, **options)


def test_tensors_may_be_changed_in_place(client: gz.Client) -> None:
    batch = draw(client)
    before = batch.x.clone()
    batch.x.mul_(2)
    assert torch.equal(batch.x, before * 2)
    assert torch.equal(draw(client).x, before)


def test_attributes_and_items_are_the_same_tensor(client: gz.Client) -> None:
    batch = draw(client)
    assert batch.x is batch["x"]
    assert "x" in batch
    assert "z" not in batch
    with pytest.raises(AttributeError, match="has no 'z', it has n_id"):
        _ = batch.z
    with pytest.raises(KeyError, match="has no 'z'"):
        batch["z"]


def test_numpy_shares_the_memory(client: gz.Client) -> None:
    batch = draw(client)
    arrays = batch.numpy()
    assert isinstance(arrays.x, np.ndarray)
    assert isinstance(arrays.numpy().x, np.ndarray)
    arrays.x[0] = 5
    assert batch.x[0, 0] == 5


def test_clone_is_independent(client: gz.Client) -> None:
    batch = draw(client)
    copy = batch.clone()
    batch.x.zero_()
    assert copy.x.abs().sum() > 0
    assert isinstance(batch.numpy().clone().x, np.ndarray)


def test_to_moves_every_tensor(client: gz.Client) -> None:
    moved = draw(client).to("meta", non_blocking=True)
    assert all(moved[name].is_meta for name in moved)
    batch = draw(client)
    assert batch.to("cpu").x is batch.x
    assert batch.numpy().to("cpu").x.data_ptr() == batch.x.data_ptr()


def test_a_released_batch_says_so(client: gz.Client) -> None:
    batch = draw(client)
    x = batch.x
    batch.release()
    batch.release()
    for use in (lambda: batch.x, lambda: batch["x"], lambda: batch.keys(), lambda: batch.n_id):
        with pytest.raises(RuntimeError, match="was released"):
            use()
    assert repr(batch) == "Batch(released)"
    assert x.shape[1] == 16  # whoever holds a tensor holds the block


def test_a_batch_is_a_context(client: gz.Client) -> None:
    with draw(client) as batch:
        assert batch.batch_size == 64
    with pytest.raises(RuntimeError, match="was released"):
        _ = batch.x


def test_pickling_copies(client: gz.Client) -> None:
    batch = draw(client)
    copy = pickle.loads(pickle.dumps(batch))
    batch.n_id.zero_()
    assert copy.n_id.tolist()[:64] == SEEDS
    assert copy.num_sampled_nodes == batch.num_sampled_nodes
    assert copy.seed == batch.seed
    assert torch.equal(copy.x, batch.x)
    assert isinstance(pickle.loads(pickle.dumps(batch.numpy())).x, np.ndarray)


def test_repr_shows_the_shapes(client: gz.Client) -> None:
    batch = draw(client)
    shown = repr(batch)
    assert shown.startswith(f"Batch(batch_size=64, n_id=[{len(batch.n_id)}]")
    assert f"x=[{len(batch.n_id)}, 16]" in shown


def test_a_batch_lists_its_tensors_and_counts_its_nodes_and_edges(client: gz.Client) -> None:
    batch = draw(client)
    assert {"x", "y", "n_id", "edge_index", "to_pyg"} <= set(dir(batch))
    assert (batch.num_nodes, batch.num_edges) == (len(batch.n_id), batch.edge_index.shape[1])
    batch.release()
    assert "x" not in dir(batch)


def test_tensors_outlive_batch_client_and_daemon(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    client = gz.connect(daemon.address)
    batch = draw(client)
    row, expected = batch.x[3], batch.x[3].clone()
    del batch
    client.close()
    daemon.kill()
    gc.collect()
    assert torch.equal(row, expected)
    row.add_(1)


def test_no_tensor_is_overwritten_while_it_is_viewed(client: gz.Client) -> None:
    """Blocks of dropped batches are used again at once, those of kept tensors never."""
    kept = []
    for seed in range(100):
        batch = client.sample(SEEDS, FANOUT, seed=seed)
        if seed % 10 == 0:
            kept.append((seed, batch.x[5:9].t(), batch.x[5:9].t().clone()))
    for _, view, expected in kept:
        assert torch.equal(view, expected)


def test_keeping_every_batch_ends_in_an_error_that_says_what_is_held(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--shm-limit", "64M")
    with gz.connect(daemon.address, timeout=1.0) as client:
        kept = []

        def keep_every_batch() -> None:
            while True:
                with suppress(gz.RequestTimeout):  # of which a busy machine may have some
                    kept.append(client.sample(range(2000), [20]))

        with pytest.raises(gz.ResourceExhausted, match=r"holds .* in \d+ blocks"):
            keep_every_batch()
        kept.clear()
        assert client.sample(SEEDS, FANOUT).batch_size == 64


def test_bfloat16_is_torch_s(start_daemon: Callable[..., Any], tmp_path: Path) -> None:
    data = tmp_path / "half"
    data.mkdir()
    values = torch.arange(12).reshape(4, 3).to(torch.bfloat16)
    gz.write_graph(data / "graph.gl", [0, 1, 2], [1, 2, 3], num_nodes=4)
    gz.write_features(data / "x.gd", values)
    with gz.connect(start_daemon(data).address) as client:
        batch = client.sample([3], [1], columns=["x"])
        assert batch.x.dtype == torch.bfloat16
        assert torch.equal(batch.x, values[batch.n_id])
        assert torch.equal(pickle.loads(pickle.dumps(batch)).x, batch.x)
        assert torch.equal(client.column("x"), values)
        assert batch.e_id is None
        assert batch.edge_weight is None
        with pytest.raises(TypeError, match="NumPy has no bfloat16"):
            batch.numpy()


def test_without_torch_tensors_are_numpy_arrays(daemon: Any) -> None:
    program = f"""
import sys
sys.modules["torch"] = None
import importlib.util
import graphzero as gz
import numpy as np
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
with gz.connect({daemon.address!r}) as client:
    batch = client.sample([1, 2], [3])
    assert all(isinstance(batch[name], np.ndarray) for name in batch)
    batch.x[:] = 0
    assert isinstance(client.column("x"), np.ndarray)
    try:
        batch.to("cpu")
    except ImportError as error:
        assert "graphzero-server[torch]" in str(error)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_to_pyg_gives_data_over_the_same_memory(client: gz.Client) -> None:
    data_type = pytest.importorskip("torch_geometric.data", reason="needs the extra [pyg]").Data
    batch = draw(client)
    data = batch.to_pyg()
    assert isinstance(data, data_type)
    assert data.x is batch.x
    assert data.num_nodes == len(batch.n_id)
    assert data.batch_size == batch.batch_size
