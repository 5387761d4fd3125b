"""Synthetic datasets: complete, reproducible to the byte, and worth training on."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import graphzero as gz
import numpy as np
import numpy.typing as npt
import pytest
import torch
from commands import hold_graphzero, run_graphzero
from contents import file_bytes
from graphzero.conversion.generate import SyntheticDataset, generate_dataset
from waiting import DEADLINE_S

FILES = ["graph.gl", "test.gd", "train.gd", "valid.gd", "x.gd", "y.gd"]
NODES, EDGES, DIM, CLASSES = 5_000, 100_000, 64, 8


@dataclass(frozen=True)
class Loaded:
    """A generated dataset in memory; edges are stored in both directions."""

    src: npt.NDArray[np.int64]
    dst: npt.NDArray[np.int64]
    degree: npt.NDArray[np.int64]
    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.int64]
    train: npt.NDArray[np.int64]
    valid: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]

    @classmethod
    def from_directory(cls, path: Path) -> Loaded:
        graph = gz.Graph(path / "graph.gl")
        rows = [np.array(graph.get_neighbours(node)) for node in range(graph.num_nodes)]
        degree = np.array([len(row) for row in rows])
        columns = {p.stem: gz.FeatureStore(p).get_tensor() for p in path.glob("*.gd")}
        return cls(
            src=np.repeat(np.arange(graph.num_nodes), degree),
            dst=np.concatenate(rows).astype(np.int64),
            degree=degree,
            **columns,
        )


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("generated") / "small"
    generate_dataset(path, SyntheticDataset(NODES, EDGES, DIM, CLASSES, seed=1))
    return path


@pytest.fixture(scope="module")
def small(directory: Path) -> Loaded:
    return Loaded.from_directory(directory)


def digests(path: Path) -> dict[str, str]:
    return {
        name: hashlib.sha256(content).hexdigest()[:16] for name, content in file_bytes(path).items()
    }


# --- What is written ---


def test_dataset_has_exactly_the_promised_files(directory: Path) -> None:
    assert sorted(p.name for p in directory.iterdir()) == FILES


def test_columns_have_the_promised_shapes_and_types(directory: Path, small: Loaded) -> None:
    assert small.x.shape == (NODES, DIM)
    assert small.x.dtype == np.float32
    assert small.y.shape == (NODES,)
    assert small.y.dtype == np.int64
    roles = {name: gz.FeatureStore(directory / f"{name}.gd").role for name in ("x", "y", "train")}
    assert roles == {"x": "node", "y": "node", "train": "ids"}


def test_splits_divide_the_nodes_60_20_20_in_ascending_order(small: Loaded) -> None:
    splits = [small.train, small.valid, small.test]
    assert [len(ids) for ids in splits] == [NODES * 6 // 10, NODES * 2 // 10, NODES * 2 // 10]
    assert all((np.diff(ids) > 0).all() for ids in splits)
    assert np.array_equal(np.sort(np.concatenate(splits)), np.arange(NODES))


def test_classes_are_equally_large(small: Loaded) -> None:
    assert np.bincount(small.y).tolist() == [NODES // CLASSES] * CLASSES


def test_graph_holds_both_directions_of_every_edge_and_no_self_loop(
    directory: Path, small: Loaded
) -> None:
    graph = gz.Graph(directory / "graph.gl")
    assert graph.is_symmetric
    assert graph.num_nodes == NODES
    assert graph.num_edges == len(small.src) == 2 * EDGES
    assert (small.src != small.dst).all()
    forward = np.sort(small.src * NODES + small.dst)
    backward = np.sort(small.dst * NODES + small.src)
    assert np.array_equal(forward, backward)


def test_a_dataset_verifies(directory: Path) -> None:
    gz.Graph(directory / "graph.gl", verify=True)
    for path in directory.glob("*.gd"):
        gz.FeatureStore(path, verify=True)


@pytest.mark.parametrize(
    "dataset",
    [
        SyntheticDataset(nodes=2, edges=1, dim=1, classes=1),
        SyntheticDataset(nodes=2, edges=0, dim=1, classes=2),
        SyntheticDataset(nodes=7, edges=100, dim=3, classes=7),
        SyntheticDataset(nodes=1025, edges=3, dim=1000, classes=3),
    ],
)
def test_the_smallest_datasets_are_whole(dataset: SyntheticDataset, tmp_path: Path) -> None:
    generate_dataset(tmp_path / "tiny", dataset)
    tiny = Loaded.from_directory(tmp_path / "tiny")
    assert tiny.x.shape == (dataset.nodes, dataset.dim)
    assert len(tiny.src) == 2 * dataset.edges
    assert (tiny.src != tiny.dst).all()
    sizes = np.bincount(tiny.y, minlength=dataset.classes)
    assert sizes.max() - sizes.min() <= 1
    parts = [tiny.train, tiny.valid, tiny.test]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(dataset.nodes))


# --- What it means ---


def test_degrees_follow_a_power_law_of_exponent_two_and_a_half(small: Loaded) -> None:
    mean = small.degree.mean()
    assert small.degree.max() > 50 * mean
    assert np.median(small.degree) < 0.7 * mean
    # For P(degree > d) ~ d^-1.5, eight times the degree is 22.6 times as rare.
    ratio = (small.degree > mean).mean() / (small.degree > 8 * mean).mean()
    assert 12 < ratio < 40


def test_an_id_says_nothing_about_degree_class_or_split(small: Loaded) -> None:
    ids = np.arange(NODES)
    in_train = np.isin(ids, small.train)
    for values in (np.log1p(small.degree), small.y, in_train):
        assert abs(np.corrcoef(ids, values)[0, 1]) < 4.5 / np.sqrt(NODES)
    assert abs(np.corrcoef(in_train, np.log1p(small.degree))[0, 1]) < 4.5 / np.sqrt(NODES)


def test_an_edge_joins_equal_classes_as_often_as_planted(small: Loaded) -> None:
    planted = 0.4 + 0.6 / CLASSES
    assert abs((small.y[small.src] == small.y[small.dst]).mean() - planted) < 0.01


def test_noise_has_mean_zero_and_variance_one(small: Loaded) -> None:
    centroids = np.stack([small.x[small.y == c].mean(axis=0) for c in range(CLASSES)])
    noise = small.x - centroids[small.y]
    assert abs(noise.mean()) < 0.01
    assert abs(noise.std() - 1) < 0.01
    assert abs(np.corrcoef(noise[:, 0], noise[:, 1])[0, 1]) < 4.5 / np.sqrt(NODES)
    # The length of a centroid is the signal, 1.5, whatever the dimension; its estimate from
    # n nodes is longer by the noise, sqrt(dim / n).
    lengths = np.sqrt((centroids**2).sum(axis=1) - DIM / (NODES / CLASSES))
    assert 1.2 < lengths.mean() < 1.8


def test_neighbours_tell_the_class_far_better_than_own_features(small: Loaded) -> None:
    neighbours = np.zeros_like(small.x)
    np.add.at(neighbours, small.src, small.x[small.dst])
    neighbours /= np.maximum(small.degree, 1)[:, None]

    own = accuracy(small.x, small)
    with_neighbours = accuracy(small.x + 4 * neighbours, small)
    assert 0.35 < own < 0.65
    assert with_neighbours > own + 0.2


def accuracy(features: npt.NDArray[np.float32], data: Loaded) -> float:
    """Of the nearest class mean, learned from the training split."""
    labels = data.y[data.train]
    means = np.stack([features[data.train][labels == c].mean(axis=0) for c in range(CLASSES)])
    scores = features[data.test] @ means.T - (means**2).sum(axis=1) / 2
    return float((scores.argmax(axis=1) == data.y[data.test]).mean())


# --- Reproducible ---


def test_bytes_are_those_of_every_machine_and_release(tmp_path: Path) -> None:
    """A change here makes published results on generated datasets incomparable: think twice."""
    generate_dataset(tmp_path / "pinned", SyntheticDataset(1_000, 5_000, 20, 5, seed=7))
    assert digests(tmp_path / "pinned") == {
        "graph.gl": "0610402d78fafab5",
        "test.gd": "c231a74b6b5e7900",
        "train.gd": "09e26090bebbfcca",
        "valid.gd": "dd9e366976428889",
        "x.gd": "ead57a1c93c356a9",
        "y.gd": "5e44b516e13600c5",
    }


@pytest.mark.parametrize(("threads", "memory"), [(1, 64 << 20), (3, 64 << 20), (8, 1 << 30)])
def test_bytes_do_not_depend_on_threads_or_memory(
    threads: int, memory: int, directory: Path, tmp_path: Path
) -> None:
    dataset = SyntheticDataset(NODES, EDGES, DIM, CLASSES, seed=1)
    generate_dataset(tmp_path / "again", dataset, threads=threads, memory=memory)
    assert digests(tmp_path / "again") == digests(directory)


def test_bytes_do_not_depend_on_whether_edges_fit_into_memory(tmp_path: Path) -> None:
    dataset = SyntheticDataset(nodes=100_000, edges=6_000_000, dim=1)
    generate_dataset(tmp_path / "spilled", dataset, memory=64 << 20)
    generate_dataset(tmp_path / "fitting", dataset, memory=1 << 30)
    assert digests(tmp_path / "spilled") == digests(tmp_path / "fitting")


def test_another_seed_changes_every_file(directory: Path, tmp_path: Path) -> None:
    generate_dataset(tmp_path / "other", SyntheticDataset(NODES, EDGES, DIM, CLASSES, seed=2))
    other = digests(tmp_path / "other")
    assert all(other[name] != digest for name, digest in digests(directory).items())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_features_are_the_rounded_wide_ones(
    dtype: str, small: Loaded, tmp_path: Path
) -> None:
    dataset = SyntheticDataset(NODES, EDGES, DIM, CLASSES, seed=1, dtype=dtype)
    generate_dataset(tmp_path / "narrow", dataset)
    narrow = torch.as_tensor(gz.FeatureStore(tmp_path / "narrow" / "x.gd").get_tensor())
    assert narrow.dtype == getattr(torch, dtype)
    assert torch.equal(narrow, torch.from_numpy(small.x).to(narrow.dtype))


# --- Bounded, and clear when it fails ---


@pytest.mark.slow
def test_memory_stays_far_below_the_size_of_the_dataset(tmp_path: Path) -> None:
    # VmHWM, because ru_maxrss of a new process starts at the size of its parent.
    program = f"""
