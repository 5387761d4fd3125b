"""PyG's own tests of its loaders, run over graphzero: `make test-pyg PYG=CHECKOUT`.

A pytest plugin, and the list of the tests. The checkout is one of PyG's repository at the version
that is installed; nothing of it is here. Graphs that a test hands to a loader or a sampler become
datasets by `import_pyg`, a daemon serves each, and the classes of the test's module are
graphzero's. Everything else, the assertions above all, is PyG's.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch
import torch_geometric.typing
from daemon_process import DaemonProcess
from graphzero import pyg
from torch_geometric import datasets as pyg_datasets
from torch_geometric import loader as pyg_loader
from torch_geometric.data import Data, HeteroData
from torch_geometric.data.lightning import datamodule
from torch_geometric.sampler import neighbor_sampler
from torch_geometric.testing import decorators

# By file: the tests in which a loader or a sampler gets a graph. Left out are tests of graphs that
# no dataset can hold (TensorFrame), of PyG's native libraries themselves, of HGTLoader, and those
# that need a GPU.
TESTS = {
    "loader/test_neighbor_loader.py": {
        "test_homo_neighbor_loader_basic",
        "test_hetero_neighbor_loader_basic",
        "test_homo_neighbor_loader_on_karate",
        "test_hetero_neighbor_loader_on_karate",
        "test_temporal_hetero_neighbor_loader_on_karate",
        "test_custom_neighbor_loader",
        "test_custom_hetero_neighbor_loader",
        "test_custom_hetero_neighbor_loader_duplicate",
        "test_temporal_custom_neighbor_loader_on_karate",
        "test_memmap_neighbor_loader",
        "test_homo_neighbor_loader_sampled_info",
        "test_hetero_neighbor_loader_sampled_info",
        "test_neighbor_loader_mapping",
        "test_weighted_homo_neighbor_loader",
        "test_weighted_hetero_neighbor_loader",
        "test_edge_level_temporal_homo_neighbor_loader",
        "test_edge_level_temporal_hetero_neighbor_loader",
        "test_neighbor_loader_input_id",
        "test_temporal_neighbor_loader_single_link",
    },
    "loader/test_link_neighbor_loader.py": {
        "test_homo_link_neighbor_loader_basic",
        "test_hetero_link_neighbor_loader_basic",
        "test_hetero_link_neighbor_loader_loop",
        "test_link_neighbor_loader_edge_label",
        "test_temporal_homo_link_neighbor_loader",
        "test_temporal_hetero_link_neighbor_loader",
        "test_custom_hetero_link_neighbor_loader",
        "test_homo_link_neighbor_loader_no_edges",
        "test_hetero_link_neighbor_loader_no_edges",
        "test_homo_link_neighbor_loader_triplet",
        "test_hetero_link_neighbor_loader_triplet",
        "test_link_neighbor_loader_mapping",
    },
    "loader/test_imbalanced_sampler.py": {
        "test_neighbor_loader_with_imbalanced_sampler",
        "test_hetero_neighbor_loader_with_imbalanced_sampler",
    },
    "loader/test_zip_loader.py": {"test_zip_loader"},
    "loader/test_cache.py": {"test_cached_loader", "test_cached_loader_transform"},
    "loader/test_mixin.py": {
        "test_cpu_affinity_neighbor_loader",
        "test_multithreading_neighbor_loader",
    },
    "sampler/test_sampler_neighbor_sampler.py": {
        "test_homogeneous_neighbor_sampler_basic",
        "test_heterogeneous_neighbor_sampler_basic",
        "test_homogeneous_neighbor_sampler_backwards",
        "test_homogeneous_neighbor_sampler_weighted_backwards",
        "test_homogeneous_neighbor_sampler_temporal_backwards",
        "test_heterogeneous_neighbor_sampler_backwards",
        "test_bidirectional_neighbor_sampler",
        "test_neighbor_sampler_backwards_not_supported",
    },
    "data/lightning/test_datamodule.py": {
        "test_eval_loader_kwargs",
        "test_lightning_hetero_link_data_custom_store",
    },
    "nn/models/test_basic_gnn.py": {
        "test_basic_gnn_inference",
        "test_trim_to_layer",
        "test_basic_gnn_cache",
    },
    "nn/conv/test_pna_conv.py": {"test_pna_conv_get_degree_histogram_neighbor_loader"},
    "utils/test_trim_to_layer.py": {"test_trim_to_layer_with_neighbor_loader"},
}
_BACKWARDS = "asserts that sampling backwards by time is not implemented; here it is"
EXPECTED_TO_FAIL = {
    "test_hetero_link_neighbor_loader_no_edges": (
        "hands over a HeteroData without any relation; a dataset with types has at least one"
    ),
    "test_homogeneous_neighbor_sampler_weighted_backwards[remote]": (
        "asserts that weights are not implemented for stores; here they are"
    ),
    "test_neighbor_sampler_backwards_not_supported[False-data]": _BACKWARDS,
    "test_neighbor_sampler_backwards_not_supported[False-remote]": _BACKWARDS,
    "test_neighbor_sampler_backwards_not_supported[True-data]": _BACKWARDS,
    "test_neighbor_sampler_backwards_not_supported[True-remote]": _BACKWARDS,
}
# As if the libraries were there whose work graphzero does.
_LIBRARIES = ("pyg_lib", "torch_sparse")
_FLAGS = (
    "WITH_PYG_LIB", "WITH_TORCH_SPARSE", "WITH_WEIGHTED_NEIGHBOR_SAMPLE",
    "WITH_EDGE_TIME_NEIGHBOR_SAMPLE",
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "dataset: PyG's mark of tests that load a dataset")
    config.addinivalue_line("markers", "rocm: PyG's mark")


def pytest_collection(session: pytest.Session) -> None:
    session.config.stash[_SAVED] = {name: getattr(torch_geometric.typing, name) for name in _FLAGS}
    for name in _FLAGS:
        setattr(torch_geometric.typing, name, True)
        if hasattr(decorators, name):
            setattr(decorators, name, True)
    has_package = decorators.has_package
    decorators.has_package = lambda name: name in _LIBRARIES or has_package(name)


def pytest_collection_finish(session: pytest.Session) -> None:
    for name, value in session.config.stash[_SAVED].items():
        setattr(torch_geometric.typing, name, value)


_SAVED = pytest.StashKey[dict[str, Any]]()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if collection_path.is_dir():
        inside = f"{_below_test(collection_path)}/".lstrip("/")
        return not any(file.startswith(inside) for file in TESTS)
    if collection_path.name == "conftest.py":
        return None
    return _below_test(collection_path) not in TESTS


def _below_test(path: Path) -> str:
    parts = path.parts
    return "/".join(parts[parts.index("test") + 1 :]) if "test" in parts else ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if _is_ours(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in ours])
    items[:] = ours
    for item in items:
        if item.name in EXPECTED_TO_FAIL:
            reason = EXPECTED_TO_FAIL[item.name]
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _is_ours(item: pytest.Item) -> bool:
    return item.originalname in TESTS[_below_test(item.path)]


@pytest.fixture(autouse=True)
def over_graphzero(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Puts graphzero's classes into the test's module, for this test."""
    served = _Served()
    loaders = {
        "NeighborLoader": served.making(pyg.NeighborLoader, pyg_loader.NeighborLoader),
        "LinkNeighborLoader": served.making(pyg.LinkNeighborLoader, pyg_loader.LinkNeighborLoader),
        "NeighborSampler": served.making(pyg.GraphZeroSampler),
    }
    for name, make in loaders.items():
        if hasattr(request.module, name):
            monkeypatch.setattr(request.module, name, make)
    monkeypatch.setattr(pyg_datasets, "Planetoid", _graph_of_cora_s_size)
    # PyG's sampler of both directions is made of two of these, and Lightning's data of one.
    monkeypatch.setattr(neighbor_sampler, "NeighborSampler", loaders["NeighborSampler"])
    monkeypatch.setattr(datamodule, "NeighborSampler", loaders["NeighborSampler"])
    yield
    served.close()


