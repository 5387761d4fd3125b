"""Loaders: epochs, ranks, resuming, and memory given back."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from contents import batch_contents
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.client.loader.seed_batches import Progress, SamplerBatches
from waiting import wait_until

FANOUT = [3, 2]


def seeds_of(batches: Any) -> list[list[int]]:
    return [batch.n_id[: batch.batch_size].tolist() for batch in batches]


def contents(batches: Any) -> list[tuple[Any, ...]]:
    return [batch_contents(batch) for batch in batches]


def test_an_epoch_has_every_seed_once(client: gz.Client) -> None:
    loader = client.loader(range(100), FANOUT, 32)
    assert len(loader) == 4
    assert seeds_of(loader) == [
        list(range(0, 32)),
        list(range(32, 64)),
        list(range(64, 96)),
        list(range(96, 100)),
    ]


def test_a_split_takes_the_memory_of_its_ids(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    """Whatever the size of the requests that read it, and once only."""
    nodes = 3_000_000
    ids = np.arange(nodes)
    gz.write_graph(tmp_path / "graph.gl", [0], [1], num_nodes=nodes)
    gz.write_features(tmp_path / "train.gd", ids[::-1].copy(), role="ids")
    daemon = start_daemon(tmp_path)
    with gz.connect(daemon.address) as client:
        client.sample([0], FANOUT)  # what a first call imports and maps is not counted
        tracemalloc.start()
        try:
            loader = client.loader("train", FANOUT, 4)
            assert next(iter(loader)).n_id[:4].tolist() == [
                nodes - 1,
                nodes - 2,
                nodes - 3,
                nodes - 4,
            ]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert ids.nbytes <= peak < 2 * ids.nbytes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": "8"}, "batch_size is '8', expected a whole number"),
        ({"batch_size": 2.5}, "batch_size is 2.5, expected a whole number"),
        ({"prefetch": "x"}, "prefetch is 'x', expected a whole number"),
        ({"seed": "a"}, "seed is 'a', expected a whole number"),
        ({"rank": "0"}, "rank is '0', expected a whole number"),
        ({"timeout": "5"}, "timeout is '5', expected seconds"),
    ],
)
def test_numbers_of_another_kind_are_named(
    client: gz.Client, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        client.loader([1, 2], FANOUT, **{"batch_size": 2, **options})


@pytest.mark.parametrize("timeout", ["5", float("nan"), None])
def test_a_time_limit_of_another_kind_is_named(client: gz.Client, timeout: Any) -> None:
    with pytest.raises(TypeError, match=r"timeout is .* expected seconds"):
        gz.connect(client.info().address, timeout=timeout)


def test_seeds_may_be_ids_a_mask_a_split_or_all_nodes(client: gz.Client) -> None:
    mask = np.zeros(2000, bool)
    mask[[5, 9]] = True
    cases: list[tuple[Any, list[int]]] = [
        ([9, 5], [9, 5]),
        (torch.tensor([9, 5]), [9, 5]),
        (mask, [5, 9]),
        (torch.from_numpy(mask), [5, 9]),
        ("train", list(range(0, 2000, 3))),
        (None, list(range(2000))),
    ]
    for seeds, expected in cases:
        found = seeds_of(client.loader(seeds, [1], 500))
        assert list(itertools.chain(*found)) == expected


@pytest.mark.parametrize("convert", [np.asarray, torch.from_numpy])
def test_seeds_that_the_user_changes_in_place_stay_those_of_the_loader(
    client: gz.Client, convert: Callable[[Any], Any]
) -> None:
    seeds, ends = np.arange(90), np.stack([np.arange(90), np.arange(90) + 5])
    loader = client.loader(convert(seeds), FANOUT, 30)
    links = client.link_loader(convert(ends), FANOUT, 30)
    states = loader.state_dict(), links.state_dict()
    seeds[:], ends[:] = 7, 8
    assert list(itertools.chain(*seeds_of(loader))) == list(range(90))
    for first, batch in zip(range(0, 90, 30), links, strict=True):
        assert batch.n_id[batch.source_index].tolist() == list(range(first, first + 30))
        assert batch.n_id[batch.target_index].tolist() == list(range(first + 5, first + 35))
    loader.load_state_dict(states[0])
    links.load_state_dict(states[1])


def test_a_batch_sampler_may_fill_the_same_buffer_for_every_batch(client: gz.Client) -> None:
    """A batch is asked for again after its session ended, when later ones were taken already."""

    def batches() -> Iterator[Any]:
        buffer = np.empty(1, np.int64)
        for seed in range(3):
            buffer[0] = seed
            yield buffer

    sampler = SamplerBatches(batches(), client.info().dataset.schema)
    found: list[Any] = list(sampler.batches(Progress(0, 0)))
    assert [batch.tolist() for batch in found] == [[0], [1], [2]]


@pytest.mark.parametrize(
    ("seeds", "kind", "message"),
    [
        ("valid", gz.NotFound, "no split 'valid', it has train"),
        ("x", gz.NotFound, "no split 'x'"),
        (np.ones(3, bool), ValueError, r"shape \(3,\), expected \(2000,\)"),
        ([0.5], TypeError, "float"),
        ([], ValueError, "0 seeds"),
    ],
)
def test_seeds_that_make_no_sense_are_errors(
    client: gz.Client, seeds: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        client.loader(seeds, FANOUT, 10)


@pytest.mark.parametrize(("io", "ahead"), [("mapped", 2), ("direct", 8)])
def test_a_loader_asks_for_more_ahead_where_batches_are_read_from_a_disk(
    start_daemon: Callable[..., Any], dataset: Path, io: str, ahead: int
) -> None:
    daemon = start_daemon(dataset, "--feature-io", io, "--threads", "2")
    with gz.connect(daemon.address) as client:
        assert client.info().suggested_prefetch == ahead
        loader = client.loader(None, [2], 10)
        taken = iter(loader)
        next(taken)
        # One is in use; the others are answered, or will be.
        wait_until(
            lambda: sum(s.requests for s in daemon_stats(daemon.address).sessions) == 1 + ahead,
            f"{ahead} batches ahead",
        )
        del taken


@pytest.mark.parametrize(
    ("prefetch", "timeout", "seconds"), [(None, None, 48), (2, None, 12), (8, None, 48), (8, 5, 5)]
)
def test_batches_that_are_made_together_have_the_time_of_all(
    start_daemon: Callable[..., Any],
    dataset: Path,
    prefetch: int | None,
    timeout: float | None,
    seconds: float,
) -> None:
    daemon = start_daemon(dataset, "--feature-io", "direct")
    with gz.connect(daemon.address, timeout=12) as client:
        loader = client.loader(range(90), [2], 10, prefetch=prefetch, timeout=timeout)
        asked = loader._submit(next(loader._seed_batches.batches(Progress(0, 0))), 0, 0)
        assert seconds - 5 < asked._deadline.remaining() <= seconds
        asked.wait()


def test_each_iteration_is_a_new_epoch_and_runs_repeat(client: gz.Client) -> None:
    runs = []
    for _ in range(2):
        loader = client.loader(range(90), FANOUT, 40, shuffle=True, seed=5)
        runs.append([contents(loader) for _ in range(3)])
    assert runs[0] == runs[1]
    first, second, third = runs[0]
    assert first != second != third
    assert contents(client.loader(range(90), FANOUT, 40, shuffle=True, seed=6)) != runs[0][0]


def test_draws_are_new_in_each_epoch_also_without_shuffle(client: gz.Client) -> None:
    loader = client.loader(range(64), FANOUT, 64)
    (first,), (second,) = list(loader), list(loader)
    assert first.n_id[:64].tolist() == second.n_id[:64].tolist()
    assert first.seed != second.seed
    assert first.edge_index.shape != second.edge_index.shape or not torch.equal(
        first.edge_index, second.edge_index
    )


def test_set_epoch_repeats_an_epoch(client: gz.Client) -> None:
    loader = client.loader(range(90), FANOUT, 40, shuffle=True)
    epochs = [contents(loader) for _ in range(3)]
    loader.set_epoch(1)
    assert contents(loader) == epochs[1]
    assert contents(loader) == epochs[2]
    with pytest.raises(ValueError, match="epoch is -1"):
        loader.set_epoch(-1)


@pytest.mark.parametrize("world_size", [2, 3])
@pytest.mark.parametrize("remainder", [0, 1, -2, -1])
def test_ranks_share_an_epoch(client: gz.Client, world_size: int, remainder: int) -> None:
    batch_size = 8
    count = 4 * world_size * batch_size + remainder
    loaders = [
        client.loader(range(count), [2], batch_size, shuffle=True, rank=rank, world_size=world_size)
        for rank in range(world_size)
    ]
    epochs = [seeds_of(loader) for loader in loaders]
    assert len({len(loader) for loader in loaders} | {len(epoch) for epoch in epochs}) == 1
    assert sorted(s for epoch in epochs for batch in epoch for s in batch) == list(range(count))
    assert all(batch for epoch in epochs for batch in epoch)


def test_ranks_draw_differently(client: gz.Client) -> None:
    seeds = [
        {batch.seed for batch in client.loader(range(64), [2], 8, rank=rank, world_size=2)}
        for rank in range(2)
    ]
    assert not seeds[0] & seeds[1]


def test_fewer_seeds_than_ranks_is_an_error(client: gz.Client) -> None:
    with pytest.raises(ValueError, match="2 seeds for 3 ranks"):
        client.loader([1, 2], FANOUT, 8, rank=0, world_size=3)


def test_drop_last_leaves_out_what_does_not_fill_a_batch_everywhere(client: gz.Client) -> None:
    loader = client.loader(range(100), [2], 16, drop_last=True, world_size=2, rank=1)
    assert [len(batch) for batch in seeds_of(loader)] == [16, 16, 16]
    assert len(loader) == 3


def test_a_batch_sampler_makes_the_batches(client: gz.Client) -> None:
    sampler = [[1, 2], np.array([3]), torch.tensor([4, 4])]
    loader = client.loader(None, FANOUT, batch_sampler=sampler)
    assert len(loader) == 3
    assert seeds_of(loader) == [[1, 2], [3], [4, 4]]
    assert seeds_of(loader) == [[1, 2], [3], [4, 4]]
    with pytest.raises(ValueError, match="batch_sampler and shuffle"):
        client.loader(None, FANOUT, batch_sampler=sampler, shuffle=True)
    with pytest.raises(ValueError, match="batch_sampler and seeds"):
        client.loader([1], FANOUT, batch_sampler=sampler)


def test_a_batch_sampler_without_length_gives_a_loader_without_length(client: gz.Client) -> None:
    def endless() -> Iterator[list[int]]:
        while True:
            yield [1]

    loader = client.loader(None, FANOUT, batch_sampler=endless())
    assert next(iter(loader)).batch_size == 1
    with pytest.raises(TypeError, match=r"no len\(\)"):
        len(loader)


def test_a_batch_sampler_is_told_the_epoch(client: gz.Client) -> None:
    class Sampler:
        epoch = 0

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

        def __iter__(self) -> Iterator[list[int]]:
            yield [self.epoch]

    loader = client.loader(None, [1], batch_sampler=Sampler())
    assert [seeds_of(loader), seeds_of(loader)] == [[[0]], [[1]]]


def test_batch_size_is_needed_without_a_batch_sampler(client: gz.Client) -> None:
    with pytest.raises(ValueError, match=r"batch_size is missing: give .* batch_size=1024"):
        client.loader(None, FANOUT)


def test_a_loader_shows_what_it_goes_through(client: gz.Client) -> None:
    cases = [
        (
            client.loader("train", FANOUT, 32, rank=1, world_size=2),
            "Loader('train' of 'small': 667 seeds, 11 batches of 32, fanout [3, 2], rank 1 of 2)",
        ),
        (
            client.loader(None, [5], 1024),
            "Loader('small': 2,000 seeds, 2 batches of 1024, fanout [5], rank 0 of 1)",
        ),
        (
            client.loader([1, 2], [5], 8),
            "Loader('small': 2 seeds, 1 batch of 8, fanout [5], rank 0 of 1)",
        ),
        (
            client.link_loader([[1, 2], [3, 4]], [5], 1),
            "Loader('small': 2 links, 2 batches of 1, fanout [5], rank 0 of 1)",
        ),
        (
            client.loader(None, [5], batch_sampler=iter([[1]])),
            "Loader('small': batches of a batch_sampler, fanout [5], rank 0 of 1)",
        ),
    ]
    assert [repr(loader) for loader, _ in cases] == [text for _, text in cases]


def test_an_argument_that_loaders_do_not_have_names_the_client_s_method(client: gz.Client) -> None:
    unknown = "got an unexpected keyword argument 'num_workers'"
    with pytest.raises(TypeError, match=rf"^Client\.loader\(\) {unknown}"):
        client.loader("train", FANOUT, 8, num_workers=4)
    with pytest.raises(TypeError, match=rf"^Client\.link_loader\(\) {unknown}"):
        client.link_loader(None, FANOUT, 8, num_workers=4)


@pytest.mark.parametrize("prefetch", [0, 1, 4, 9])
def test_batches_do_not_depend_on_prefetch(client: gz.Client, prefetch: int) -> None:
    expected = contents(client.loader(range(200), FANOUT, 16, shuffle=True))
    assert contents(client.loader(range(200), FANOUT, 16, shuffle=True, prefetch=prefetch)) == (
        expected
    )


def test_a_loader_passes_its_options_on(client: gz.Client, graph: gz.Graph) -> None:
    loader = client.loader(
        range(32), [4], 32, seed_columns=["y"], columns=[], weighted=True, direction="out"
    )
    (batch,) = loader
    expected = graph.sample(range(32), [4], seed=batch.seed, weighted=True, direction="out")
    assert np.array_equal(batch.edge_index, expected.edge_index)
    assert len(batch.y) == 32
    assert "x" not in batch


def test_train_and_validation_loaders_live_side_by_side(client: gz.Client) -> None:
    train = client.loader(range(100), FANOUT, 10, shuffle=True)
    valid = client.loader(range(100, 160), FANOUT, 10)
    expected = contents(client.loader(range(100), FANOUT, 10, shuffle=True))
    seen = []
    for batch in train:
        seen += contents([batch])
        assert sum(map(len, seeds_of(valid))) == 60
        assert client.sample([1], [1]).batch_size == 1
    assert seen == expected


def test_break_gives_back_what_was_prepared(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    """With room for few batches only, epochs that are left early would fill it up."""
    daemon = start_daemon(dataset, "--shm-limit", "64M")
    with gz.connect(daemon.address, timeout=20.0) as client:
        loader = client.loader(None, [20], 1000, prefetch=4, shuffle=True)
        for _ in range(50):
            for batch in loader:
                assert batch.batch_size == 1000
                break


def test_an_iterator_ends_when_a_newer_one_starts(client: gz.Client) -> None:
    loader = client.loader(range(100), FANOUT, 10)
    older = iter(loader)
    next(older)
    newer = iter(loader)
    with pytest.raises(RuntimeError, match="newer"):
        next(older)
    assert len(list(newer)) == 10


def test_an_error_of_a_batch_ends_the_epoch_and_not_the_loader(client: gz.Client) -> None:
    loader = client.loader(None, FANOUT, batch_sampler=[[1], [5000], [2]])
    iterator = iter(loader)
    assert next(iterator).batch_size == 1
    with pytest.raises(gz.InvalidRequest, match="5000"):
        next(iterator)
    assert next(iter(loader)).batch_size == 1


def test_an_error_of_a_sampler_comes_after_the_batches_before_it(client: gz.Client) -> None:
    def failing() -> Iterator[list[int]]:
        yield [1]
        yield [2]
        raise ZeroDivisionError

    iterator = iter(client.loader(None, FANOUT, batch_sampler=failing(), prefetch=4))
    assert seeds_of([next(iterator), next(iterator)]) == [[1], [2]]
    with pytest.raises(ZeroDivisionError):
        next(iterator)


def test_a_loader_of_a_closed_client_says_so(daemon: Any) -> None:
    with gz.connect(daemon.address) as client:
        loader = client.loader(None, FANOUT, 10)
    with pytest.raises(gz.RequestCancelled, match="closed"):
        next(iter(loader))
    with pytest.raises(gz.RequestCancelled, match="closed"):
        client.loader(None, FANOUT, 10)


def test_loaders_that_are_gone_leave_their_session_to_the_next(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--max-sessions", "2")
    with gz.connect(daemon.address) as client:
        assert client.sample([1], [1]).batch_size == 1
        for _ in range(5):
            assert len(list(client.loader(None, FANOUT, 500))) == 4


@pytest.mark.parametrize("taken", [0, 1, 3, 8, 9])
def test_a_loader_resumes_with_the_very_next_batch(client: gz.Client, taken: int) -> None:
    """Nine batches an epoch: after none, some, all but one, all."""

    def make() -> gz.Loader:
        return client.loader(range(90), FANOUT, 10, shuffle=True, seed=3)

    whole = make()
    two_epochs = [*contents(whole), *contents(whole)]
    saved = make()
    iterator = iter(saved)
    for _ in range(taken):
        next(iterator)
    state = saved.state_dict()
    resumed = make()
    resumed.load_state_dict(state)
    rest = contents(resumed)
    assert rest == two_epochs[taken : taken + len(rest)]
    assert len(rest) == (9 - taken if taken < 9 else 9)


def test_state_counts_batches_handed_out_not_prepared(client: gz.Client) -> None:
    loader = client.loader(range(90), FANOUT, 10, prefetch=4)
    assert (loader.state_dict()["epoch"], loader.state_dict()["batches"]) == (0, 0)
    list(itertools.islice(loader, 2))
    assert (loader.state_dict()["epoch"], loader.state_dict()["batches"]) == (0, 2)
    list(loader)
    assert (loader.state_dict()["epoch"], loader.state_dict()["batches"]) == (2, 0)


def test_state_of_one_rank_serves_all(client: gz.Client) -> None:
    def make(rank: int) -> gz.Loader:
        return client.loader(range(90), FANOUT, 10, rank=rank, world_size=2, shuffle=True)

    expected = contents(make(1))
    first = make(0)
    iterator = iter(first)
    next(iterator)
    second = make(1)
    second.load_state_dict(first.state_dict())
    assert contents(second) == expected[1:]


def test_set_epoch_keeps_the_place_inside_the_same_epoch(client: gz.Client) -> None:
    loader = client.loader(range(90), FANOUT, 10)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    loader.load_state_dict(state)
    loader.set_epoch(0)
    assert len(list(loader)) == 8
    loader.load_state_dict(state)
    loader.set_epoch(1)
    assert len(list(loader)) == 9


def test_a_state_of_another_loader_is_refused(client: gz.Client) -> None:
    state = client.loader(range(90), FANOUT, 10).state_dict()
    with pytest.raises(ValueError, match="batch_size 10, this loader has 20"):
        client.loader(range(90), FANOUT, 20).load_state_dict(state)
    with pytest.raises(ValueError, match="a loader of other seeds"):
        client.loader(range(1, 91), FANOUT, 10).load_state_dict(state)
    for key, value in [("dataset", "00"), ("sampler_version", 0)]:
        with pytest.raises(gz.DatasetChanged, match=key):
            client.loader(range(90), FANOUT, 10).load_state_dict(state | {key: value})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda state: None, TypeError, "the state is None, expected what state_dict"),
        (lambda state: [1], TypeError, r"the state is \[1\], expected"),
        (lambda state: {}, ValueError, "the state has no 'version', .*found nothing"),
        (lambda state: {"loader": state}, ValueError, "no 'version', .*found loader"),
        (lambda state: without(state, "epoch"), ValueError, "the state has no 'epoch'"),
        (lambda state: state | {"version": 7}, ValueError, "version 7, expected 1"),
        (lambda state: state | {"epoch": -1}, ValueError, "the state has epoch -1"),
        (lambda state: state | {"epoch": None}, ValueError, "the state has epoch None"),
        (lambda state: state | {"batches": "3"}, ValueError, "the state has batches '3'"),
        (lambda state: state | {"seed": 0.5}, ValueError, "the state has seed 0.5"),
        (lambda state: state | {"seed": 2**70}, ValueError, f"{2**70}"),
    ],
)
def test_a_bad_state_says_what_is_wrong_and_changes_nothing(
    client: gz.Client,
    change: Callable[[dict[str, Any]], Any],
    error: type[Exception],
    message: str,
) -> None:
    loader = client.loader(range(90), FANOUT, 10)
    batches = iter(loader)
    next(batches)
    before = loader.state_dict()
    with pytest.raises(error, match=message):
        loader.load_state_dict(change(before))
    assert loader.state_dict() == before
    assert len(list(batches)) == 8


def without(state: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name != key}


def test_a_state_may_have_numbers_of_numpy(client: gz.Client) -> None:
    loader = client.loader(range(90), FANOUT, 10)
    loader.load_state_dict(loader.state_dict() | {"batches": np.int64(4)})
    assert len(list(loader)) == 5


def test_a_loader_that_gets_no_session_says_so_and_goes_on_when_there_is_one(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--max-sessions", "1")
    with gz.connect(daemon.address) as client:
        loader = client.loader(range(90), FANOUT, 10)
        expected = contents(loader.share(0, 0, 1))
        daemon.kill()
        daemon.start()
        with gz.connect(daemon.address):  # has the only session
            early = loader.share(0, 0, 1)
            with pytest.raises(gz.ResourceExhausted, match="all 1 sessions are in use"):
                next(loader.share(0, 0, 1))
        wait_until(lambda: not daemon_stats(daemon.address).sessions, "the end of its session")
        assert contents(early) == expected


def test_errors_of_a_sampler_come_after_the_batches_before_it(client: gz.Client) -> None:
    def batches() -> Iterator[Any]:
        yield [1, 2]
        yield [3]
        raise gz.ResourceExhausted("of the user's own")

    loader = client.loader(None, FANOUT, batch_sampler=batches(), prefetch=4)
    iterator = iter(loader)
    assert [next(iterator).batch_size for _ in range(2)] == [2, 1]
    with pytest.raises(gz.ResourceExhausted, match="of the user's own"):
        next(iterator)


class InterruptedOnce:
    """A batch_sampler that is interrupted in its third batch, the first time only."""

    def __init__(self) -> None:
        self.interrupted = False

    def __iter__(self) -> Iterator[list[int]]:
        for seed in range(6):
            if seed == 2 and not self.interrupted:
                self.interrupted = True
                raise KeyboardInterrupt
            yield [seed]


@pytest.mark.parametrize("prefetch", [0, 1, 2])
def test_an_interrupted_epoch_is_over_and_resumes_with_the_batch_that_was_not_handed_out(
    client: gz.Client, prefetch: int
) -> None:
    sampler = InterruptedOnce()
    loader = client.loader(None, FANOUT, batch_sampler=sampler, prefetch=prefetch)
    batches = iter(loader)
    found: list[list[int]] = []

    def take_all() -> None:
        for batch in batches:
            found.extend(seeds_of([batch]))

    with pytest.raises(KeyboardInterrupt):
        take_all()
    with pytest.raises(RuntimeError, match="the epoch was interrupted"):
        next(batches)
    loader.load_state_dict(loader.state_dict())
    assert found + seeds_of(loader) == [[seed] for seed in range(6)]


def test_a_long_split_is_read_by_a_daemon_with_little_memory(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    """Its ids are asked for in pieces that fit into what such a daemon has for requests."""
    gz.generate(tmp_path / "data", nodes=500_000, edges=100_000, dim=1)
    (tmp_path / "data/train.gd").unlink()
    gz.write_features(tmp_path / "data/train.gd", np.arange(500_000), role="ids")
    daemon = start_daemon(tmp_path / "data", "--work-memory", "24M")
    with gz.connect(daemon.address) as client:
        assert len(client.loader("train", [1], 1000)) == 500
