"""Graphs that people made, from installed packages."""

import networkx as nx
import numpy as np
import pytest
from sampling_graphs import EdgeList, open_graph
from sampling_statistics import BOUND, frequency_p
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph


def from_networkx(graph: nx.Graph) -> EdgeList:
    graph = nx.convert_node_labels_to_integers(graph.to_directed())
    return EdgeList.of(graph.number_of_nodes(), sorted(graph.edges()))


def digits() -> EdgeList:
    """Each image and its eight nearest: directed, with distances as weights."""
    matrix = kneighbors_graph(load_digits().data, 8, mode="distance").tocoo()
    return EdgeList(
        matrix.shape[0],
        matrix.row.astype(np.int64),
        matrix.col.astype(np.int64),
        matrix.data.astype(np.float32),
    )


GRAPHS = {
    "karate club": lambda: from_networkx(nx.karate_club_graph()),
    "southern women": lambda: from_networkx(nx.davis_southern_women_graph()),
    "les miserables": lambda: from_networkx(nx.les_miserables_graph()),
    "digits": digits,
}


@pytest.fixture(params=GRAPHS)
def edges(request):
    return GRAPHS[request.param]()


def test_two_full_hops_are_the_two_hop_neighbourhood(tmp_path, edges):
    graph = open_graph(tmp_path / "g.gl", edges)
    other = nx.MultiDiGraph()
    other.add_nodes_from(range(edges.num_nodes))
    other.add_edges_from(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    for node in range(0, edges.num_nodes, 1 + edges.num_nodes // 40):
        sample = graph.sample([node], [-1, -1])
        distances = nx.single_source_shortest_path_length(other.reverse(copy=False), node, 2)
        assert set(sample.n_id.tolist()) == set(distances)
        by_distance = np.bincount(list(distances.values()), minlength=3).tolist()
        assert sample.num_sampled_nodes == by_distance


@pytest.mark.parametrize("name", ["karate club", "les miserables"])
def test_long_walks_visit_nodes_by_degree(tmp_path, name):
    """In a connected undirected graph with an odd cycle long walks end at nodes by degree."""
    edges = GRAPHS[name]()
    graph = open_graph(tmp_path / "g.gl", edges)
    ends = graph.random_walk(np.zeros(20_000, int), 200, seed=1).nodes[:, -1]
    degree = np.bincount(edges.src, minlength=edges.num_nodes)
    assert frequency_p(np.bincount(ends, minlength=edges.num_nodes), degree / degree.sum()) > BOUND