def _graph_of_cora_s_size(*args: Any) -> list[Data]:
    """Instead of what PyG would download."""
    torch.manual_seed(0)
    order = torch.randperm(2708)
    return [
        Data(
            x=torch.rand(2708, 1433),
            y=torch.randint(7, (2708,)),
            edge_index=torch.randint(2708, (2, 10556)),
            train_mask=order < 140,
            val_mask=(order >= 140) & (order < 640),
            test_mask=order >= 1708,
        )
    ]


class _Served:
    """Datasets made of a test's graphs, each with a daemon, until close()."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="gz-pyg-"))
        self._daemons: list[DaemonProcess] = []
        self._clients: list[gz.Client] = []
        self._numbers = itertools.count()

    def making(self, kind: Any, pyg_s: Any = None) -> Any:
        """`pyg_s`: PyG's class, which gets graphzero's stores and sampler for a test's stores."""

        @functools.wraps(kind)
        def make(data: Any, *args: Any, **options: Any) -> Any:
            client = self._client(data, options.get("weight_attr"), options.get("time_attr"))
            if pyg_s is None or not isinstance(data, tuple):
                return kind(client, *args, **options)
            names = inspect.signature(pyg.GraphZeroSampler).parameters
            of_sampler = {name: value for name, value in options.items() if name in names}
            sampler = pyg.GraphZeroSampler(client, *args, **of_sampler)
            stores = pyg.FeatureStore(client), pyg.GraphStore(client)
            return pyg_s(stores, *args, neighbor_sampler=sampler, **options)

        return make

    def close(self) -> None:
        for client in self._clients:
            client.close()
        for daemon in self._daemons:
            daemon.stop()
        shutil.rmtree(self._directory)

    def _client(self, data: Any, weights: str | None, times: str | None) -> gz.Client:
        place = self._directory / str(next(self._numbers))
        if isinstance(data, tuple):
            data = _of_stores(*data)
        chosen = {"weight_attr": weights, "time": times}
        gz.import_pyg(data, place, **{n: value for n, value in chosen.items() if value is not None})
        self._daemons.append(DaemonProcess(place, place.with_suffix(".sock")))
        self._clients.append(gz.connect(self._daemons[-1].address))
        return self._clients[-1]


def _of_stores(features: Any, graph: Any) -> Data | HeteroData:
    """What PyG's FeatureStore and GraphStore hold, as one graph."""
    columns: dict[Any, dict[str, Any]] = {}
    for attr in features.get_all_tensor_attrs():
        attr.index = None  # all rows
        columns.setdefault(attr.group_name, {})[attr.attr_name] = features.get_tensor(attr)
    rows, cols, _ = graph.coo()
    if not isinstance(rows, dict):
        (fields,) = columns.values()
        return Data(edge_index=torch.stack([rows, cols]), num_nodes=len(fields["x"]), **fields)
    data = HeteroData()
    for group, fields in columns.items():
        data[group].update(fields)
    for edge_type in rows:
        data[edge_type].edge_index = torch.stack([rows[edge_type], cols[edge_type]])
    return data
