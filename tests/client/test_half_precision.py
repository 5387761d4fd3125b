"""float16 and bfloat16 from the import to the trainer, as they are or as float32."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from commands import run_graphzero

NODES = 100


@pytest.fixture(scope="module", params=["float16", "bfloat16"])
def half(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A dataset that was converted with --dtype, and what its values must be."""
    tmp_path = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(NODES, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", values)
    np.save(tmp_path / "y.npy", np.arange(NODES))
    np.save(tmp_path / "e.npy", rng.integers(0, NODES, (2, 900)))
    run_graphzero(
        "convert", "--edges", tmp_path / "e.npy", "--column", f"x={tmp_path}/x.npy",
        "--column", f"y={tmp_path}/y.npy", "--dtype", request.param, "--out", tmp_path / "ds",
        check=True,
    )  # fmt: skip
    return tmp_path / "ds", torch.from_numpy(values).to(getattr(torch, request.param))


@pytest.mark.parametrize("transport", ["shared_memory", "inline"])
def test_columns_are_served_as_they_are(
    half: Any, daemon_of: Callable[[Path], Any], transport: Any
) -> None:
    dataset, expected = half
    with gz.connect(daemon_of(dataset).address, transport=transport) as client:
        batch = client.sample(range(10), fanout=[3])
        assert batch.x.dtype == expected.dtype
        assert batch.y.dtype == torch.int64
        assert torch.equal(batch.x, expected[batch.n_id])
        assert torch.equal(client.gather("x", [7, 3]), expected[[7, 3]])
        assert torch.equal(client.column("x"), expected)


def test_they_become_float32_on_request(half: Any, daemon_of: Callable[[Path], Any]) -> None:
    dataset, expected = half
    with gz.connect(daemon_of(dataset).address, upcast=True) as client:
        batch = client.sample(range(10), fanout=[3])
        assert batch.x.dtype == torch.float32
        assert torch.equal(batch.x, expected[batch.n_id].float())
        assert batch.y.dtype == torch.int64
        assert torch.equal(client.gather("x", [7, 3]), expected[[7, 3]].float())
        for batch in client.loader(None, fanout=[2], batch_size=30):
            assert torch.equal(batch.x, expected[batch.n_id].float())
            assert batch.clone().x.dtype == torch.float32
        # A worker that was spawned gets a client of its own, with the same arguments.
        with pickle.loads(pickle.dumps(client)) as copy:
            assert copy.sample(range(10), fanout=[3]).x.dtype == torch.float32


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else found(name, *rest)
import graphzero as gz
with gz.connect(sys.argv[1], upcast=True) as client:
    x = client.gather("x", list(range(5)))
print(type(x).__module__, x.dtype, x.sum(dtype="float64"))
store = gz.FeatureStore(sys.argv[2] + "/x.gd")
print(store.gather(range(5), upcast=True).sum(dtype="float64"))
"""


def test_float32_needs_no_torch(half: Any, daemon_of: Callable[[Path], Any]) -> None:
    dataset, expected = half
    address = daemon_of(dataset).address
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, address, dataset], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    total = expected[:5].double().sum().item()
    served, embedded = done.stdout.splitlines()
    assert served.split()[:2] == ["numpy", "float32"]
    assert float(served.split()[2]) == pytest.approx(total)
    assert float(embedded) == pytest.approx(total)


def test_the_embedded_store_widens_on_request(half: Any) -> None:
    dataset, expected = half
    store = gz.FeatureStore(dataset / "x.gd")
    widened = store.gather([9, 0], upcast=True)
    assert widened.dtype == np.float32
    np.testing.assert_array_equal(widened, expected[[9, 0]].float())
    assert gz.FeatureStore(dataset / "y.gd").gather([3], upcast=True).dtype == np.int64
    with pytest.raises(ValueError, match="out and upcast exclude each other"):
        store.gather([1], out=np.empty((1, 5), np.float32), upcast=True)


@pytest.mark.parametrize("bits", [0x0000, 0x8000, 0x0001, 0x7F80, 0xFF80, 0x7FC0, 0x3F80, 0x007F])
def test_every_kind_of_bfloat16_widens_exactly(bits: int) -> None:
    from graphzero.files.dtypes import DataType, widen

    stored = np.array([bits], np.uint16).view(np.int16)
    expected = torch.from_numpy(stored).view(torch.bfloat16).float().numpy()
    np.testing.assert_array_equal(
        widen(stored, DataType.BFLOAT16).view(np.uint32), expected.view(np.uint32)
    )
