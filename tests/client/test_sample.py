"""Requests through a daemon: the same bytes as the embedded engine, errors with the value."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from contents import same_sample
from gate import Gate
from graphzero.client.connect import reopen_client
from graphzero.client.daemon.daemon_calls import daemon_stats
from waiting import DEADLINE_S, wait_until

SEEDS = [7, 11, 7, 1999, 0]
FANOUT = [4, 3]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"replace": True},
        {"weighted": True},
        {"direction": "out"},
        {"replace": True, "weighted": True, "direction": "out", "edge_ids": True},
    ],
)
def test_sample_is_that_of_the_embedded_engine(
    client: gz.Client, graph: gz.Graph, options: dict[str, Any]
) -> None:
    batch = client.sample(SEEDS, FANOUT, seed=5, **options)
    same_sample(batch, graph.sample(SEEDS, FANOUT, seed=5, **options))
    assert batch.seed == 5


@pytest.mark.parametrize(
    "seeds",
    [SEEDS, np.array(SEEDS, np.int32), torch.tensor(SEEDS), np.array([], np.int64), range(3)],
    ids=["list", "numpy", "torch", "empty", "range"],
)
def test_seeds_of_any_kind(client: gz.Client, graph: gz.Graph, seeds: Any) -> None:
    batch = client.sample(seeds, FANOUT, seed=1)
    same_sample(batch, graph.sample(list(seeds), FANOUT, seed=1))


def test_seeds_that_take_several_messages(client: gz.Client, graph: gz.Graph) -> None:
    seeds = np.resize(np.arange(graph.num_nodes), 300_000)
    batch = client.sample(seeds, [1], seed=1, columns=[])
    same_sample(batch, graph.sample(seeds, [1], seed=1))


def test_every_column_has_the_rows_of_n_id(client: gz.Client, column: Callable[[str], Any]) -> None:
    batch = client.sample(SEEDS, FANOUT)
    assert batch.keys() == ["n_id", "edge_index", "e_id", "edge_weight", "x", "y"]
    assert np.array_equal(batch.x, column("x")[batch.n_id])
    assert np.array_equal(batch["y"], column("y")[batch.n_id])
    assert batch.x.dtype == torch.float32
    assert batch.y.shape == batch.n_id.shape


def test_columns_can_be_chosen(client: gz.Client, column: Callable[[str], Any]) -> None:
    assert "x" not in client.sample(SEEDS, FANOUT, columns=[])
    batch = client.sample(SEEDS, FANOUT, seed_columns=["y"])
    assert np.array_equal(batch.x, column("x")[batch.n_id])
    assert np.array_equal(batch.y, column("y")[SEEDS])
    with pytest.raises(ValueError, match="'y' is in columns and in seed_columns"):
        client.sample(SEEDS, FANOUT, columns=["y"], seed_columns=["y"])
    with pytest.raises(TypeError, match="expected a list of names"):
        client.sample(SEEDS, FANOUT, columns="xy")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.sample(SEEDS, FANOUT, weight=1), "unexpected keyword argument 'weight'"),
        (lambda c: c.sample(SEEDS), "missing a required argument: 'fanout'"),
        (lambda c: c.sample(SEEDS, FANOUT, 3), "too many positional arguments"),
    ],
)
def test_wrong_arguments_are_those_of_the_method_that_was_called(
    client: gz.Client, call: Callable[[gz.Client], Any], message: str
) -> None:
    with pytest.raises(TypeError, match=rf"^Client\.sample\(\) .*{message}"):
        call(client)


def test_without_a_seed_each_batch_is_drawn_anew_and_can_be_repeated(client: gz.Client) -> None:
    first, second = (client.sample(range(200), [2]) for _ in range(2))
    assert first.seed != second.seed
    assert not np.array_equal(first.edge_index[0], second.edge_index[0])
    again = client.sample(range(200), [2], seed=first.seed)
    assert torch.equal(first.edge_index, again.edge_index)


def await_in_flight(daemon: Any, count: int) -> None:
    def found() -> int:
        return sum(session.in_flight for session in daemon_stats(daemon.address).sessions)

    wait_until(lambda: found() == count, lambda: f"{count} requests in flight, found {found()}")


def test_several_requests_are_in_flight_at_once_and_may_be_cancelled(
    start_daemon: Callable[..., Any], dataset: Path, gate: Gate, graph: gz.Graph
) -> None:
    daemon = start_daemon(dataset, setup=gate.setup)
    with gz.connect(daemon.address) as client:
        futures = [client.sample_async(SEEDS, FANOUT, seed=seed) for seed in range(20)]
        await_in_flight(daemon, 20)
        assert all(future.cancel() for future in futures[10:])
        await_in_flight(daemon, 10)
        gate.open()
        for seed, future in enumerate(futures[:10]):
            same_sample(future.result(DEADLINE_S), graph.sample(SEEDS, FANOUT, seed=seed))
        assert client.sample(SEEDS, FANOUT).batch_size == len(SEEDS)


@pytest.mark.parametrize(("options", "most"), [([], 64), (["--max-in-flight", "3"], 3)])
def test_more_requests_than_a_daemon_takes_at_a_time_wait_for_their_turn(
    start_daemon: Callable[..., Any],
    dataset: Path,
    gate: Gate,
    graph: gz.Graph,
    options: list[str],
    most: int,
) -> None:
    daemon = start_daemon(dataset, *options, setup=gate.setup)
    with gz.connect(daemon.address) as client:
        futures = [client.sample_async([seed], [2], seed=seed) for seed in range(500)]
        await_in_flight(daemon, most)
        assert futures[1].cancel()  # was sent: another one takes its place
        assert futures[140].cancel()
        await_in_flight(daemon, most)
        gate.open()
        for seed, future in enumerate(futures):
            if not future.cancelled():
                same_sample(future.result(DEADLINE_S), graph.sample([seed], [2], seed=seed))


def test_random_walks_are_those_of_the_embedded_engine(client: gz.Client, graph: gz.Graph) -> None:
    walks = client.random_walk(SEEDS, 10, p=0.5, q=2.0, restart=0.1, seed=3)
    expected = graph.random_walk(SEEDS, 10, p=0.5, q=2.0, restart=0.1, seed=3)
    assert np.array_equal(walks.nodes, expected.nodes)
    assert np.array_equal(walks.lengths, expected.lengths)
    assert walks.seed == 3
    assert isinstance(walks.nodes, torch.Tensor)


def test_gather_gives_rows_of_any_column(client: gz.Client, column: Callable[[str], Any]) -> None:
    assert np.array_equal(client.gather("x", SEEDS), column("x")[SEEDS])
    assert np.array_equal(client.gather("when", [29_999, 0]), column("when")[[29_999, 0]])
    assert np.array_equal(client.gather("train", [1, 2]), [3, 6])


def test_column_maps_the_whole_file(client: gz.Client, column: Callable[[str], Any]) -> None:
    mapped = client.column("x")
    assert isinstance(mapped, torch.Tensor)
    assert np.array_equal(mapped, column("x"))
    mapped.relu_()  # private to this process


def test_info_and_datasets_tell_what_is_served(client: gz.Client, dataset: Path) -> None:
    info = client.info()
    assert info.dataset.name == dataset.name
    assert info.dataset.num_nodes == 2000
    assert info.dataset.node_columns == ["x", "y"]
    assert info.dataset.columns["train"].role == "ids"
    assert info.dataset.columns["x"].shape == (2000, 16)
    assert info.transport == "shared_memory"
    assert [found.name for found in client.datasets()] == [dataset.name]
    assert client.datasets()[0].fingerprint == info.dataset.fingerprint


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda c: c.sample([2000], FANOUT), gz.InvalidRequest, "2000"),
        (lambda c: c.sample([-1], FANOUT), gz.InvalidRequest, "-1"),
        (lambda c: c.sample(SEEDS, [-2]), gz.InvalidRequest, "-2"),
        (lambda c: c.sample(SEEDS, 5), TypeError, "fanout is 5, expected a list"),
        (lambda c: c.sample(SEEDS, [2, 0.5]), TypeError, "fanout of hop 1 is 0.5"),
        (lambda c: c.loader([0, 2000], FANOUT, 2), gz.InvalidRequest, r"seeds\[1\] is 2000"),
        (lambda c: c.loader(None, FANOUT, 2, columns=["z"]), gz.NotFound, "no column 'z'"),
        (lambda c: c.sample(SEEDS, FANOUT, columns=["z"]), gz.NotFound, "z"),
        (lambda c: c.gather("z", SEEDS), gz.NotFound, "z"),
        (lambda c: c.gather("x", [2000]), gz.InvalidRequest, "2000"),
        (lambda c: c.column("z"), gz.NotFound, "z"),
        (lambda c: c.sample(SEEDS, FANOUT, direction="up"), ValueError, "up"),
        (lambda c: c.sample(SEEDS, FANOUT, seed=-1), ValueError, "-1"),
        (lambda c: c.sample([0.5], FANOUT), TypeError, "float"),
        (lambda c: c.random_walk(SEEDS, -1), ValueError, "-1"),
    ],
)
def test_errors_have_the_value_and_the_session_lives(
    client: gz.Client, call: Callable[[gz.Client], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call(client)
    assert client.sample(SEEDS, FANOUT).batch_size == len(SEEDS)


def test_a_pickled_client_connects_for_itself_to_the_same_data(
    client: gz.Client, daemon: Any
) -> None:
    with pickle.loads(pickle.dumps(client)) as copy:
        assert copy.info() == client.info()
        assert torch.equal(
            copy.sample(SEEDS, FANOUT, seed=1).n_id, client.sample(SEEDS, FANOUT, seed=1).n_id
        )
    client.sample(SEEDS, FANOUT)  # closing the copy did not close this one
    with pytest.raises(gz.DatasetChanged, match="was replaced since this client was sent"):
        reopen_client(client._options, fingerprint="another")


def test_sample_has_the_arguments_of_sample_async() -> None:
    waiting, starting = (
        inspect.signature(call) for call in (gz.Client.sample, gz.Client.sample_async)
    )
    assert waiting.parameters == starting.parameters
    assert waiting.return_annotation == "Batch | TypedBatch"
    assert starting.return_annotation == "Future[Batch | TypedBatch]"


def test_an_unknown_dataset_is_refused_with_those_there_are(daemon: Any, dataset: Path) -> None:
    with pytest.raises(gz.NotFound, match=dataset.name):
        gz.connect(daemon.address, dataset="other")


def test_a_closed_client_says_so(daemon: Any) -> None:
    with gz.connect(daemon.address) as client:
        pass
    client.close()
    with pytest.raises(gz.RequestCancelled, match="closed"):
        client.sample(SEEDS, FANOUT)


def test_inline_batches_are_the_same(daemon: Any, client: gz.Client) -> None:
    with gz.connect(daemon.address, transport="inline") as inline:
        ours, theirs = (c.sample(range(2000), [5, 5], seed=2) for c in (client, inline))
        assert inline.info().transport == "inline"
        assert ours.keys() == theirs.keys()
        for name in ours:
            assert torch.equal(ours[name], theirs[name])
        theirs.x.mul_(2)  # writable too
        assert len(inline.sample([], [2]).n_id) == 0


def test_arguments_that_exclude_each_other_are_errors(daemon: Any, dataset: Path) -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        gz.connect(daemon.address, data=dataset)
    with pytest.raises(ValueError, match="transport is 'shm'"):
        gz.connect(daemon.address, transport="shm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="inline"):
        gz.connect("localhost:1", transport="shared_memory")


def test_one_session_too_many_is_refused_at_once(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--max-sessions", "1")
    with gz.connect(daemon.address), pytest.raises(gz.ResourceExhausted, match="1"):
        gz.connect(daemon.address)


def test_a_client_with_one_loader_needs_one_session(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--max-sessions", "1")
    with gz.connect(daemon.address) as client:
        assert len(list(client.loader(None, FANOUT, 500))) == 4
