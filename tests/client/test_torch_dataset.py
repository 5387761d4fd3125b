"""graphzero.torch.BatchDataset in torch's DataLoader: each batch once, in the stated order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch
from graphzero.client.torch_dataset import _EpochClock
from graphzero.torch import BatchDataset
from torch.utils.data import DataLoader

OPTIONS: dict[str, Any] = {"fanout": [3, 2], "batch_size": 150, "shuffle": True, "seed": 5}


def epochs(loader: Any, count: int = 2) -> list[list[tuple[list[int], list[int]]]]:
    """Seeds and edges of each batch of each epoch."""
    return [
        [(batch.n_id[: batch.batch_size].tolist(), batch.e_id.tolist()) for batch in loader]
        for _ in range(count)
    ]


def test_wrong_arguments_are_those_of_the_dataset(client: gz.Client) -> None:
    with pytest.raises(TypeError, match=r"^BatchDataset\(\) .*'weight'"):
        BatchDataset(client, "train", **OPTIONS, weight=1)
    with pytest.raises(TypeError, match=r"^BatchDataset\(\) missing .*'fanout'"):
        BatchDataset(client, "train")


@pytest.fixture
def expected(client: gz.Client) -> list[list[tuple[list[int], list[int]]]]:
    return epochs(client.loader("train", **OPTIONS))


@pytest.mark.parametrize(
    "workers",
    [
        {"num_workers": 0},
        {"num_workers": 1},
        {"num_workers": 2},
        {"num_workers": 2, "persistent_workers": True},
        pytest.param(
            {"num_workers": 2, "persistent_workers": True, "multiprocessing_context": "spawn"},
            marks=pytest.mark.slow,  # each worker imports torch
        ),
    ],
    ids=["none", "one", "two", "persistent", "spawned"],
)
def test_batches_are_those_of_the_loader_in_its_order(
    client: gz.Client, expected: Any, workers: dict[str, Any]
) -> None:
    dataset = BatchDataset(client, "train", **OPTIONS)
    assert len(dataset) == len(expected[0]) == 5
    found = epochs(DataLoader(dataset, batch_size=None, **workers))
    assert found == expected
    assert found[0] != found[1]


def test_an_epoch_that_was_left_early_is_over(client: gz.Client) -> None:
    expected = epochs(client.loader("train", **OPTIONS), 3)
    for workers in (0, 2):
        loader = DataLoader(
            BatchDataset(client, "train", **OPTIONS), batch_size=None, num_workers=workers
        )
        for _ in loader:
            break
        assert epochs(loader, 2) == expected[1:]


def test_set_epoch_reaches_workers(client: gz.Client) -> None:
    expected = epochs(client.loader("train", **OPTIONS), 3)
    for workers in (0, 2):
        dataset = BatchDataset(client, "train", **OPTIONS)
        dataset.set_epoch(2)
        assert epochs(DataLoader(dataset, batch_size=None, num_workers=workers), 1) == expected[2:]
    with pytest.raises(ValueError, match="epoch is -1"):
        dataset.set_epoch(-1)


@pytest.mark.parametrize("persistent", [False, True])
def test_set_epoch_reaches_workers_of_a_later_pass(client: gz.Client, persistent: bool) -> None:
    expected = epochs(client.loader("train", **OPTIONS), 3)
    dataset = BatchDataset(client, "train", **OPTIONS)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=persistent)
    for epoch in (0, 2, 2, 1):
        torch.manual_seed(3)  # by which torch tells its workers apart from those of other passes
        dataset.set_epoch(epoch)
        assert epochs(loader, 1) == [expected[epoch]]
    torch.manual_seed(3)
    assert epochs(loader, 1) == [expected[2]]


def test_all_workers_of_a_pass_have_the_same_epoch() -> None:
    clock = _EpochClock()
    clock.set_next(4)
    assert clock.epoch_of(pass_seed=9, passes_before=0, workers=2) == 4
    clock.set_next(1)  # for the next pass, while a worker of this one is slow to begin
    assert clock.epoch_of(pass_seed=9, passes_before=0, workers=2) == 4
    assert clock.epoch_of(pass_seed=9, passes_before=1, workers=2) == 1
    # That pass is left before its other worker begins it.
    assert clock.epoch_of(pass_seed=9, passes_before=2, workers=2) == 2
    clock.epoch_of(pass_seed=9, passes_before=1, workers=2)
    assert clock.epoch_of(pass_seed=9, passes_before=2, workers=2) == 2
    assert clock.next_epoch() == 3


def test_columns_survive_the_way_from_a_worker(client: gz.Client) -> None:
    loader = DataLoader(BatchDataset(client, None, [2], 500), batch_size=None, num_workers=1)
    x = client.column("x")
    for batch in loader:
        assert torch.equal(batch.x, x[batch.n_id])


@pytest.mark.usefixtures("own_runtime_directory")
def test_data_may_be_a_directory(dataset: Path) -> None:
    batches = list(BatchDataset(dataset, [1, 2, 3], [2], 2))
    assert [batch.batch_size for batch in batches] == [2, 1]
