"""Damaged files and absurd requests give errors that name them, and nothing else."""

import graphzero as gz
import numpy as np
import pytest
from graphzero.base.errors import FormatError, InputError
from legacy_writer import legacy_arrays, legacy_header
from sampling_graphs import EdgeList, fan_edges, open_graph

N = 200


def calls(graph, node, weighted):
    """Every way to read the row of a node."""
    ids = np.arange(N)
    yield lambda: graph.sample(ids, [3, 3], direction="out")
    yield lambda: graph.sample(ids, [-1], direction="out")
    yield lambda: graph.sample([node], [2], direction="out", replace=True)
    yield lambda: graph.random_walk(ids, 5)
    yield lambda: graph.random_walk(ids, 5, p=0.5, q=3)
    yield lambda: graph.batch_random_fanout(ids, 30)
    if weighted:
        yield lambda: graph.sample(ids, [3], direction="out", weighted=True)
        yield lambda: graph.random_walk(ids, 5, weighted=True)
        yield lambda: graph.random_walk(ids, 5, weighted=True, q=0.5)


def regular():
    """Ten edges a node."""
    indptr = np.arange(0, 10 * N + 1, 10, dtype=np.uint64)
    indices = np.random.default_rng(0).integers(0, N, 10 * N).astype(np.uint64)
    return indptr, indices


def write_legacy(path, *arrays):
    path.write_bytes(legacy_arrays(*arrays))
    return path


@pytest.mark.parametrize("value", [2**63, 2**64 - 1, 10 * N + 1, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_damaged_row_is_named(tmp_path, value, weighted):
    indptr, indices = regular()
    indptr[101] = value
    weights = np.ones(10 * N, np.float32) if weighted else None
    path = write_legacy(tmp_path / "bad.gl", indptr, indices, weights)
    for call in calls(gz.Graph(path), 100, weighted):
        with pytest.raises(FormatError, match=r"bad\.gl: indptr of node 10[01]: found"):
            call()


@pytest.mark.parametrize("value", [N, 2**32, 2**63, 2**64 - 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_damaged_neighbour_is_named(tmp_path, value, weighted):
    indptr, indices = regular()
    indices[1000:1010] = value
    weights = np.ones(10 * N, np.float32) if weighted else None
    path = write_legacy(tmp_path / "bad.gl", indptr, indices, weights)
    for call in calls(gz.Graph(path), 100, weighted):
        with pytest.raises(FormatError, match=rf"bad\.gl: edge 100\d of node 100: .*{value}"):
            call()


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_named(tmp_path, weight):
    indptr, indices = regular()
    weights = np.ones(10 * N, np.float32)
    weights[1003] = weight
    graph = gz.Graph(write_legacy(tmp_path / "bad.gl", indptr, indices, weights))
    with pytest.raises(InputError, match=r"edge 1003 of node 100 has weight"):
        graph.sample(np.arange(N), [3], direction="out", weighted=True)
    with pytest.raises(InputError, match=r"edge 1003 of node 100 has weight"):
        graph.random_walk([100], 1, weighted=True)
    graph.sample(np.arange(N), [3], direction="out")


def test_of_several_errors_the_first_is_thrown_for_any_number_of_threads(tmp_path, limit_threads):
    indptr = np.arange(50_001, dtype=np.uint64)
    indptr[[7_001, 20_001, 45_001]] = 2**40
    graph = gz.Graph(write_legacy(tmp_path / "bad.gl", indptr, np.zeros(50_000)))
    limit_threads(8)
    for _ in range(20):
        with pytest.raises(FormatError, match="node 7000:"):
            graph.sample(np.arange(50_000), [2], direction="out")


def test_the_limit_counts_what_would_really_be_drawn(tmp_path):
    graph = open_graph(tmp_path / "g.gl", fan_edges(10, 100))
    assert graph.sample(range(10), [2**62], max_edges=1_000).num_sampled_edges == [1_000]
    assert graph.sample(range(10), [-1], max_edges=1_000).num_sampled_edges == [1_000]
    with pytest.raises(InputError, match=r"would draw 1000 edges.*limit of 999"):
        graph.sample(range(10), [-1], max_edges=999)
    with pytest.raises(InputError, match=r"hop 1 .* would draw 100 edges, and 10 are"):
        open_graph(tmp_path / "two.gl", two_level()).sample([0], [-1, -1], max_edges=109)


def two_level() -> EdgeList:
    """Node 0 has ten in-neighbours with ten in-neighbours each."""
    pairs = [(i, 0) for i in range(1, 11)]
    pairs += [(10 * i + j + 1, i) for i in range(1, 11) for j in range(10)]
    return EdgeList.of(120, pairs)


def test_absurd_draws_with_replacement_are_refused_at_once(tmp_path):
    graph = open_graph(tmp_path / "g.gl", fan_edges(10, 100))
    for k in (2**31, 2**62, 2**63 - 1):
        with pytest.raises(InputError, match="more than the limit"):
            graph.sample(range(10), [k], replace=True)
    with pytest.raises(ValueError, match="expected at most"):
        graph.sample(range(10), [1], max_edges=2**40)


def test_ids_above_32_bits_are_sampled(tmp_path):
    # A sparse file: only the last rows of more than 2^32 have edges. 8 * (n + 1) divides by 64.
    n, rows = 2**32 + 103, 50
    path = tmp_path / "wide.gl"
    first = n - rows
    with path.open("wb") as file:
        file.write(legacy_header(n, rows))
        file.seek(64 + 8 * first)
        file.write(np.arange(rows + 1, dtype=np.uint64).tobytes())
        file.write((first + (np.arange(rows, dtype=np.uint64) + 1) % rows).tobytes())  # a ring
    try:
        graph = gz.Graph(path)
        sample = graph.sample([first, first - 2**32], [1, 1, 1], direction="out")
        assert sample.n_id.tolist() == [first, first - 2**32, first + 1, first + 2, first + 3]
        walk = graph.random_walk([first], 60).nodes[0]
        assert (walk == first + np.arange(61) % rows).all()
    finally:
        path.unlink()
