"""Arguments, results and errors of the Python surface."""

import graphzero as gz
import numpy as np
import pytest
import torch
from graphzero import _engine
from sampling_graphs import EdgeList, open_graph, write_legacy_graph

# 0 -> 1 -> 2 -> 3, 0 -> 2; node 4 is isolated.
PATH = EdgeList.of(5, [(0, 1), (1, 2), (2, 3), (0, 2)], [1.0, 2.0, 3.0, 4.0])


@pytest.fixture
def graph(tmp_path):
    return open_graph(tmp_path / "g.gl", PATH, edge_ids=True)


def test_in_edges_are_the_default(graph):
    sample = graph.sample([2], [-1, -1], seed=0)
    assert sample.n_id.tolist() == [2, 0, 1]
    assert sample.edge_index.tolist() == [[1, 2, 1], [0, 0, 2]]
    assert sample.e_id.tolist() == [3, 1, 0]
    assert sample.edge_weight.tolist() == [4.0, 2.0, 1.0]
    assert sample.num_sampled_nodes == [1, 2, 0]
    assert sample.num_sampled_edges == [2, 1]
    assert sample.batch_size == 1
    assert sample.seed == 0


def test_a_sample_shows_its_shapes_and_counts_its_nodes_and_edges(graph):
    sample = graph.sample([2], [-1, -1], seed=0)
    shapes = "n_id=[3], edge_index=[2, 3], e_id=[3], edge_weight=[3]"
    assert repr(sample) == f"SampledSubgraph(batch_size=1, {shapes})"
    assert (sample.num_nodes, sample.num_edges) == (3, 3)
    links = graph.sample_links([0], [1], [1], seed=0)
    assert repr(links).startswith("SampledLinks(batch_size=2, num_links=1, n_id=[2]")


@pytest.mark.parametrize(
    ("seeds", "error", "message"),
    [
        (
            "train",
            ValueError,
            "seeds is 'train', expected a list of node ids such as [42, 7]; names of splits go to "
            "client.loader()",
        ),
        (5, ValueError, "seeds is 5, expected a list of node ids such as [5]"),
        (torch.tensor(5), ValueError, "seeds is 5, expected a list of node ids such as [5]"),
        ({1, 2}, ValueError, "seeds is {1, 2}, expected a list of node ids such as [42, 7]"),
        (
            torch.ones(5, dtype=torch.bool),
            TypeError,
            "seeds: found bool, expected integers; give mask.nonzero().flatten(), or the mask to "
            "client.loader()",
        ),
        (
            np.ones(5, bool),
            TypeError,
            "seeds: found bool, expected integers; give np.flatnonzero(mask), or the mask to "
            "client.loader()",
        ),
    ],
)
def test_seeds_that_are_no_list_of_ids_say_what_to_give_instead(graph, seeds, error, message):
    with pytest.raises(error) as caught:
        graph.sample(seeds, [1])
    assert str(caught.value) == message


def test_starts_that_are_no_list_of_ids_say_what_to_give_instead(graph):
    with pytest.raises(ValueError, match=r"starts is 5, expected a list of ids such as \[5\]$"):
        graph.random_walk(5, 2)


def test_out_edges_keep_source_and_target(graph):
    sample = graph.sample([0], [-1, -1], direction="out")
    source, target = sample.n_id[sample.edge_index]
    assert list(zip(source.tolist(), target.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 2),
        (2, 3),
    ]


def test_repeated_seeds_are_rows_of_their_own(graph):
    sample = graph.sample([2, 3, 2], [-1])
    assert sample.n_id.tolist() == [2, 3, 2, 0, 1]
    # 3's neighbour 2 is the first occurrence.
    assert sample.edge_index.tolist() == [[3, 4, 0, 3, 4], [0, 0, 1, 2, 2]]


