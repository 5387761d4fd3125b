"""The sampler's bytes on another processor: draw.cpp, compiled for aarch64 and run by QEMU, gives
what the installed package gives here. `make test-aarch64` installs what it takes, where it may."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import numpy.typing as npt
import pytest
from graphzero import _engine

COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),  # it compiles the sampler
    pytest.mark.skipif(
        shutil.which(COMPILER) is None or shutil.which(EMULATOR) is None,
        reason=f"needs {COMPILER} and {EMULATOR} (Debian: g++-aarch64-linux-gnu, qemu-user)",
    ),
]

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "aarch64"
SEEDS, LENGTH, ORDER, TIME = 64, 8, 100_000, 1_650_000_000  # as in draw.cpp
PLAIN: list[dict[str, Any]] = [
    {},
    {"replace": True},
    {"labor": True},
    {"subgraph": _engine.Subgraph.INDUCED},
]
WEIGHTED: list[dict[str, Any]] = [
    {"weighted": True},
    {"weighted": True, "replace": True},
    {"weighted": True, "labor": True},
]
TIMED: list[dict[str, Any]] = [{"timed": True}, {"timed": True, "last": True}]


@pytest.fixture(scope="module")
def program() -> Path:
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    configure = ["cmake", "-S", HERE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_SYSTEM_NAME=Linux"]
    configure += ["-DCMAKE_SYSTEM_PROCESSOR=aarch64", f"-DCMAKE_CXX_COMPILER={COMPILER}"]
    for command in (configure, ["cmake", "--build", BUILD]):
        done = subprocess.run(
            command, env={**os.environ, "PATH": tools}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return BUILD / "draw"


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flat") / "graph.gl"
    rng = np.random.default_rng(5)
    # A few hubs, whose rows are long enough for every way to pick.
    targets = np.concatenate([rng.integers(0, 3_000, 40_000), rng.integers(0, 20, 60_000)])
    sources = rng.integers(0, 3_000, len(targets))
    gz.write_graph(path, sources, targets, weights=rng.random(len(targets), dtype=np.float32))
    return path


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("typed") / "shop"
    gz.generate(directory, schema="shop", scale=0.01)
    return directory / "graph.gl"


def first_nodes(count: int) -> npt.NDArray[np.int64]:
    return np.arange(min(count, SEEDS), dtype=np.int64)


def sample(
    graph: _engine.Topology, seed: int, *, labor: bool = False, timed: bool = False, **rest: Any
) -> bytes:
    seeds = [(number, first_nodes(node_type.count)) for number, node_type in enumerate(graph.types)]
    count = sum(len(ids) for _, ids in seeds)
    drawn = _engine.sample_typed(
        graph,
        seeds,
        [[7, 5]] * len(graph.relations),
        expand_targets=True,
        seed=seed,
        max_edges=_engine.DEFAULT_MAX_EDGES,
        threads=1,
        labor=_engine.LaborRequest(run_seed=seed) if labor else None,
        times=np.full(count, TIME) if timed else None,
        **{"replace": False, "weighted": False, **rest},
    )
    pieces = []
    for number in range(drawn.num_types):
        n_id = np.empty(drawn.num_nodes_of(number), np.int64)
        drawn.copy_nodes(number, n_id=n_id, threads=1)
        pieces.append(n_id.tobytes())
    for number in range(drawn.num_relations):
        count = drawn.num_edges_of(number)
        edge_index = np.empty((2, count), np.int64)
        scales = np.empty(count, np.float32) if drawn.has_scales else None
        drawn.copy_edges(number, edge_index=edge_index, edge_scale=scales, threads=1)
        pieces += [edge_index.tobytes(), b"" if scales is None else scales.tobytes()]
    return b"".join(pieces)


def walk(graph: _engine.Topology, seed: int, typed: bool) -> bytes:
    starts = first_nodes(graph.types[graph.relations[0].source].count)
    nodes = np.empty((len(starts), LENGTH + 1), np.int64)
    to = {"nodes": nodes, "lengths": np.empty(len(starts), np.int64)}
    common: dict[str, Any] = {"seed": seed, "threads": 1, **to}
    if typed:
        back = next(n for n, r in enumerate(graph.relations) if r.is_view and r.base == 0)
        _engine.metapath_walk(graph, starts, [0, back], weighted=False, **common)
    else:
        _engine.random_walk(
            graph, starts, adjacency="out", p=0.5, q=2.0, restart=0.0, weighted=True, **common
        )
    return nodes.tobytes()


def negatives(graph: _engine.Topology, seed: int) -> bytes:
    ends = np.empty((2, SEEDS), np.int64)
    _engine.draw_negatives(
        graph,
        given_sources=np.empty(0, np.int64),
        weights=_engine.NegativeWeights.UNIFORM,
        reject=True,
        seed=seed,
        threads=1,
        sources=ends[0],
        targets=ends[1],
    )
    return ends.tobytes()


def draw_all(path: Path, typed: bool) -> bytes:
    graph = _engine.Topology.open(str(path))
    pieces = []
    for seed in (1, 2, 3):
        pieces += [
            sample(graph, seed, **case) for case in (*PLAIN, *(TIMED if typed else WEIGHTED))
        ]
        pieces += [walk(graph, seed, typed), negatives(graph, seed)]
        order = _engine.permute_range(ORDER, seed=seed, epoch=1, first=0, count=ORDER)
        pieces.append(order.tobytes())
    return b"".join(pieces)


@pytest.mark.parametrize("kind", ["flat", "typed"])
def test_another_processor_draws_the_same_bytes(
    program: Path, request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    path: Path = request.getfixturevalue(kind)
    drawn = tmp_path / "drawn"
    command = [EMULATOR, "-L", "/usr/aarch64-linux-gnu", program, path, drawn]
    subprocess.run(command, check=True)
    expected = draw_all(path, kind == "typed")
    assert len(expected) > 1_000_000
    assert drawn.read_bytes() == expected
