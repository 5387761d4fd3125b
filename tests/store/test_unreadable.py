"""Mapped files that were cut short while they are open: an error for the call, not SIGBUS."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest

NODES = 100_000


@pytest.fixture
def column(tmp_path: Path) -> Path:
    gz.write_features(tmp_path / "x.gd", np.ones((NODES, 16), np.float32))
    return tmp_path / "x.gd"


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, NODES, (2, 10 * NODES))
    weights = rng.random(10 * NODES, np.float32)
    gz.write_graph(
        tmp_path / "g.gl", *ends, weights=weights, num_nodes=NODES, edge_ids=True, undirected=True
    )
    return tmp_path / "g.gl"


def cut(path: Path, share: float) -> int:
    size = int(path.stat().st_size * share) // 4096 * 4096
    os.truncate(path, size)
    return size


@pytest.mark.parametrize("threads", [1, 2])
def test_gather_names_file_and_place(column: Path, threads: int) -> None:
    store = gz.FeatureStore(column, io="mapped")
    whole = column.stat().st_size
    size = cut(column, 0.5)
    expected = f"cut short to {size} bytes, expected {whole}"
    with pytest.raises(OSError, match=rf"cannot read at byte \d+.*{expected}") as caught:
        store.gather(np.arange(NODES), threads=threads)
    assert caught.value.filename == str(column)


def test_zeros_behind_the_end_of_the_last_page_are_no_values(tmp_path: Path) -> None:
    gz.write_features(tmp_path / "x.gd", np.ones((1024, 16), np.float32))
    store = gz.FeatureStore(tmp_path / "x.gd", io="mapped")
    size = (tmp_path / "x.gd").stat().st_size
    os.truncate(tmp_path / "x.gd", 4096 + 1024 * 64 - 100)  # in the last rows
    with pytest.raises(OSError, match=f"cut short to .* expected {size}"):
        store.gather([1020, 1021, 1022, 1023])


def test_more_holes_than_a_process_may_have_mappings(tmp_path: Path) -> None:
    limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    rows = 2 * limit + 10_000
    if rows > 300_000:
        pytest.skip(f"vm.max_map_count is {limit}: the file would be too large")
    gz.write_features(
        tmp_path / "x.gd",
        (np.ones((1000, 4096), np.uint8) for _ in range(rows // 1000)),
        shape=(rows // 1000 * 1000, 4096),
        dtype="uint8",
    )
    store = gz.FeatureStore(tmp_path / "x.gd", io="mapped")
    os.truncate(tmp_path / "x.gd", 1 << 20)
    ids = np.arange(0, rows // 1000 * 1000, 2)
    with pytest.raises(OSError, match="cut short"):
        store.gather(ids)


def test_file_is_sound_again_when_it_is_opened_anew(column: Path) -> None:
    content = column.read_bytes()
    store = gz.FeatureStore(column, io="mapped")
    cut(column, 0.5)
    for _ in range(2):
        with pytest.raises(OSError, match="cut short"):
            store.gather([NODES - 1])
    column.write_bytes(content)
    assert gz.FeatureStore(column).gather([NODES - 1]).sum() == 16


@pytest.mark.parametrize(
    "call",
    [
        lambda graph, nodes: graph.sample(nodes, [10, 10], seed=1),
        lambda graph, nodes: graph.sample(nodes, [10, 10], seed=1, weighted=True),
        lambda graph, nodes: graph.random_walk(nodes, 10),
        lambda graph, nodes: graph.random_walk(nodes, 10, p=0.5, q=2.0),
    ],
    ids=["sample", "weighted", "walk", "node2vec"],
)
@pytest.mark.parametrize("share", [0.01, 0.3])
def test_sampling_names_file_and_place(
    graph_file: Path, call: Callable[[gz.Graph, Any], Any], share: float
) -> None:
    graph = gz.Graph(graph_file)
    nodes = np.arange(0, NODES, 7)
    call(graph, nodes)
    cut(graph_file, share)
    with pytest.raises(OSError, match=r"cannot read at byte \d+.*cut short") as caught:
        call(graph, np.arange(NODES))
    assert caught.value.filename == str(graph_file)


def test_views_of_a_cut_file_are_not_filled_with_zeros(column: Path) -> None:
    """What a user reads by hand must not be silently wrong: the process ends, as ever."""
    program = (
        "import os, sys, graphzero as gz\n"
        "view = gz.FeatureStore(sys.argv[1]).get_tensor()\n"
        "os.truncate(sys.argv[1], 4096)\n"
        "print(view[-1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(column)], capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGBUS
    assert done.stdout == ""


def test_daemon_fails_the_request_and_lives(
    start_daemon: Callable[..., Any], tmp_path: Path, column: Path, graph_file: Path
) -> None:
    for name in ("cut", "whole"):
        (tmp_path / "data" / name).mkdir(parents=True)
        for file, place in ((column, "x.gd"), (graph_file, "graph.gl")):
            (tmp_path / "data" / name / place).write_bytes(file.read_bytes())
    daemon = start_daemon(tmp_path / "data", "--warm", "none")
    seeds = np.arange(0, NODES, 5)
    with (
        gz.connect(daemon.address, dataset="cut") as cut_client,
        gz.connect(daemon.address, dataset="whole") as client,
    ):
        expected = client.sample(seeds, [5], seed=3).clone()
        cut_client.sample(seeds, [5], seed=3)
        cut(tmp_path / "data" / "cut" / "x.gd", 0.5)
        with pytest.raises(gz.ServerError, match=r"cannot read at byte .*cut short.*cut/x\.gd"):
            cut_client.sample(seeds, [5], seed=3)
        topology = cut_client.sample(seeds, [5], seed=3, columns=[])
        assert (topology.n_id == expected.n_id).all()
        cut(tmp_path / "data" / "cut" / "graph.gl", 0.1)
        with pytest.raises(gz.ServerError, match=r"cannot read at byte .*cut/graph\.gl"):
            cut_client.sample(seeds, [5], seed=3, columns=[])
        again = client.sample(seeds, [5], seed=3)
        assert (again.x == expected.x).all()
        assert (again.edge_index == expected.edge_index).all()
    assert daemon.stop() == 0