@pytest.mark.parametrize(
    "seeds",
    [
        [2, 0],
        (2, 0),
        np.array([2, 0], np.int32),
        np.array([2, 9, 0, 9])[::2],
        np.array([2, 0], np.uint64),
        torch.tensor([2, 0]),
    ],
)
def test_ids_may_come_as_anything_array_like(graph, seeds):
    sample = graph.sample(seeds, [-1], seed=1)
    assert sample.n_id.tolist() == [2, 0, 1]


def test_no_seeds_and_no_hops_are_legal(graph):
    assert graph.sample([], [3, 3]).num_sampled_nodes == [0, 0, 0]
    assert graph.sample([1], []).edge_index.shape == (2, 0)
    assert graph.random_walk([], 3).nodes.shape == (0, 4)
    assert graph.batch_random_fanout([], 3).shape == (0, 3)


def test_results_own_their_memory(graph):
    sample = graph.sample([2], [-1])
    arrays = [sample.n_id, sample.edge_index, sample.e_id, sample.edge_weight]
    walks = graph.random_walk([0], 3)
    for array in [*arrays, walks.nodes, walks.lengths, graph.batch_random_fanout([0], 2)]:
        assert array.flags.owndata


def test_a_fresh_seed_is_reported_and_repeats_the_sample(tmp_path):
    star = EdgeList.of(200, [(i, 0) for i in range(200)])
    graph = open_graph(tmp_path / "star.gl", star)
    first = graph.sample([0], [5])
    assert (graph.sample([0], [5], seed=first.seed).n_id == first.n_id).all()
    assert len({graph.sample([0], [5]).seed for _ in range(10)}) == 10


@pytest.mark.parametrize("seeds", [[5], [-1], [0, 2**62]])
def test_a_seed_outside_the_graph_is_named(graph, seeds):
    bad = seeds[-1]
    for call in (
        lambda: graph.sample(seeds, [1]),
        lambda: graph.random_walk(seeds, 1),
        lambda: graph.batch_random_fanout(seeds, 1),
    ):
        with pytest.raises(IndexError, match=rf"{bad} at position {len(seeds) - 1} .* 0 to 5"):
            call()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"seeds": [0.5]}, TypeError, "float64"),
        ({"seeds": [[0]]}, ValueError, "one dimension"),
        ({"fanout": [3, -2]}, ValueError, "hop 1 is -2"),
        ({"fanout": [2**63]}, ValueError, "hop 0 is 9223372036854775808"),
        ({"direction": "both"}, ValueError, "both"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": 2**64}, ValueError, "seed is"),
        ({"threads": 0}, ValueError, "threads is 0"),
    ],
)
def test_a_wrong_argument_is_named(graph, arguments, error, message):
    with pytest.raises(error, match=message):
        graph.sample(**{"seeds": [0], "fanout": [1], **arguments})


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["p", "q"])
def test_p_and_q_must_be_positive(graph, name, value):
    with pytest.raises(ValueError, match=f"^{name} is"):
        graph.random_walk([0], 2, **{name: value})


@pytest.mark.parametrize("restart", [-0.1, 1.5, float("nan")])
def test_restart_is_a_probability(graph, restart):
    with pytest.raises(ValueError, match="restart is"):
        graph.random_walk([0], 2, restart=restart)


def test_a_missing_direction_names_the_convert_flag(tmp_path):
    out_only = open_graph(tmp_path / "out.gl", PATH, direction="out")
    with pytest.raises(ValueError, match="--direction both"):
        out_only.sample([2], [1])
    assert out_only.sample([0], [-1], direction="out").n_id.tolist() == [0, 1, 2]
    in_only = open_graph(tmp_path / "in.gl", PATH, direction="in")
    with pytest.raises(ValueError, match="--direction both"):
        in_only.random_walk([0], 2)


def test_a_legacy_file_names_its_two_ways_out(tmp_path):
    path = write_legacy_graph(tmp_path / "old.gl", PATH)
    with pytest.raises(ValueError, match=r"direction='out'.*symmetric=True"):
        gz.Graph(path).sample([0], [1])
    assert gz.Graph(path).sample([0], [-1], direction="out").n_id.tolist() == [0, 1, 2]
    assert gz.Graph(path, symmetric=True).sample([0], [-1]).edge_index.tolist() == [[1, 2], [0, 0]]


