"""Graphs with types and times as PyG holds them, and what all neighbours of seeds in them are."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal

import torch
from torch_geometric.data import HeteroData

RATES, REV_RATES = ("user", "rates", "movie"), ("movie", "rev_rates", "user")
FOLLOWS, HAS = ("user", "follows", "user"), ("movie", "has", "tag")
COUNTS = {"user": 60, "movie": 40, "tag": 7}
RELATIONS = {RATES: 400, REV_RATES: 400, FOLLOWS: 200, HAS: 90}


def hetero_graph(times: Literal["node", "edge"] | None = None, seed: int = 0) -> HeteroData:
    """Three types, four relations: with parallel edges, loops and isolated nodes. The edges of
    rev_rates are those of rates. Times have ties; tags have none, and no columns."""
    draw = torch.Generator().manual_seed(seed)

    def integers(high: int, *shape: int) -> torch.Tensor:
        return torch.randint(high, shape, generator=draw)

    data = HeteroData()
    for name in ("user", "movie"):
        data[name].x = torch.rand(COUNTS[name], 4 if name == "user" else 3, generator=draw)
        if times == "node":
            data[name].time = integers(50, COUNTS[name]) - 10
    data["user"].y = integers(5, COUNTS["user"])
    data["user"].train_mask = torch.arange(COUNTS["user"]) % 3 == 0
    data["tag"].num_nodes = COUNTS["tag"]
    for triple, count in RELATIONS.items():
        if triple == REV_RATES:
            data[triple].edge_index = data[RATES].edge_index.flip(0)
        else:
            ends = [integers(COUNTS[name] - 2, count) for name in triple[::2]]
            data[triple].edge_index = torch.stack(ends)
        if times == "edge":
            time = data[RATES].time if triple == REV_RATES else integers(50, count) - 10
            if triple != HAS:
                data[triple].time = time
    data[RATES].rating = torch.rand(RELATIONS[RATES], 2, generator=draw)
    data[FOLLOWS].since = integers(1000, RELATIONS[FOLLOWS])
    return data


def slot_times(data: HeteroData, triple: tuple[str, str, str]) -> torch.Tensor:
    """When each edge can be seen by its target: not before it is there, and its source."""
    store, source = data[triple], data[triple[0]]
    times = torch.full((store.num_edges,), torch.iinfo(torch.int64).min)
    if "time" in store:
        times = torch.maximum(times, store.time)
    if "time" in source:
        times = torch.maximum(times, source.time[store.edge_index[0]])
    return times


def neighbourhood(
    data: HeteroData, seeds: dict[str, Any], hops: int, time: int | None = None
) -> tuple[dict[str, set[int]], dict[Any, list[int]]]:
    """All that is found in so many hops from seeds: nodes by type, numbers of edges by relation.

    With a time, nothing that cannot be seen at that time.
    """
    reached: dict[str, set[int]] = defaultdict(set)
    frontier = {name: {int(node) for node in ids} for name, ids in seeds.items()}
    for name, nodes in frontier.items():
        reached[name] |= nodes
    found: dict[Any, list[int]] = {triple: [] for triple in data.edge_types}
    for _ in range(hops):
        following: dict[str, set[int]] = defaultdict(set)
        for triple in data.edge_types:
            sources, targets = data[triple].edge_index.tolist()
            visible = slot_times(data, triple).tolist()
            for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
                if target not in frontier.get(triple[2], ()):
                    continue
                if time is not None and visible[number] > time:
                    continue
                found[triple].append(number)
                if source not in reached[triple[0]]:
                    following[triple[0]].add(source)
        for name, nodes in following.items():
            reached[name] |= nodes
        frontier = following
    return reached, found


def ends_of(batch: HeteroData, triple: Any, index: torch.Tensor) -> torch.Tensor:
    """Pairs of local ids as ids."""
    sources, targets = (batch[name].n_id for name in triple[::2])
    return torch.stack([sources[index[0]], targets[index[1]]])


def assert_columns(batch: HeteroData, whole: HeteroData) -> None:
    """The edges of the batch are those of their ids, and all columns those of their rows."""
    for name in ("user", "movie"):
        assert torch.equal(batch[name].x, whole[name].x[batch[name].n_id])
    assert torch.equal(batch["user"].y, whole["user"].y[batch["user"].n_id])
    for triple in RELATIONS:
        store = batch[triple]
        ends = ends_of(batch, triple, store.edge_index)
        assert torch.equal(ends, whole[triple].edge_index[:, store.e_id])
    assert torch.equal(batch[RATES].rating, whole[RATES].rating[batch[RATES].e_id])
    assert torch.equal(batch[FOLLOWS].since, whole[FOLLOWS].since[batch[FOLLOWS].e_id])


def assert_full(batch: HeteroData, whole: HeteroData, seeds: dict[str, Any], hops: int) -> None:
    """The batch has everything that is that near, once, with its columns."""
    nodes, edges = neighbourhood(whole, seeds, hops)
    for name in COUNTS:
        repeated = len(seeds.get(name, ())) - len({int(node) for node in seeds.get(name, ())})
        assert len(batch[name].n_id) == len(nodes[name]) + repeated
        assert set(batch[name].n_id.tolist()) == nodes[name]
    for triple in RELATIONS:
        if not repeated_seeds(seeds):
            assert sorted(batch[triple].e_id.tolist()) == sorted(edges[triple])
    assert_columns(batch, whole)


def repeated_seeds(seeds: dict[str, Any]) -> bool:
    return any(len(ids) != len({int(node) for node in ids}) for ids in seeds.values())


def assert_trees(
    batch: HeteroData, whole: HeteroData, seeds: list[tuple[str, int, int]], hops: int
) -> None:
    """Tree i has all that its seed (type, node, time) can see, and nothing else."""
    for tree, (name, node, time) in enumerate(seeds):
        nodes, edges = neighbourhood(whole, {name: [node]}, hops, time)
        for key in whole.node_types:
            own = batch[key].n_id[batch[key].batch == tree]
            assert sorted(own.tolist()) == sorted(nodes[key])
        for triple in whole.edge_types:
            trees = batch[triple[2]].batch[batch[triple].edge_index[1]]
            assert sorted(batch[triple].e_id[trees == tree].tolist()) == sorted(edges[triple])


def assert_nothing_later(batch: HeteroData, whole: HeteroData, times: torch.Tensor) -> None:
    """`times`: of the trees. The seeds themselves are exempt."""
    for triple in whole.edge_types:
        trees = batch[triple[2]].batch[batch[triple].edge_index[1]]
        assert (slot_times(whole, triple)[batch[triple].e_id] <= times[trees]).all()
