"""state_dict() of the PyG loaders: a checkpoint goes on with the batch that would have come."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import LinkNeighborLoader, NeighborLoader
from torch_geometric.data import Data
from torch_geometric.sampler import NegativeSampling

NUM_NODES = 2_000
LINKS = torch.stack([torch.arange(400), torch.arange(400, 800)])
KINDS = {
    "nodes": (NeighborLoader, {"input_nodes": "train"}),
    "all": (NeighborLoader, {}),
    "links": (LinkNeighborLoader, {"edge_label_index": LINKS, "neg_sampling": "triplet"}),
    # Whose negatives torch draws in this process.
    "weights": (
        LinkNeighborLoader,
        {
            "edge_label_index": LINKS,
            "neg_sampling": NegativeSampling("binary", 2, torch.ones(NUM_NODES)),
        },
    ),
}


def make(kind: str, client: gz.Client, **options: Any) -> Any:
    loader, own = KINDS[kind]
    return loader(client, num_neighbors=[3, 2], batch_size=64, shuffle=True, **own, **options)


def facts(batch: Data) -> tuple[list[int], ...]:
    return batch.input_id.tolist(), batch.n_id.tolist(), batch.e_id.tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("handed_out", [0, 1, 3])
def test_an_epoch_goes_on_in_another_process(client: gz.Client, kind: str, handed_out: int) -> None:
    torch.manual_seed(5)
    loader = make(kind, client)
    batches = iter(loader)
    for _ in range(handed_out):
        next(batches)
        torch.rand(7)  # what a model draws meanwhile
    state = json.loads(json.dumps(loader.state_dict()))
    rng = torch.get_rng_state()
    expected = [facts(batch) for batch in batches]

    torch.manual_seed(77)  # another process
    torch.set_rng_state(rng)  # which restores torch's generator, as checkpoints do
    resumed = make(kind, client)
    resumed.load_state_dict(state)
    found = [facts(batch) for batch in resumed]
    assert found == expected
    assert len(found) == len(loader) - handed_out
    # And the next epoch is the next one of the run that was saved.
    torch.set_rng_state(rng)
    following = [facts(batch) for batch in resumed]
    torch.set_rng_state(rng)
    assert following == [facts(batch) for batch in loader]


def test_a_batch_whose_transform_failed_counts_if_the_loop_goes_on(client: gz.Client) -> None:
    steps = itertools.count()

    def transform(data: Data) -> Data:
        if next(steps) == 1:
            raise ValueError("of the user's own")
        return data

    loader = make("nodes", client, transform=transform)
    batches = iter(loader)
    next(batches)
    with pytest.raises(ValueError, match="of the user's own"):
        next(batches)
    next(batches)
    state = loader.state_dict()
    expected = [facts(batch) for batch in batches]
    resumed = make("nodes", client)
    resumed.load_state_dict(state)
    assert [facts(batch) for batch in resumed] == expected


def test_resuming_leaves_torch_s_generator_alone(client: gz.Client) -> None:
    loader = make("nodes", client)
    next(iter(loader))
    state = loader.state_dict()
    resumed = make("nodes", client)
    resumed.load_state_dict(state)
    before = torch.get_rng_state()
    next(iter(resumed))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("handed_out", [2, 11, "all"])
def test_a_generator_of_the_loader_makes_later_epochs_the_same_too(
    client: gz.Client, handed_out: int | str
) -> None:
    def generator() -> torch.Generator:
        return torch.Generator().manual_seed(3)

    loader = make("nodes", client, generator=generator())
    batches = iter(loader)
    taken = list(itertools.islice(batches, handed_out if isinstance(handed_out, int) else None))
    assert len(loader) == 11
    state = loader.state_dict()
    expected = [facts(b) for b in batches] + [facts(b) for _ in range(2) for b in loader]
    resumed = make("nodes", client, generator=torch.Generator())
    resumed.load_state_dict(state)
    # An epoch of which nothing is left is not begun again.
    epochs = 3 if len(taken) < len(loader) else 2
    assert [facts(b) for _ in range(epochs) for b in resumed] == expected


def test_a_loader_that_stands_at_an_end_goes_on_with_a_new_epoch(client: gz.Client) -> None:
    loader = make("nodes", client)
    for state in (loader.state_dict(), list(loader) and loader.state_dict()):
        assert state["batches"] == 0
        assert state["generator"] is None
        resumed = make("nodes", client)
        resumed.load_state_dict(state)
        torch.manual_seed(1)
        found = [facts(b) for b in resumed]
        torch.manual_seed(1)
        assert found == [facts(b) for b in loader]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"dataset": "00"}, gz.DatasetChanged, "saved with dataset '00', found"),
        ({"sampler_version": 0}, gz.DatasetChanged, "saved with sampler_version 0"),
        ({"batch_size": 3}, ValueError, "the state has batch_size 3, this loader has 64"),
        ({"sampler": "SequentialSampler"}, ValueError, "the state has sampler 'Sequential"),
        ({"items": "other"}, ValueError, "other items .digest 'other'"),
        ({"generator": "???"}, ValueError, "generator of the state"),
        ({"generator": 5}, ValueError, "generator of the state"),
        ({"batches": -1}, ValueError, "the state has batches -1"),
        ({"batches": "x"}, ValueError, "the state has batches 'x'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_state_that_does_not_fit_is_refused(
    client: gz.Client, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    loader = make("nodes", client)
    next(iter(loader))
    with pytest.raises(error, match=message):
        loader.load_state_dict({**loader.state_dict(), **change})


def test_a_state_of_something_else_says_what_is_missing(client: gz.Client) -> None:
    loader = make("links", client)
    for other in ({}, client.loader("train", fanout=[1], batch_size=4).state_dict()):
        with pytest.raises(ValueError, match=r"the state has no '.*', expected what state_dict"):
            loader.load_state_dict(other)


def test_where_others_make_the_batches_there_is_no_state(client: gz.Client) -> None:
    loader = make("nodes", client, transform_sampler_output=lambda out: out)
    with pytest.raises(NotImplementedError, match=r"state_dict\(\) is not supported"):
        loader.state_dict()


def test_original_ids_of_nodes_and_links(tmp_path: Path, daemon_of: Any) -> None:
    names = [f"user-{i}" for i in range(9, -1, -1)]
    (tmp_path / "edges.csv").write_text(
        "source,target\n" + "".join(f"{names[i]},{names[(i + 1) % 10]}\n" for i in range(10))
    )
    gz.import_files(tmp_path / "edges.csv", tmp_path / "ds", relabel=True)
    with gz.connect(daemon_of(tmp_path / "ds").address) as client:
        loader = NeighborLoader(client, [-1], names[2:6], original_ids=True, batch_size=3)
        seeds = [n for b in loader for n in client.original_ids(b.n_id[: b.batch_size])]
        assert seeds == names[2:6]
        links = [names[:4], names[1:5]]
        batch = next(iter(LinkNeighborLoader(client, [1], links, original_ids=True, batch_size=4)))
        for ends, expected in zip(batch.edge_label_index, links, strict=True):
            assert client.original_ids(batch.n_id[ends]) == expected
        asked = client.sample_links(*links, fanout=[1], original_ids=True)
        assert client.original_ids(asked.n_id[asked.source_index]) == links[0]
        with pytest.raises(gz.InvalidRequest, match="nobody"):
            NeighborLoader(client, [-1], ["nobody"], original_ids=True)
        with pytest.raises(gz.InvalidRequest, match="nobody"):
            LinkNeighborLoader(client, [1], [["nobody"], names[:1]], original_ids=True)
