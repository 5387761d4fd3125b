"""PyG's loaders over datasets with times: nothing later than its seed's time is in a batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import GraphZeroSampler, LinkNeighborLoader, NeighborLoader
from hetero_graphs import FOLLOWS, RATES, REV_RATES, assert_nothing_later, assert_trees, slot_times
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import LinkLoader, NodeLoader

LEVELS = pytest.mark.parametrize("level", ["node", "edge"])
NODES = torch.arange(0, 60, 4)
TIMES = torch.arange(15) * 3 - 5


@LEVELS
@pytest.mark.parametrize("hops", [1, 2])
def test_all_that_a_seed_can_see_at_its_time(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData], level: str, hops: int
) -> None:
    loader = NeighborLoader(
        film_clients[level], [-1] * hops, ("user", NODES), TIMES, time_attr="time", batch_size=5
    )
    for batch, first in zip(loader, (0, 5, 10), strict=True):
        part = slice(first, first + 5)
        seeds = [
            ("user", n, t) for n, t in zip(NODES[part].tolist(), TIMES[part].tolist(), strict=True)
        ]
        assert_trees(batch, timed_films[level], seeds, hops)
        assert torch.equal(batch["user"].seed_time, TIMES[part])
        assert batch["user"].input_id.tolist() == list(range(15))[part]
        owner = "user" if level == "node" else RATES
        index = batch[owner].n_id if level == "node" else batch[owner].e_id
        assert torch.equal(batch[owner].time, timed_films[level][owner].time[index])


def test_seeds_have_their_own_times(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData]
) -> None:
    whole = timed_films["node"]
    (batch,) = NeighborLoader(
        film_clients["node"], [-1, -1], ("movie", range(20)), time_attr="time", batch_size=20
    )
    times = whole["movie"].time[:20]
    assert_trees(batch, whole, [("movie", n, int(times[n])) for n in range(20)], 2)
    assert torch.equal(batch["movie"].seed_time, times)
    with pytest.raises(ValueError, match=r"input_time of .* is None.*no times"):
        NeighborLoader(film_clients["edge"], [1], "user", time_attr="time")


@LEVELS
def test_seeds_of_several_types_have_times_of_their_own(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData], level: str
) -> None:
    given = {"movie": torch.tensor([3, 1]), "user": torch.tensor([7, 9, 7])}
    times = {"user": torch.tensor([10, 20, 30]), "movie": torch.tensor([5, 15])}
    (batch,) = NeighborLoader(
        film_clients[level], [-1], given, times, time_attr="time", batch_size=5
    )
    seeds = [
        (name, node, time)
        for name in ("user", "movie")
        for node, time in zip(given[name].tolist(), times[name].tolist(), strict=True)
    ]
    assert_trees(batch, timed_films[level], seeds, 1)
    for name, expected in times.items():
        assert torch.equal(batch[name].seed_time, expected)
    # Seeds come in the order of the types: the first batches have no movie, the last no user.
    each = NeighborLoader(film_clients[level], [1], given, times, time_attr="time", batch_size=1)
    sizes = [(b["user"].batch_size, b["movie"].batch_size) for b in each]
    assert sizes == [(1, 0)] * 3 + [(0, 1)] * 2
    for name, expected in times.items():
        assert torch.equal(torch.cat([b[name].seed_time for b in each]), expected)
        assert torch.cat([b[name].input_id for b in each]).tolist() == list(range(len(expected)))


@LEVELS
@pytest.mark.parametrize("options", [{}, {"replace": True}, {"temporal_strategy": "last"}], ids=str)
def test_what_is_drawn_is_never_later(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData], level: str, options: Any
) -> None:
    loader = NeighborLoader(
        film_clients[level],
        [3, 2],
        ("user", NODES),
        TIMES,
        time_attr="time",
        batch_size=15,
        **options,
    )
    for _ in range(5):
        (batch,) = loader
        assert_nothing_later(batch, timed_films[level], TIMES)


@LEVELS
def test_last_takes_the_latest_that_can_be_seen(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData], level: str
) -> None:
    whole = timed_films[level]
    (batch,) = NeighborLoader(
        film_clients[level], [2], ("user", NODES), TIMES, time_attr="time",
        temporal_strategy="last", batch_size=15,
    )  # fmt: skip
    for triple in (REV_RATES, FOLLOWS):
        times, targets = slot_times(whole, triple), whole[triple].edge_index[1]
        for tree, (node, time) in enumerate(zip(NODES, TIMES, strict=True)):
            visible = times[(targets == node) & (times <= time)].sort(descending=True)[0]
            drawn = batch[triple].e_id[batch[triple].edge_index[1] == tree]
            assert sorted(times[drawn].tolist()) == sorted(visible[:2].tolist())


def test_flat_graphs_have_times_too(tmp_path: Path, start_daemon: Callable[..., Any]) -> None:
    draw = torch.Generator().manual_seed(0)
    edge_index = torch.randint(30, (2, 200), generator=draw)
    time = torch.randint(20, (200,), generator=draw)
    data = Data(x=torch.rand(30, 2), edge_index=edge_index, when=time)
    gz.import_pyg(data, tmp_path / "calls", time="when")
    with gz.connect(start_daemon(tmp_path / "calls").address) as client:
        times = torch.arange(30)
        (batch,) = NeighborLoader(client, [-1], input_time=times, time_attr="when", batch_size=30)
        assert isinstance(batch, Data)
        assert torch.equal(batch.seed_time, times)
        assert torch.equal(batch.when, time[batch.e_id])
        trees = batch.batch[batch.edge_index[1]]
        for node in range(30):
            visible = (edge_index[1] == node) & (time <= node)
            assert sorted(batch.e_id[trees == node].tolist()) == visible.nonzero().view(-1).tolist()
        links = LinkNeighborLoader(
            client, [-1], edge_index, edge_label_time=time, time_attr="when", batch_size=200
        )
        (batch,) = links
        assert torch.equal(batch.edge_label_time, time)
        assert torch.equal(batch.n_id[batch.edge_label_index], edge_index)
        assert (batch.when <= time[batch.batch[batch.edge_index[1]]]).all()
        with pytest.raises(ValueError, match=r"time_attr is .then..*when"):
            NeighborLoader(client, [1], input_time=times, time_attr="then")


def test_times_are_found_where_the_first_nodes_have_no_edges(
    tmp_path: Path, daemon_of: Callable[[Path], Any]
) -> None:
    """The last two of many nodes have all edges, so that no look at some nodes would find any."""
    ends, time = torch.tensor([[5002, 5001], [5001, 5002]]), torch.tensor([3, 4])
    data = Data(edge_index=ends, when=time, other=time + 1, num_nodes=5003)
    gz.import_pyg(data, tmp_path / "calls", time="when")
    with gz.connect(daemon_of(tmp_path / "calls").address) as client:
        loader = NeighborLoader(client, [-1], [5002], 4, time_attr="when", batch_size=1)
        assert next(iter(loader)).e_id.tolist() == [1]
        with pytest.raises(ValueError, match="time_attr is 'other', expected"):
            NeighborLoader(client, [-1], [5002], 4, time_attr="other")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_attr": "rating"}, "time_attr is 'rating', expected the attribute"),
        ({"input_time": TIMES[:3]}, r"shape \(3,\), expected 15 times"),
        ({"input_time": TIMES.float()}, "found float32, expected integers or dates"),
        ({"input_time": {"movie": TIMES}}, "expected it for the types"),
        ({"time_attr": None}, "input_time is given without time_attr"),
        ({"temporal_strategy": "first"}, "is 'first', expected one of 'uniform', 'last'"),
    ],
    ids=str,
)
def test_wrong_times_are_named(
    film_clients: dict[str, gz.Client], options: dict[str, Any], message: str
) -> None:
    basic = {"input_nodes": ("user", NODES), "input_time": TIMES, "time_attr": "time"}
    with pytest.raises((ValueError, TypeError), match=message):
        NeighborLoader(film_clients["edge"], [2], **{**basic, **options})


def test_last_excludes_what_is_random(film_clients: dict[str, gz.Client]) -> None:
    loader = NeighborLoader(
        film_clients["edge"], [2], ("user", NODES), TIMES, time_attr="time", replace=True,
        temporal_strategy="last", batch_size=15,
    )  # fmt: skip
    with pytest.raises(ValueError, match="last"):
        next(iter(loader))


# ---- samplers ----


@LEVELS
def test_pyg_s_loaders_take_the_sampler_with_times(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData], level: str
) -> None:
    whole = timed_films[level]
    sampler = GraphZeroSampler(film_clients[level], [-1], time_attr="time")
    assert sampler.is_temporal
    assert sampler.disjoint
    (batch,) = NodeLoader(whole, sampler, ("user", NODES), TIMES, batch_size=15)
    seeds = [("user", n, t) for n, t in zip(NODES.tolist(), TIMES.tolist(), strict=True)]
    assert_trees(batch, whole, seeds, 1)
    assert torch.equal(batch["user"].seed_time, TIMES)
    links = whole[RATES].edge_index[:, :15]
    (batch,) = LinkLoader(
        whole, sampler, (RATES, links), edge_label_time=TIMES, neg_sampling="binary", batch_size=15
    )
    assert torch.equal(batch[RATES].edge_label_time, TIMES.repeat(2))
    assert_nothing_later(batch, whole, TIMES)


@LEVELS
def test_backward_sampling_by_time(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData], level: str
) -> None:
    """Along out-edges what counts is the later of the edge and the node that it leads to."""
    whole = timed_films[level]
    sampler = GraphZeroSampler(
        film_clients[level], [-1], time_attr="time", sample_direction="backward"
    )
    (batch,) = NodeLoader(whole, sampler, ("user", NODES), TIMES, batch_size=15)
    sources, targets = whole[FOLLOWS].edge_index
    times = whole["user"].time[targets] if level == "node" else whole[FOLLOWS].time
    for tree, (node, time) in enumerate(zip(NODES, TIMES, strict=True)):
        visible = ((sources == node) & (times <= time)).nonzero().view(-1).tolist()
        trees = batch["user"].batch[batch[FOLLOWS].edge_index[0]]
        assert sorted(batch[FOLLOWS].e_id[trees == tree].tolist()) == visible


def test_dates_are_times_of_graphs_that_know_their_unit(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    days = np.array(["2026-01-01", "2026-02-01", "2026-03-01"], "datetime64[D]")
    gz.write_graph(
        tmp_path / "graph.gl", [0, 1, 2], [3, 3, 3], num_nodes=4, times=days, edge_ids=True
    )
    with gz.connect(start_daemon(tmp_path).address) as client:
        loader = NeighborLoader(
            client, [-1], [3, 3], np.array(["2026-01-15", "2026-12-31"], "datetime64[D]"),
            time_attr="time", batch_size=2,
        )  # fmt: skip
        (batch,) = loader
        assert batch.e_id.tolist() == [0, 0, 1, 2]
        assert batch.seed_time.tolist() == [20468, 20818]
