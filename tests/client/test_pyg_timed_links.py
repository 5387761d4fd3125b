"""LinkNeighborLoader over datasets with times: links that do not see their own answer."""

from __future__ import annotations

from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import LinkNeighborLoader
from hetero_graphs import FOLLOWS, RATES, REV_RATES, assert_nothing_later
from torch_geometric.data import HeteroData
from torch_geometric.sampler import NegativeSampling

LEVELS = pytest.mark.parametrize("level", ["node", "edge"])


def edges_of_trees(batch: HeteroData, triple: Any, count: int) -> list[set[int]]:
    """Of each tree, the numbers of the relation's edges in it."""
    trees = batch[triple[2]].batch[batch[triple].edge_index[1]]
    return [set(batch[triple].e_id[trees == tree].tolist()) for tree in range(count)]


def test_links_do_not_see_their_own_edge(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData]
) -> None:
    """Edges between the ends at exactly the link's time are left out of its trees, also where they
    are reversed; others of that time stay, and so do earlier ones between the ends."""
    whole = timed_films["edge"]
    edge_index, time = whole[RATES].edge_index, whole[RATES].time
    links = torch.arange(100)

    def sampled(exclude: Any) -> HeteroData:
        (batch,) = LinkNeighborLoader(
            film_clients["edge"],
            [-1],
            (RATES, edge_index[:, links]),
            edge_label_time=time[links],
            time_attr="time",
            exclude_seed_edges=exclude,
            batch_size=100,
        )
        assert torch.equal(batch[RATES].edge_label_time, time[links])
        assert_nothing_later(batch, whole, time[links])
        return batch

    answers = 0
    by_default, kept = sampled(None), sampled(False)
    for triple, end in ((RATES, 1), (REV_RATES, 0)):  # from users to the movie, and back
        trees, whole_trees = (edges_of_trees(b, triple, 100) for b in (by_default, kept))
        for link in links.tolist():
            visible = (edge_index[end] == edge_index[end, link]) & (time <= time[link])
            assert whole_trees[link] == set(visible.nonzero().view(-1).tolist())
            answer = (edge_index == edge_index[:, link : link + 1]).all(0) & (time == time[link])
            assert trees[link] == set((visible & ~answer).nonzero().view(-1).tolist())
            answers += int(answer.sum())
    assert answers >= 200


@LEVELS
@pytest.mark.parametrize("exclude", [None, "own"])
@pytest.mark.parametrize("way", ["daemon's", "PyG's"])
def test_links_that_come_after_their_edges_do_not_see_them(
    film_clients: dict[str, gz.Client],
    timed_films: dict[str, HeteroData],
    level: str,
    exclude: Any,
    way: str,
) -> None:
    """At time 100 every edge is history. A loader over all edges knows which one each link is, and
    leaves that one out; parallel edges stay, but not in the inverse, which has other ids."""
    edge_index = timed_films[level][RATES].edge_index
    count = edge_index.shape[1]
    loader = LinkNeighborLoader(
        film_clients[level],
        [-1],
        RATES,
        edge_label_time=torch.full((count,), 100),
        time_attr="time",
        exclude_seed_edges=exclude,
        transform_sampler_output=None if way == "daemon's" else lambda out: out,
        batch_size=count,
    )
    (batch,) = loader
    for triple, end in ((RATES, 1), (REV_RATES, 0)):
        for link, found in enumerate(edges_of_trees(batch, triple, count)):
            same = edge_index == edge_index[:, link : link + 1]
            answer = same.all(0) if triple == REV_RATES else torch.arange(count) == link
            assert found == set((same[end] & ~answer).nonzero().view(-1).tolist())


def test_all_edges_at_their_own_times_leave_out_what_is_not_history(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData]
) -> None:
    whole = timed_films["edge"][RATES]
    options: dict[str, Any] = {"edge_label_time": whole.time, "time_attr": "time"}
    every, given = (
        next(iter(LinkNeighborLoader(film_clients["edge"], [-1], links, batch_size=400, **options)))
        for links in (RATES, (RATES, whole.edge_index))
    )
    for triple in (RATES, REV_RATES):
        assert torch.equal(every[triple].e_id, given[triple].e_id)


@LEVELS
@pytest.mark.parametrize("mode", ["binary", "triplet"])
@pytest.mark.parametrize("triple", [RATES, REV_RATES, FOLLOWS])
def test_negatives_exist_at_the_time_of_their_link(
    film_clients: dict[str, gz.Client],
    timed_films: dict[str, HeteroData],
    level: str,
    mode: str,
    triple: Any,
) -> None:
    whole = timed_films[level]
    links = whole[triple].edge_index[:, :40]
    times = torch.arange(40) + 2
    (batch,) = LinkNeighborLoader(
        film_clients[level], [2], (triple, links), edge_label_time=times, time_attr="time",
        neg_sampling=NegativeSampling(mode, 2), batch_size=40,
    )  # fmt: skip
    source, target = batch[triple[0]], batch[triple[2]]
    if mode == "binary":
        assert torch.equal(batch[triple].edge_label_time, times.repeat(3))
        ends = {triple[0]: batch[triple].edge_label_index[0, 40:],
                triple[2]: batch[triple].edge_label_index[1, 40:]}  # fmt: skip
        of_negatives = times.repeat(2)
    else:
        assert torch.equal(source.seed_time, times)
        assert torch.equal(target.seed_time, times)
        ends = {triple[2]: target.dst_neg_index.flatten()}
        of_negatives = times.repeat_interleave(2)
    for name, index in ends.items():
        if level == "node":
            assert (whole[name].time[batch[name].n_id[index]] <= of_negatives).all()
        trees = batch[name].batch[index]
        assert torch.equal(times[trees], of_negatives)
    assert_nothing_later(batch, whole, times)


@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_a_link_before_all_candidates_is_named_when_the_loader_is_made(
    film_clients: dict[str, gz.Client], timed_films: dict[str, HeteroData], mode: str
) -> None:
    whole = timed_films["node"]
    first = max(int(whole[name].time.min()) for name in ("user", "movie"))
    first = first if mode == "binary" else int(whole["movie"].time.min())

    def loader(time: int) -> LinkNeighborLoader:
        return LinkNeighborLoader(
            film_clients["node"], [2], (RATES, whole[RATES].edge_index[:, :3]),
            edge_label_time=torch.tensor([60, 60, time]), time_attr="time",
            neg_sampling=mode, batch_size=1,
        )  # fmt: skip

    with pytest.raises(gz.InvalidRequest, match=f"link 2 is at time {first - 1}, the earliest of"):
        loader(first - 1)
    assert len(list(loader(first))) == 3


def test_links_with_times_need_both_arguments(film_clients: dict[str, gz.Client]) -> None:
    links = (RATES, torch.tensor([[1], [2]]))
    with pytest.raises(ValueError, match="'edge_label_time' is not set"):
        LinkNeighborLoader(film_clients["edge"], [1], links, time_attr="time")
    with pytest.raises(ValueError, match="'time_attr' is not set"):
        LinkNeighborLoader(film_clients["edge"], [1], links, edge_label_time=torch.tensor([3]))
