"""LABOR in the PyG loaders: an extension, by the argument that torch has for something else."""

from __future__ import annotations

import itertools
import json
import pickle
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.client.loader.order import batch_seed
from graphzero.pyg import GraphZeroSampler, LinkNeighborLoader, NeighborLoader
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader

FANOUT = [4, 3]
LINKS = torch.stack([torch.arange(60), torch.arange(60, 120)])
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "nodes": (NeighborLoader, {"input_nodes": range(60)}),
    "links": (LinkNeighborLoader, {"edge_label_index": LINKS, "neg_sampling": "binary"}),
}
DRIFT = gz.Labor(batch_dependency=8)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def make(kind: str, client: gz.Client, **options: Any) -> Any:
    loader, own = KINDS[kind]
    return loader(client, FANOUT, **{"batch_size": 10, **own, **options})


def facts(batch: Data) -> tuple[list[Any], ...]:
    return batch.n_id.tolist(), batch.e_id.tolist(), batch.edge_index.tolist()


def first_seed(generator_seed: int) -> int:
    """The seed of a loader's first epoch under a generator that was just made."""
    generator = torch.Generator().manual_seed(generator_seed)
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


@pytest.mark.parametrize("labor", ["labor", gz.Labor(layer_dependency=True), DRIFT])
def test_batches_are_those_of_the_embedded_engine(
    client: gz.Client, graph: gz.Graph, labor: Any
) -> None:
    generator = torch.Generator().manual_seed(3)
    run = first_seed(3)
    loader = make("nodes", client, sampler=labor, generator=generator)
    for step, batch in enumerate(loader):
        numbered = DRIFT.of_batch(run, step) if labor is DRIFT else labor
        own = graph.sample(
            batch.n_id[: batch.batch_size],
            FANOUT,
            seed=batch_seed(run, 0, step, rank=0, world_size=1),
            sampler=numbered,
            edge_ids=True,
        )
        assert facts(batch) == (own.n_id.tolist(), own.e_id.tolist(), own.edge_index.tolist())


@EVERY_KIND
def test_a_batch_has_fewer_different_nodes_and_as_many_edges(client: gz.Client, kind: str) -> None:
    def sizes(sampler: Any) -> tuple[int, int]:
        torch.manual_seed(1)
        (batch,) = make(kind, client, batch_size=60, sampler=sampler)
        return len(batch.n_id.unique()), batch.num_sampled_edges[0]

    nodes, edges = sizes(None)
    fewer, as_many = sizes("labor")
    assert fewer < 0.95 * nodes
    assert as_many == edges
    assert sizes("neighbour") == (nodes, edges)


@EVERY_KIND
def test_weights_give_a_scale_for_each_edge_in_both_ways_to_a_batch(
    client: gz.Client, kind: str
) -> None:
    def batches(**options: Any) -> list[Data]:
        return list(make(kind, client, weight_attr="edge_weight", sampler="labor", **options))

    for batch in batches() + batches(transform_sampler_output=lambda out: out):
        assert batch.edge_scale.shape == batch.edge_weight.shape
        assert bool((batch.edge_scale >= batch.edge_weight).all())
    assert "edge_scale" not in make(kind, client, sampler="labor")([0, 1])


@EVERY_KIND
def test_torch_s_sampler_keeps_its_meaning_and_goes_with_labor(
    client: gz.Client, kind: str
) -> None:
    order = [5, 3, 4, 1]
    usual = make(kind, client, sampler=order)
    assert [b.input_id.tolist() for b in usual] == [order]
    drawn_by = GraphZeroSampler(client, FANOUT, sampler="labor")
    torch.manual_seed(4)
    (both,) = make(kind, client, sampler=order, neighbor_sampler=drawn_by)
    torch.manual_seed(4)
    (alone,) = make(kind, client, sampler="labor", batch_sampler=[order], batch_size=1)
    assert both.input_id.tolist() == order
    assert facts(both) == facts(alone)


def test_a_loader_that_is_rebuilt_as_lightning_does_keeps_labor(client: gz.Client) -> None:
    loader = make("nodes", client, sampler="labor")
    rebuilt = make("nodes", client, neighbor_sampler=loader.neighbor_sampler, sampler=range(60))
    copy = pickle.loads(pickle.dumps(loader))
    found = []
    for each in (loader, rebuilt, copy):
        torch.manual_seed(9)
        found.append([facts(batch) for batch in each])
    assert found[0] == found[1] == found[2]


