"""Without an extra the core works, and what needs it says which one to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

HIDE = "import sys\nfor name in {names!r}: sys.modules[name] = None\n"


def run_without(names: list[str], program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HIDE.format(names=names) + program], capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("hidden", "program", "extra"),
    [
        (["torch_geometric"], "import graphzero.pyg", "pyg"),
        (["torch"], "import graphzero.pyg", "pyg"),
        (["torch"], "import graphzero.torch", "torch"),
        (["ray"], "import graphzero.ray", "ray"),
        (
            ["dgl"],
            "from graphzero.client.batches.layers import dgl_blocks\ndgl_blocks([])",
            "dgl",
        ),
    ],
)
def test_a_missing_extra_is_named(hidden: list[str], program: str, extra: str) -> None:
    done = run_without(hidden, program)
    assert done.returncode == 1
    assert f'pip install "graphzero-server[{extra}]"' in done.stderr


def test_the_client_needs_no_extra() -> None:
    done = run_without(
        ["torch", "torch_geometric", "dgl"],
        "import graphzero\n[getattr(graphzero, name) for name in graphzero.__all__]",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["graphzero.pyg", "graphzero.torch"])
def test_public_modules_have_exactly_their_names(module: str) -> None:
    pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")
    names = {
        "graphzero.pyg": {
            "FeatureStore",
            "GraphStore",
            "GraphZeroSampler",
            "LinkNeighborLoader",
            "NeighborLoader",
            "ServedData",
            "ServedHeteroData",
        },
        "graphzero.torch": {"BatchDataset"},
    }[module]
    assert set(__import__(module, fromlist=["x"]).__all__) == names
