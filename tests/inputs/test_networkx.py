"""networkx graphs that are out of the ordinary: taken, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import networkx as nx
import numpy as np
import pytest
from contents import column
from graphzero import InputError


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_all_come(tmp_path: Path, kind: Any) -> None:
    graph = kind()
    graph.add_edge(0, 1, w=2.0)
    graph.add_edge(0, 1, w=3.0)
    graph.add_edge(1, 1)
    gz.import_networkx(graph, tmp_path / "ds", weight="w")
    ours = gz.Graph(tmp_path / "ds", verify=True)
    assert ours.is_symmetric != graph.is_directed()
    assert ours.get_neighbours(0).tolist() == [1, 1]
    assert ours.get_weights(0).tolist() == [2.0, 3.0]
    loop = ours.get_neighbours(1).tolist().index(1)
    assert ours.get_weights(1)[loop] == 1.0  # without the attribute


def test_numpy_integers_are_integers(tmp_path: Path) -> None:
    graph = nx.Graph([(np.int64(5), np.int32(7)), (7, 9)])
    gz.import_networkx(graph, tmp_path / "ds")
    assert column(tmp_path / "ds", "original_id").tolist() == [5, 7, 9]


def test_attributes_of_one_shape_become_columns(tmp_path: Path) -> None:
    graph = nx.path_graph(3)
    for node in graph:
        graph.nodes[node]["v"] = [node, 0.5]
        graph.nodes[node]["flag"] = node == 1
        graph.nodes[node]["mixed"] = node if node else 0.5
    gz.import_networkx(graph, tmp_path / "ds", columns=["v", "flag", "mixed"])
    assert column(tmp_path / "ds", "v").tolist() == [[0, 0.5], [1, 0.5], [2, 0.5]]
    assert column(tmp_path / "ds", "flag").tolist() == [False, True, False]
    assert column(tmp_path / "ds", "mixed").tolist() == [0.5, 1, 2]


ATTRIBUTES = ["red", None, [1, 2, 3], [[1, 2]], [1, [2]], 1 + 2j, {"a": 1}]


@pytest.mark.parametrize("value", ATTRIBUTES)
def test_an_attribute_of_another_kind_names_its_node(tmp_path: Path, value: Any) -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 1.0, 1: 2.0, 2: value}, "v")
    with pytest.raises(InputError, match=r"networkx node 2: found v=.*, expected a number, or a l"):
        gz.import_networkx(graph, tmp_path / "ds", columns=["v"])


GRAPHS: list[tuple[Any, dict[str, Any], str]] = [
    (nx.Graph([("a", "")]), {}, r"networkx node '': expected a text of 1 to 1024 bytes"),
    (nx.Graph([("a", "b\0")]), {}, r"networkx node 'b\\x00': expected a text"),
    (nx.Graph([("a", "\ud800")]), {}, r"cannot be written as UTF-8"),
    (nx.Graph([(0, 2**64)]), {}, r"networkx node 18446744073709551616: expected an integer of 64"),
    (nx.Graph([(0.5, 1.5)]), {}, r"found nodes of type float, expected int or str"),
    (nx.Graph([(True, 2)]), {}, r"found nodes of type bool, int, expected int or str"),
    (nx.path_graph(3), {"weight": "w"}, r"found no edge with the attribute 'w', expected weights"),
    (nx.path_graph(3), {"columns": ["v"]}, r"networkx node 0: found no attribute 'v'"),
    ({0: [1]}, {}, r"found dict, expected a networkx graph"),
]


@pytest.mark.parametrize(("graph", "options", "message"), GRAPHS)
def test_what_cannot_be_taken_is_named(
    tmp_path: Path, graph: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        gz.import_networkx(graph, tmp_path / "ds", **options)
    assert not (tmp_path / "ds").exists()


def test_a_weight_that_is_no_number_names_its_edge(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", w="heavy")
    with pytest.raises(InputError, match="networkx edge 'a', 'b': found w='heavy', expected a num"):
        gz.import_networkx(graph, tmp_path / "ds", weight="w")


def test_columns_are_names_and_not_a_text(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="columns: found the text 'size', expected a sequence"):
        gz.import_networkx(nx.path_graph(2), tmp_path / "ds", columns="size")