def test_missing_edge_ids_and_weights_are_none_or_named(tmp_path):
    plain = open_graph(tmp_path / "plain.gl", EdgeList.of(3, [(0, 1)]))
    sample = plain.sample([1], [1])
    assert sample.e_id is None
    assert sample.edge_weight is None
    with pytest.raises(ValueError, match="--edge-ids"):
        plain.sample([1], [1], edge_ids=True)
    with pytest.raises(ValueError, match="no edge weights"):
        plain.sample([1], [1], weighted=True)
    with pytest.raises(ValueError, match="no edge weights"):
        plain.random_walk([1], 1, weighted=True)


def test_a_row_of_zero_weights_gives_nothing(tmp_path):
    zeros = EdgeList.of(3, [(0, 2), (1, 2), (2, 0)], [0.0, 0.0, 0.0])
    graph = open_graph(tmp_path / "zero.gl", zeros)
    for fanout in (1, 5, -1):
        for replace in (False, True):
            sample = graph.sample([2], [fanout], weighted=True, replace=replace)
            assert sample.num_sampled_edges == [0]
    assert graph.random_walk([2], 3, weighted=True).lengths.tolist() == [0]


def test_walks_repeat_the_last_node_after_a_dead_end(graph):
    walks = graph.random_walk([1, 4], 4)
    assert walks.nodes.tolist() == [[1, 2, 3, 3, 3], [4, 4, 4, 4, 4]]
    assert walks.lengths.tolist() == [2, 0]


def test_graphzero_02_walks_have_walk_length_columns(graph):
    assert graph.batch_random_walk_uniform([1, 4], 3).tolist() == [[1, 2, 3], [4, 4, 4]]
    assert graph.batch_random_walk([1], 3, 0.5, 2.0).tolist() == [[1, 2, 3]]
    with pytest.raises(ValueError, match="walk_length is 0"):
        graph.batch_random_walk([1], 0)


def test_fanout_fills_short_rows_with_valid_neighbours(graph):
    rows, counts = graph.batch_random_fanout([0, 1, 4], 6, return_counts=True, seed=1)
    assert counts.tolist() == [2, 1, 0]
    assert sorted(rows[0, :2].tolist()) == [1, 2]
    assert set(rows[0].tolist()) == {1, 2}
    assert rows[1].tolist() == [2] * 6
    assert rows[2].tolist() == [4] * 6


def test_sample_neighbours_gives_up_to_k(graph):
    assert sorted(graph.sample_neighbours(0, 5).tolist()) == [1, 2]
    assert graph.sample_neighbours(0, 1).tolist() in ([1], [2])
    assert graph.sample_neighbours(4, 3).tolist() == []


def draw(graph):
    return _engine.sample_neighbours(
        graph._file.topology,
        np.array([2]),
        [-1],
        adjacency="in",
        expand_targets=True,
        replace=False,
        weighted=False,
        seed=0,
        max_edges=100,
        threads=1,
    )


def test_a_sample_is_written_into_memory_of_the_caller(graph):
    drawn = draw(graph)
    block = np.full(1024, 255, np.uint8)
    n_id = block[:24].view(np.int64)
    edge_index = block[64:96].view(np.int64).reshape(2, 2)
    drawn.copy_to(n_id=n_id, edge_index=edge_index)
    assert n_id.tolist() == [2, 0, 1]
    assert edge_index.tolist() == [[1, 2], [0, 0]]
    assert (block[96:] == 255).all()


def test_memory_of_the_wrong_size_is_refused(graph):
    drawn = draw(graph)
    with pytest.raises(ValueError, match="n_id has 2 items, expected 3"):
        drawn.copy_to(n_id=np.empty(2, np.int64), edge_index=np.empty((2, 2), np.int64))