def test_it_can_be_changed_between_epochs(client: gz.Client) -> None:
    loader = make("nodes", client, batch_size=60)
    torch.manual_seed(2)
    (usual,) = loader
    loader.neighbor_sampler.sampler = gz.Labor()
    torch.manual_seed(2)
    (labor,) = loader
    assert len(labor.n_id) < len(usual.n_id)
    with pytest.raises(ValueError, match="sampler is 'ladies', expected"):
        loader.neighbor_sampler.sampler = "ladies"


@EVERY_KIND
def test_consecutive_batches_depend_on_each_other(client: gz.Client, kind: str) -> None:
    def shared(sampler: Any) -> float:
        torch.manual_seed(1)
        found = [set(batch.n_id.tolist()) for batch in make(kind, client, sampler=sampler)]
        return sum(len(a & b) / len(a) for a, b in itertools.pairwise(found))

    assert shared(gz.Labor(batch_dependency=64)) > 1.2 * shared("labor")


@EVERY_KIND
@pytest.mark.parametrize("handed_out", [0, 2, 5])
def test_a_drifting_epoch_goes_on_where_it_was(
    client: gz.Client, kind: str, handed_out: int
) -> None:
    def loader(sampler: Any = DRIFT) -> Any:
        generator = torch.Generator().manual_seed(6)
        return make(kind, client, sampler=sampler, shuffle=True, generator=generator)

    saved = loader()
    batches = iter(saved)
    for _ in range(handed_out):
        next(batches)
    state = json.loads(json.dumps(saved.state_dict()))
    resumed = loader()
    resumed.load_state_dict(state)
    assert [facts(batch) for batch in resumed] == [facts(batch) for batch in batches]
    with pytest.raises(ValueError, match="batch_dependency 8, this loader has 9"):
        loader(gz.Labor(batch_dependency=9)).load_state_dict(state)


def test_typed_graphs_have_it_too(film_client: gz.Client) -> None:
    kind = film_client.info().dataset.schema.type_names[0]
    nodes = (kind, range(film_client.info().dataset.schema.types[0].count))
    options: dict[str, Any] = {"input_nodes": nodes, "batch_size": 10_000}
    torch.manual_seed(1)
    (usual,) = NeighborLoader(film_client, [2, 2], **options)
    torch.manual_seed(1)
    (labor,) = NeighborLoader(film_client, [2, 2], sampler="labor", **options)
    assert sum(labor[name].num_nodes for name in labor.node_types) < sum(
        usual[name].num_nodes for name in usual.node_types
    )


def test_pyg_s_own_loader_takes_it_from_the_sampler(client: gz.Client, graph: gz.Graph) -> None:
    from graphzero.pyg import FeatureStore, GraphStore

    sampler = GraphZeroSampler(client, FANOUT, sampler="labor")
    data = (FeatureStore(client), GraphStore(client))
    torch.manual_seed(8)
    (batch,) = NodeLoader(data, sampler, input_nodes=torch.arange(40), batch_size=40)
    usual = graph.sample(range(40), FANOUT, seed=0)
    assert len(batch.n_id) < len(usual.n_id)


@EVERY_KIND
def test_what_it_cannot_do_is_a_clear_error(client: gz.Client, kind: str) -> None:
    with pytest.raises(ValueError, match="sampler is 'ladies', expected"):
        make(kind, client, sampler="ladies")
    with pytest.raises(ValueError, match="a loader counts its batches"):
        make(kind, client, sampler=gz.Labor(batch=3))
    other = GraphZeroSampler(client, FANOUT)
    with pytest.raises(ValueError, match="give it to GraphZeroSampler"):
        make(kind, client, sampler="labor", neighbor_sampler=other)
    with pytest.raises(gz.InvalidRequest, match="expected no replacement"):
        list(make(kind, client, sampler="labor", replace=True))
    with pytest.raises(ValueError, match="expected a batch_dependency of 1"):
        list(make(kind, client, sampler=DRIFT, transform_sampler_output=lambda out: out))


def test_reverses_have_no_scales(film_client: gz.Client) -> None:
    sampler = GraphZeroSampler(film_client, FANOUT, "bidirectional", sampler="labor")
    sampler.options()
    sampler._weight_attr = "edge_weight"
    with pytest.raises(ValueError, match="expected 'directional': there is a scale for each"):
        sampler.options()
