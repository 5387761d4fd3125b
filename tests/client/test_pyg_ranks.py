"""graphzero.pyg's loaders as ranks that share an epoch."""

from __future__ import annotations

from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import LinkNeighborLoader, NeighborLoader


def nodes(client: gz.Client, rank: Any, world_size: int | None = 2, **options: Any) -> Any:
    options = {"batch_size": 8, "shuffle": True, "seed": 3, **options}
    place = {"rank": rank, "world_size": world_size}
    return NeighborLoader(client, [3, 2], torch.arange(90), **place, **options)


def links(client: gz.Client, rank: Any, world_size: int | None = 2) -> Any:
    ends = torch.stack([torch.arange(90), torch.arange(90) + 1])
    place = {"rank": rank, "world_size": world_size, "batch_size": 8, "shuffle": True}
    return LinkNeighborLoader(client, [3], ends, neg_sampling="binary", **place)


def contents(batches: Any) -> list[list[Any]]:
    return [[batch.input_id.tolist(), batch.n_id.tolist()] for batch in batches]


@pytest.mark.parametrize("make", [nodes, links])
def test_ranks_share_an_epoch(client: gz.Client, make: Any) -> None:
    loaders = [make(client, rank) for rank in range(2)]
    epochs = [[contents(loader) for loader in loaders] for _ in range(2)]
    assert epochs[0] != epochs[1]
    for ranks in epochs:
        assert {len(batches) for batches in ranks} == {len(loaders[0])} == {6}
        seen = [item for batches in ranks for items, _ in batches for item in items]
        assert sorted(seen) == list(range(90))


@pytest.mark.parametrize("make", [nodes, links])
def test_a_state_of_one_rank_serves_all_whatever_torch_s_generator_is(
    client: gz.Client, make: Any
) -> None:
    torch.manual_seed(1)
    whole = make(client, 1)
    expected = contents(whole), contents(whole)
    torch.manual_seed(2)
    saved = make(client, 0)
    batches = iter(saved)
    next(batches), next(batches)
    resumed = make(client, 1)
    resumed.load_state_dict(saved.state_dict())
    assert (contents(resumed), contents(resumed)) == (expected[0][2:], expected[1])
    resumed.set_epoch(1)
    assert contents(resumed) == expected[1]


def test_a_state_of_other_ranks_starts_the_next_epoch(client: gz.Client) -> None:
    saved = nodes(client, 0)
    next(iter(saved))
    resumed = nodes(client, 2, 3)
    with pytest.raises(ValueError, match="middle of epoch 0"):
        resumed.load_state_dict(saved.state_dict())
    resumed.load_state_dict(saved.state_dict(), on_resize="next_epoch")
    expected = nodes(client, 2, 3)
    expected.set_epoch(1)
    assert contents(resumed) == contents(expected)


def test_auto_reads_the_environment(client: gz.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert contents(nodes(client, "auto", None)) == contents(nodes(client, 1))


def test_what_a_rank_cannot_go_with_is_named(client: gz.Client) -> None:
    with pytest.raises(ValueError, match="rank and generator exclude each other"):
        nodes(client, 0, generator=torch.Generator())
    for make in (nodes, links):
        with pytest.raises(
            ValueError, match="world_size is 2, but rank is missing: give rank=0 to 1"
        ):
            make(client, None)
        with pytest.raises(ValueError, match="rank is 1, but world_size is missing: give both"):
            make(client, 1, None)
    with pytest.raises(ValueError, match="no rank: its epochs follow from torch"):
        NeighborLoader(client, [3], batch_size=8).set_epoch(1)
