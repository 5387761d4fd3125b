"""`rank="auto"`, loaders whose ranks disagree, and states of another number of ranks."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch.distributed as dist
from contents import batch_contents
from graphzero.client.loader.ranks import Place, place_of
from graphzero.torch import BatchDataset

FANOUT = [3, 2]


def contents(batches: Any) -> list[tuple[Any, ...]]:
    return [batch_contents(batch) for batch in batches]


@pytest.fixture
def torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)


@pytest.mark.usefixtures("torchrun")
def test_auto_reads_torchrun_s_environment() -> None:
    assert place_of("auto", None) == Place(1, 3, found=True)
    assert place_of("auto", 3) == Place(1, 3, found=True)
    assert place_of(0, 1) == Place(0, 1)  # who gives a rank is not asked
    assert place_of(None, None) == Place(0, 1)


@pytest.mark.usefixtures("nobody")
def test_auto_without_a_launcher_is_one_process() -> None:
    assert place_of("auto", None) == Place(0, 1, found=True)


@pytest.mark.usefixtures("torchrun")
def test_another_world_size_beside_auto_is_an_error() -> None:
    with pytest.raises(ValueError, match='world_size is 2, but rank="auto" finds 3 ranks'):
        place_of("auto", 2)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            {"world_size": 2},
            'world_size is 2, but rank is missing: give rank=0 to 1, or rank="auto"',
        ),
        ({"world_size": 1}, 'world_size is 1, but rank is missing: give rank=0, or rank="auto"'),
        ({"rank": 1}, 'rank is 1, but world_size is missing: give both, or rank="auto"'),
        ({"rank": 0}, 'rank is 0, but world_size is missing: give both, or rank="auto"'),
    ],
)
def test_loaders_refuse_a_rank_or_a_world_size_alone(
    client: gz.Client, place: dict[str, int], message: str
) -> None:
    links = [[1, 2], [3, 4]]
    for make in (
        lambda: client.loader(range(20), [2], 8, **place),
        lambda: client.link_loader(links, [2], 8, **place),
        lambda: BatchDataset(client, range(20), [2], 8, **place),
    ):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize(
    ("rank", "world_size", "message"),
    [
        ("1", None, "finds {'RANK': '1'} in the environment, but no WORLD_SIZE"),
        (None, "2", "but no RANK"),
        ("one", "2", "RANK is 'one' in the environment, expected a whole number"),
        ("2", "2", "rank is 2, expected 0 to 1"),
    ],
)
@pytest.mark.usefixtures("nobody")
def test_an_environment_that_makes_no_sense_is_named(
    monkeypatch: pytest.MonkeyPatch, rank: str | None, world_size: str | None, message: str
) -> None:
    for name, value in (("RANK", rank), ("WORLD_SIZE", world_size)):
        if value is not None:
            monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=message):
        place_of("auto", None)


@pytest.mark.usefixtures("torchrun")
def test_loaders_of_every_kind_take_auto(client: gz.Client) -> None:
    place = {"rank": 1, "world_size": 3}
    nodes = {"seeds": range(90), "fanout": FANOUT, "batch_size": 8, "shuffle": True}
    assert contents(client.loader(**nodes, rank="auto")) == contents(
        client.loader(**nodes, **place)
    )
    links = {"links": [list(range(60)), list(range(1, 61))], "fanout": [2], "batch_size": 8}
    assert contents(client.link_loader(**links, rank="auto")) == contents(
        client.link_loader(**links, **place)
    )
    assert contents(BatchDataset(client, **nodes, rank="auto")) == contents(
        BatchDataset(client, **nodes, **place)
    )


def _rank(rank: int, folder: str, case: str, address: str, found: Any) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=3)
    odd = rank == 2
    try:
        _make(gz.connect(address), case, odd)
        found.put((rank, "", ""))
    except Exception as error:
        found.put((rank, type(error).__name__, str(error)))
    dist.destroy_process_group()


def _make(client: gz.Client, case: str, odd: bool) -> None:
    seeds = range(91) if odd and case == "seeds" else range(90)
    loader = client.loader(seeds, FANOUT, 8, seed=int(odd and case == "seed"), rank="auto")
    if odd and case == "checkpoint":
        loader.load_state_dict({**loader.state_dict(), "epoch": 3})
    assert len(list(loader)) == 4
    assert len(list(BatchDataset(client, seeds, FANOUT, 8, rank="auto"))) == 4


@pytest.mark.parametrize(
    ("case", "kind", "message"),
    [
        ("", "", ""),
        ("dataset", "DatasetChanged", "do not have the same dataset (ranks 0, 1: "),
        ("seed", "ValueError", "do not agree about seed (ranks 0, 1: 0; rank 2: 1)"),
        ("seeds", "ValueError", "do not agree about seeds (ranks 0, 1: "),
        ("checkpoint", "ValueError", "do not agree about epoch (ranks 0, 1: 0; rank 2: 3)"),
    ],
)
@pytest.mark.slow
def test_ranks_that_differ_are_named_on_all_of_them(
    daemon: Any,
    dataset: Path,
    start_daemon: Callable[..., Any],
    tmp_path: Path,
    case: str,
    kind: str,
    message: str,
) -> None:
    addresses = [daemon.address] * 3
    if case == "dataset":
        other = shutil.copytree(dataset, tmp_path / "other")
        (other / "when.gd").unlink()
        addresses[2] = start_daemon(other).address
    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    ranks = [
        context.Process(target=_rank, args=(rank, str(tmp_path), case, address, found))
        for rank, address in enumerate(addresses)
    ]
    for one in ranks:
        one.start()
    answers = sorted(found.get(timeout=120) for _ in ranks)
    for one in ranks:
        one.join(timeout=60)
    assert [(rank, error) for rank, error, _ in answers] == [(rank, kind) for rank in range(3)]
    assert all(message in text for _, _, text in answers), answers


def test_a_state_of_other_ranks_is_taken_at_the_end_of_an_epoch(client: gz.Client) -> None:
    def make(rank: int, world_size: int) -> gz.Loader:
        place = {"rank": rank, "world_size": world_size}
        return client.loader(range(90), FANOUT, 8, shuffle=True, seed=4, **place)

    saved = make(0, 2)
    batches = iter(saved)
    for _ in range(len(saved)):
        next(batches)  # the last one is handed out, and nobody asked for another
    expected = make(2, 3)
    expected.set_epoch(1)
    resumed = make(2, 3)
    resumed.load_state_dict(saved.state_dict())
    assert contents(resumed) == contents(expected)


def test_a_state_of_other_ranks_in_the_middle_is_an_error_or_leaves_the_rest_out(
    client: gz.Client,
) -> None:
    def make(world_size: int) -> gz.Loader:
        place = {"rank": 0, "world_size": world_size}
        return client.loader(range(90), FANOUT, 8, shuffle=True, seed=4, **place)

    saved = make(2)
    next(iter(saved))
    resumed = make(3)
    before = resumed.state_dict()
    with pytest.raises(ValueError, match=r"world_size 2, this loader has 3.* middle of epoch 0"):
        resumed.load_state_dict(saved.state_dict())
    with pytest.raises(ValueError, match="on_resize is 'go on'"):
        resumed.load_state_dict(saved.state_dict(), on_resize="go on")
    assert resumed.state_dict() == before
    resumed.load_state_dict(saved.state_dict(), on_resize="next_epoch")
    expected = make(3)
    expected.set_epoch(1)
    assert contents(resumed) == contents(expected)


def test_on_resize_changes_nothing_for_as_many_ranks(client: gz.Client) -> None:
    loader = client.loader(range(90), FANOUT, 8, shuffle=True)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    rest = contents(batches)
    loader.load_state_dict(state, on_resize="next_epoch")
    assert contents(loader) == rest