import re
from pathlib import Path
from graphzero.conversion.generate import SyntheticDataset, generate_dataset
dataset = SyntheticDataset(nodes=500_000, edges=20_000_000, dim=256)
generate_dataset({str(tmp_path / "large")!r}, dataset, memory=64 << 20)
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written = sum(p.stat().st_size for p in (tmp_path / "large").iterdir())
    assert (int(done.stdout) << 10) * 4 < written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nodes", "1"], "nodes is 1, expected 2 to"),
        (["--nodes", "10", "--classes", "11"], "classes is 11, expected 1 to 10"),
        (["--dim", "0"], "dim is 0, expected 1 to"),
        (["--seed", "-1"], "seed is -1, expected 0 to"),
        (["--nodes", "many"], "expected a count such as"),
        (["--memory", "1M"], "expected at least 64 MiB"),
        (["--threads", "0"], "found 0 threads, expected at least 1"),
    ],
)
def test_a_wrong_option_is_one_clear_line_and_leaves_nothing(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = run_graphzero("generate", tmp_path / "none", *arguments)
    assert done.returncode in {1, 2}
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_dataset_is_replaced_only_on_request(tmp_path: Path) -> None:
    options = [tmp_path / "data", "--nodes", "100", "--edges", "1k", "--dim", "4"]
    assert run_graphzero("generate", *options).returncode == 0
    first = digests(tmp_path / "data")
    refused = run_graphzero("generate", *options, "--seed", "1")
    assert refused.returncode == 1
    assert "--overwrite" in refused.stderr
    assert digests(tmp_path / "data") == first
    assert run_graphzero("generate", *options, "--seed", "1", "--overwrite").returncode == 0
    assert digests(tmp_path / "data") != first
    assert [p.name for p in tmp_path.iterdir()] == ["data"]


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    process = hold_graphzero("generate", tmp_path / "data", "--nodes", "100", "--edges", "1k")
    assert list(tmp_path.iterdir()) != []
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 128 + signal.SIGINT
    assert errors.splitlines()[-1] == "graphzero: interrupted"
    assert list(tmp_path.iterdir()) == []
