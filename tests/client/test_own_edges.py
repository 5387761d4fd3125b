"""Links that are edges, at times later than these: no tree contains the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest

# Three friendships, each listed in both directions, as PyG's ToUndirected lists them.
SOURCES, TARGETS, TIMES = [0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2], [1, 2, 3, 1, 2, 3]
VISITS = ([0, 1, 2, 3], [0, 1, 2, 0], [5, 6, 7, 8])  # visit, user, time


@pytest.fixture
def friends(tmp_path: Path, start_daemon: Callable[..., Any]) -> Any:
    path = tmp_path / "friends"
    path.mkdir()
    gz.write_graph(path / "graph.gl", SOURCES, TARGETS, times=TIMES, edge_ids=True)
    with gz.connect(start_daemon(path).address) as client:
        yield client


@pytest.fixture
def visits(tmp_path: Path, start_daemon: Callable[..., Any]) -> Any:
    """Visits refer to users. References have no edge ids."""
    rows = {"user": VISITS[1], "when": VISITS[2]}
    tables = {
        "user": {"data": {"id": [0, 1, 2]}, "key": "id"},
        "visit": {"data": rows, "time": "when", "references": {"user": "user"}},
    }
    gz.import_tables(tables, tmp_path / "visits")
    with gz.connect(start_daemon(tmp_path / "visits").address) as client:
        yield client


def between_ends(batch: Any, count: int) -> int:
    """Edges between the ends of a link, either way, in the trees of that link."""
    link = batch.batch[batch.edge_index[0]] % count
    ends = batch.n_id[batch.edge_index]
    sources = batch.n_id[batch.source_index][link]
    targets = batch.n_id[batch.target_index][link]
    same = (ends[0] == sources) & (ends[1] == targets)
    turned = (ends[0] == targets) & (ends[1] == sources)
    return int((same | turned).sum())


@pytest.mark.parametrize("time", ["own", TIMES, [time + 1 for time in TIMES], 9])
def test_a_relation_with_both_directions_does_not_show_the_reverse(
    friends: gz.Client, time: Any
) -> None:
    (batch,) = friends.link_loader(None, [-1], 6, time=time)
    assert len(batch.edge_index[0]) > 0
    assert between_ends(batch, 6) == 0


def test_earlier_edges_the_other_way_stay_if_no_link_is_later_than_its_edge(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    """A reply at 5 to a message at 2 is no reverse of it, so the message is history."""
    (tmp_path / "ds").mkdir()
    gz.write_graph(tmp_path / "ds/graph.gl", [0, 1], [1, 0], times=[2, 5], edge_ids=True)
    with gz.connect(start_daemon(tmp_path / "ds").address) as client:
        for time in ("own", [2, 5]):
            (batch,) = client.link_loader(None, [-1], 2, time=time)
            assert batch.e_id.tolist() == [0]  # in the tree of node 1, the source of the reply


def test_ids_leave_out_the_other_way_only_where_it_is_not_asked_to_stay(tmp_path: Path) -> None:
    gz.write_graph(tmp_path / "g.gl", SOURCES, TARGETS, times=TIMES, edge_ids=True)
    graph = gz.Graph(tmp_path / "g.gl")
    options: dict[str, Any] = {"time": 9, "link_edge_ids": range(6)}
    default = graph.sample_links(SOURCES, TARGETS, [-1], **options)
    only_ids = graph.sample_links(SOURCES, TARGETS, [-1], exclude_seed_edges=False, **options)
    assert between_ends(default, 6) == 0
    assert between_ends(only_ids, 6) == 6  # in the trees of sources, the edges from targets


@pytest.mark.parametrize("relation", ["user", "rev_user"])
def test_without_edge_ids_no_edge_between_the_ends_is_shown(
    visits: gz.Client, relation: str
) -> None:
    (batch,) = visits.link_loader(relation, [-1, -1], 4, time=9, columns=[])
    (typed,) = [one for one in batch.edge_types if one[1] == relation]
    sources = batch[typed[0]].n_id[batch.source_index]
    targets = batch[typed[2]].n_id[batch.target_index]
    for triple in batch.edge_types:
        index = batch[triple].edge_index
        ends = batch[triple[0]].n_id[index[0]], batch[triple[2]].n_id[index[1]]
        found = ends if triple == typed else ends[::-1]
        link = batch[triple[0]].batch[index[0]] % 4
        assert not ((found[0] == sources[link]) & (found[1] == targets[link])).any()


def test_values_for_all_edges_need_edge_ids(visits: gz.Client) -> None:
    """Without ids, nobody knows which value is whose."""
    for options in ({"edge_label": [1, 2, 3, 4]}, {"time": [5, 6, 7, 8]}):
        (name,) = options
        with pytest.raises(gz.InvalidRequest, match=f"{name} has a value for each edge, but the"):
            visits.link_loader("user", [-1], 4, **options)
    for options in ({"edge_label": [1, 1, 1, 1]}, {"time": [9] * 4}, {"time": 9}):
        assert len(list(visits.link_loader("user", [-1], 4, **options))) == 1
    ends = ("user", (VISITS[0], VISITS[1]))
    (batch,) = visits.link_loader(ends, [-1], 4, time=VISITS[2], edge_label=[1, 2, 3, 4])
    assert batch.edge_label.tolist() == [1, 2, 3, 4]


@pytest.fixture
def torch() -> Any:
    pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")
    return pytest.importorskip("torch")


@pytest.mark.parametrize("later", [0, 3])
def test_pyg_s_links_do_not_show_reverses_within_a_relation(
    torch: Any, friends: gz.Client, later: int
) -> None:
    from graphzero.pyg import LinkNeighborLoader

    times = torch.tensor(TIMES) + later
    (batch,) = LinkNeighborLoader(
        friends, [-1], edge_label_time=times, time_attr="time", batch_size=6
    )
    link = batch.batch[batch.edge_index[0]] % 6
    ends = batch.n_id[batch.edge_index]
    links = batch.n_id[batch.edge_label_index[:, link]]
    assert ends.shape[1] > 0
    assert not (ends == links).all(0).any()
    assert not (ends == links.flip(0)).all(0).any()


def test_pyg_s_links_do_not_show_edges_without_ids(torch: Any, visits: gz.Client) -> None:
    from graphzero.pyg import LinkNeighborLoader

    relation = ("visit", "user", "user")
    options: dict[str, Any] = {"time_attr": "time", "batch_size": 4}
    with pytest.raises(gz.InvalidRequest, match="edge_label_time has a value for each edge"):
        LinkNeighborLoader(
            visits,
            [-1],
            relation,
            edge_label_time=torch.tensor(VISITS[2]),
            **options,
        )
    late = torch.full((4,), 9)
    (batch,) = LinkNeighborLoader(visits, [-1], relation, edge_label_time=late, **options)
    links = batch[relation].edge_label_index
    index = batch[relation].edge_index
    link = batch["user"].batch[index[1]] % 4
    ends = batch["visit"].n_id[index[0]], batch["user"].n_id[index[1]]
    wanted = batch["visit"].n_id[links[0][link]], batch["user"].n_id[links[1][link]]
    assert not ((ends[0] == wanted[0]) & (ends[1] == wanted[1])).any()


def test_times_of_nodes_of_another_length_are_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    data: Any = pytest.importorskip("torch_geometric.data").HeteroData()
    data["a"].x, data["a"].time = torch.rand(4, 1), torch.tensor([100, 100, 100])
    data["a", "to", "a"].edge_index = torch.tensor([[0, 1], [1, 2]])
    message = r"data\['a'\].time: found times of shape \(3,\), expected 4, one for each node"
    with pytest.raises(gz.InputError, match=message):
        gz.import_pyg(data, tmp_path / "ds", time="time")
    assert not (tmp_path / "ds").exists()
