"""LABOR through a daemon: the bytes of the embedded engine, batches of a run that follow others,
loaders that resume, and errors that say what to do."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from contents import batch_contents, same_sample, same_typed_sample
from graphzero.client.loader.order import batch_seed

SEEDS = [7, 11, 7, 1999, 0]
FANOUT = [4, 3]
DRIFT = gz.Labor(batch_dependency=8)


@pytest.mark.parametrize(
    "options",
    [
        {"sampler": "labor"},
        {"sampler": "labor", "weighted": True},
        {"sampler": "labor", "disjoint": True, "direction": "out"},
        {"sampler": "labor", "subgraph": "induced"},
        {"sampler": gz.Labor(layer_dependency=True), "weighted": True},
        {"sampler": gz.Labor(batch_dependency=5, batch=17, run_seed=2**64 - 1)},
    ],
)
def test_a_sample_is_that_of_the_embedded_engine(
    client: gz.Client, graph: gz.Graph, options: dict[str, Any]
) -> None:
    for seed in (5, 6):
        batch = client.sample(SEEDS, FANOUT, seed=seed, **options)
        same_sample(batch, graph.sample(SEEDS, FANOUT, seed=seed, **options))


def test_links_are_those_of_the_embedded_engine(client: gz.Client, graph: gz.Graph) -> None:
    options: dict[str, Any] = {
        "negatives": gz.Negatives("targets", 2),
        "exclude_seed_edges": "both",
        "sampler": "labor",
        "weighted": True,
        "seed": 4,
    }
    sources, targets = [1, 2, 3], [4, 5, 6]
    batch = client.sample_links(sources, targets, FANOUT, **options)
    same_sample(batch, graph.sample_links(sources, targets, FANOUT, **options))


def test_a_typed_sample_is_that_of_the_embedded_engine(
    film_client: gz.Client, film_dataset: Path
) -> None:
    graph = gz.Graph(film_dataset)
    kind = next(iter(graph.types))
    options: dict[str, Any] = {"seed": 3, "sampler": gz.Labor(batch_dependency=3, batch=4)}
    batch = film_client.sample({kind: [0, 1, 2]}, FANOUT, **options)
    same_typed_sample(batch, graph.sample({kind: [0, 1, 2]}, FANOUT, **options))


def test_scales_are_tensors_of_a_batch(client: gz.Client) -> None:
    batch = client.sample(SEEDS, FANOUT, sampler="labor", weighted=True)
    assert batch.edge_scale.shape == batch.edge_weight.shape
    assert bool((batch.edge_scale >= batch.edge_weight).all())
    assert "edge_scale" in batch.keys()  # noqa: SIM118 - keys() is what is tested
    assert client.sample(SEEDS, FANOUT, sampler="labor").edge_scale is None
    copy = batch.clone()
    assert copy.edge_scale.tolist() == batch.edge_scale.tolist()


@pytest.mark.parametrize(("rank", "world_size"), [(0, 1), (1, 2)])
def test_batches_of_a_loader_are_numbered_over_all_epochs(
    client: gz.Client, graph: gz.Graph, rank: int, world_size: int
) -> None:
    loader = client.loader(
        range(80), FANOUT, 10, seed=3, sampler=DRIFT, rank=rank, world_size=world_size
    )
    for epoch in range(2):
        for step, batch in enumerate(loader):
            number = (epoch * len(loader) + step) * world_size + rank
            labor = gz.Labor(batch_dependency=8, batch=number, run_seed=3)
            seed = batch_seed(3, epoch, step, rank, world_size)
            seeds = batch.n_id[: batch.batch_size]
            same_sample(batch, graph.sample(seeds, FANOUT, seed=seed, sampler=labor))


def test_a_loader_without_dependency_draws_fresh_numbers(
    client: gz.Client, graph: gz.Graph
) -> None:
    plain = list(client.loader(range(80), FANOUT, 10, seed=3, sampler="labor"))
    explicit = list(client.loader(range(80), FANOUT, 10, seed=3, sampler=gz.Labor()))
    assert [batch_contents(b) for b in plain] == [batch_contents(b) for b in explicit]
    for batch in plain:
        seeds = batch.n_id[: batch.batch_size]
        same_sample(batch, graph.sample(seeds, FANOUT, seed=batch.seed, sampler="labor"))


def test_consecutive_batches_share_the_more_nodes_the_more_they_depend(client: gz.Client) -> None:
    shares = []
    for kappa in (1, 4, 64):
        labor = gz.Labor(batch_dependency=kappa)
        loader = client.loader(range(2000), [5], 100, seed=1, sampler=labor, shuffle=True)
        found = [set(batch.n_id[batch.batch_size :].tolist()) for batch in loader]
        pairs = itertools.pairwise(found)
        shares.append(float(np.mean([len(a & b) / len(a) for a, b in pairs])))
    assert shares[0] < shares[1] < shares[2], shares


@pytest.mark.parametrize("taken", [0, 4, 9])
def test_a_loader_resumes_with_the_very_next_batch(client: gz.Client, taken: int) -> None:
    def make(sampler: Any = DRIFT) -> gz.Loader:
        return client.loader(range(90), FANOUT, 10, shuffle=True, seed=3, sampler=sampler)

    whole = make()
    two_epochs = [batch_contents(batch) for _ in range(2) for batch in whole]
    saved = make()
    iterator = iter(saved)
    for _ in range(taken):
        next(iterator)
    state = saved.state_dict()
    assert state["batch_dependency"] == 8
    resumed = make()
    resumed.load_state_dict(state)
    rest = [batch_contents(batch) for batch in resumed]
    assert rest == two_epochs[taken : taken + len(rest)]
    with pytest.raises(ValueError, match="batch_dependency 8, this loader has 9"):
        make(gz.Labor(batch_dependency=9)).load_state_dict(state)


def test_loaders_of_links_drift_too(client: gz.Client) -> None:
    links = np.array([[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]])
    options: dict[str, Any] = {"batch_size": 3, "seed": 2, "sampler": DRIFT}
    first = client.link_loader(links, FANOUT, **options)
    again = client.link_loader(links, FANOUT, **options)
    assert [batch_contents(b) for b in first] == [batch_contents(b) for b in again]
    usual = client.link_loader(links, FANOUT, batch_size=3, seed=2)
    assert [b.n_id.tolist() for b in first] != [b.n_id.tolist() for b in usual]


def test_what_it_cannot_do_is_a_clear_error(client: gz.Client) -> None:
    with pytest.raises(gz.InvalidRequest, match="expected no replacement"):
        client.sample(SEEDS, FANOUT, sampler="labor", replace=True)
    with pytest.raises(gz.InvalidRequest, match="a scale for each edge that was drawn"):
        client.sample(SEEDS, FANOUT, sampler="labor", weighted=True, subgraph="induced")
    with pytest.raises(ValueError, match="sampler is 'ladies', expected"):
        client.sample(SEEDS, FANOUT, sampler="ladies")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a loader counts its batches"):
        client.loader(SEEDS, FANOUT, 2, sampler=gz.Labor(batch=3))
    with pytest.raises(TypeError, match="its batch_sampler has none"):
        client.loader(None, FANOUT, batch_sampler=iter([[1], [2]]), sampler=DRIFT)


def test_an_older_daemon_is_not_asked_for_what_it_would_ignore(client: gz.Client) -> None:
    client._pool.welcome.features.remove("labor")
    client.sample(SEEDS, FANOUT)
    for call in (
        lambda: client.sample(SEEDS, FANOUT, sampler="labor"),
        lambda: client.sample_links([1], [2], FANOUT, sampler="labor"),
        lambda: client.loader(SEEDS, FANOUT, 2, sampler=DRIFT),
    ):
        with pytest.raises(gz.InvalidRequest, match="older than its client and cannot do 'labor'"):
            call()
