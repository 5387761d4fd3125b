"""The same file, arguments and seed give the same bytes, whoever computes them and how."""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from mutant_samplers import OneStreamPerThread
from reference_sampler import ReferenceSampler
from sampling_graphs import (
    EdgeList,
    open_graph,
    random_edges,
    write_graph,
    write_legacy_graph,
)

SAMPLES = {
    "uniform": {},
    "replacement": {"replace": True},
    "weighted": {"weighted": True},
    "weighted replacement": {"weighted": True, "replace": True},
    "out-edges": {"direction": "out"},
}
WALKS = {
    "uniform": {},
    "restart": {"restart": 0.2},
    "node2vec": {"p": 0.5, "q": 2.0},
    "node2vec, extreme": {"p": 1e-6, "q": 1e3},
    "weighted": {"weighted": True},
    "weighted node2vec": {"weighted": True, "p": 2.0, "q": 0.5},
}


@pytest.fixture(scope="module")
def edges() -> EdgeList:
    return random_edges(20_000, 300_000, seed=2, weighted=True)


@pytest.fixture(scope="module")
def path(tmp_path_factory, edges):
    return write_graph(tmp_path_factory.mktemp("graph") / "g.gl", edges, edge_ids=True)


@pytest.fixture
def eight_threads(limit_threads):
    limit_threads(8)


def digest(*arrays) -> str:
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays if a is not None)).hexdigest()


def sample_digest(graph, *, seed=3, **options) -> str:
    seeds = np.arange(0, 20_000, 7)
    s = graph.sample(seeds, [6, 4, 2], seed=seed, **options)
    return digest(s.n_id, s.edge_index, s.e_id, s.edge_weight)


def walk_digest(graph, *, seed=3, **options) -> str:
    walks = graph.random_walk(np.arange(0, 20_000, 5), 12, seed=seed, **options)
    return digest(walks.nodes, walks.lengths)


def everything_digest(graph) -> str:
    parts = [sample_digest(graph, **options) for options in SAMPLES.values()]
    parts += [walk_digest(graph, **options) for options in WALKS.values()]
    fanout = graph.batch_random_fanout(np.arange(20_000), 7, seed=3)
    return digest(fanout, np.frombuffer("".join(parts).encode(), np.uint8))


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_is_the_same_for_1_2_and_8_threads(path, eight_threads, name):
    graph = gz.Graph(path)
    digests = {sample_digest(graph, threads=t, **SAMPLES[name]) for t in (1, 2, 8, None)}
    assert len(digests) == 1
    assert _engine.thread_usage().peak == 8


@pytest.mark.parametrize("name", WALKS)
def test_walks_are_the_same_for_1_2_and_8_threads(path, eight_threads, name):
    graph = gz.Graph(path)
    digests = {walk_digest(graph, threads=t, **WALKS[name]) for t in (1, 2, 8, None)}
    assert len(digests) == 1


def test_one_stream_per_thread_would_be_noticed():
    edges = random_edges(200, 3_000)
    seeds = list(range(50))
    for sampler, same in ((ReferenceSampler(edges), True), (OneStreamPerThread(edges), False)):
        n_ids = {tuple(sampler.sample(seeds, [3], seed=1, threads=t).n_id) for t in (1, 2, 8)}
        assert (len(n_ids) == 1) is same


def test_another_seed_gives_another_sample(path):
    graph = gz.Graph(path)
    assert len({sample_digest(graph, seed=s) for s in range(20)}) == 20
    assert len({walk_digest(graph, seed=s) for s in range(20)}) == 20


def test_concurrent_callers_get_what_each_would_get_alone(path, eight_threads):
    graph = gz.Graph(path)
    alone = [sample_digest(graph, seed=s) + walk_digest(graph, seed=s) for s in range(24)]
    with ThreadPoolExecutor(12) as pool:
        together = list(
            pool.map(lambda s: sample_digest(graph, seed=s) + walk_digest(graph, seed=s), range(24))
        )
    assert together == alone


def test_another_process_gets_the_same(path):
    script = (
        "import sys, graphzero as gz, test_determinism as t\n"
        "print(t.everything_digest(gz.Graph(sys.argv[1])))"
    )
    ours = everything_digest(gz.Graph(path))
    for threads in ("1", "3"):
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)],
            env={
                **os.environ,
                "OMP_NUM_THREADS": threads,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == ours


def test_64_bit_files_draw_what_32_bit_files_draw(tmp_path, edges):
    # Sorted like a version 1 file, so that both hold the same rows.
    order = np.lexsort((edges.dst, edges.src))
    ordered = EdgeList(edges.num_nodes, edges.src[order], edges.dst[order], edges.weights[order])
    narrow = open_graph(tmp_path / "narrow.gl", ordered)
    wide = gz.Graph(write_legacy_graph(tmp_path / "wide.gl", ordered))
    for options in SAMPLES.values():
        options = {**options, "direction": "out"}
        assert sample_digest(narrow, **options) == sample_digest(wide, **options)
    for walk in WALKS.values():
        assert walk_digest(narrow, **walk) == walk_digest(wide, **walk)
