"""Loaders over seeds of types, with times; daemons that die, data that changes, forked children."""

from __future__ import annotations

import asyncio
import itertools
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from contents import typed_contents
from forking import in_child
from graphzero import _engine
from graphzero.client.loader.seed_batches import Progress, SamplerBatches
from graphzero.torch import BatchDataset
from typed_dataset import RATES, TypedData, write_typed_dataset
from waiting import wait_until

pytestmark = pytest.mark.slow

FANOUT = [3, 2]
MIXED = {"user": "train", "movie": "train_mask"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TypedData:
    return write_typed_dataset(tmp_path_factory.mktemp("typed") / "shop")


@pytest.fixture(scope="module")
def address(data: TypedData, daemon_of: Callable[[Path], Any]) -> str:
    address: str = daemon_of(data.path).address
    return address


@pytest.fixture
def client(address: str) -> Any:
    with gz.connect(address) as connected:
        yield connected


def seeds_of(batch: Any) -> dict[str, list[int]]:
    found = {name: batch[name] for name in batch.node_types}
    return {
        name: nodes.n_id[: nodes.batch_size].tolist()
        for name, nodes in found.items()
        if nodes.batch_size
    }


def epoch(loader: Any) -> dict[str, list[int]]:
    """All seeds of an epoch, by type, in the order in which they came."""
    seen: dict[str, list[int]] = {}
    for batch in loader:
        for name, ids in seeds_of(batch).items():
            seen.setdefault(name, []).extend(ids)
    return seen


def test_seeds_may_be_a_split_ids_a_mask_or_all_nodes_of_a_type(
    client: gz.Client, data: TypedData
) -> None:
    movies = np.flatnonzero(data.columns["movie/train_mask"])
    every = {"movie": list(range(120))}
    for seeds, expected in (
        (("user", "train"), {"user": data.columns["user/train"].tolist()}),
        (("movie", "train_mask"), {"movie": movies.tolist()}),
        (("movie", data.columns["movie/train_mask"]), {"movie": movies.tolist()}),
        (("movie", torch.tensor([5, 3])), {"movie": [5, 3]}),
        (("movie", None), every),
        ("movie", every),
        ({"movie": slice(0, 120)}, every),
    ):
        loader = client.loader(seeds, FANOUT, 17, columns=[])
        assert len(loader) == -(-len(next(iter(expected.values()))) // 17)
        assert epoch(loader) == expected


def test_seeds_of_several_types_are_mixed(client: gz.Client, data: TypedData) -> None:
    users = data.columns["user/train"].tolist()
    movies = np.flatnonzero(data.columns["movie/train_mask"]).tolist()
    in_order = client.loader(MIXED, FANOUT, 13, columns=[])
    assert epoch(in_order) == {"user": users, "movie": movies}
    shuffled = client.loader(MIXED, FANOUT, 13, shuffle=True, seed=3, columns=[])
    first, second = epoch(shuffled), epoch(shuffled)
    assert {name: sorted(ids) for name, ids in first.items()} == {"user": users, "movie": movies}
    assert first != second
    assert any(len(seeds_of(batch)) == 2 for batch in shuffled)


@pytest.mark.parametrize(
    ("seeds", "options", "error", "message"),
    [
        (("film", None), {}, gz.InvalidRequest, "'film', expected one of"),
        ("film", {}, gz.InvalidRequest, "'film', expected one of"),
        (None, {}, gz.InvalidRequest, "seeds: found ids of no type"),
        ([1, 2], {}, gz.InvalidRequest, "seeds: found ids of no type"),
        (("user", "valid"), {}, gz.NotFound, "no split 'valid' of type 'user', it has train"),
        (("tag", "train"), {}, gz.NotFound, "no split 'train' of type 'tag', it has none"),
        (("movie", [3, 120]), {}, gz.InvalidRequest, r"seeds of type 'movie'\[1\] is 120, expect"),
        (("movie", np.ones(300, bool)), {}, ValueError, r"a mask of shape \(300,\), expected \(12"),
        (("movie", [1]), {"time": [1, 2]}, gz.InvalidRequest, "expected 1 times"),
        (("user", None), {"time": "own"}, gz.InvalidRequest, "of type 'user' have no times"),
        (("user", None), {"time": "released"}, gz.NotFound, "'released', expected times"),
        ({}, {}, ValueError, "0 seeds for 1 ranks"),
    ],
)
def test_seeds_that_make_no_sense_are_errors(
    client: gz.Client, seeds: Any, options: dict[str, Any], error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        client.loader(seeds, FANOUT, 10, **options)


def test_batches_are_those_of_direct_calls(client: gz.Client) -> None:
    loader = client.loader(MIXED, {RATES: FANOUT}, 20, shuffle=True, default_fanout=[1, 1])
    for batch in itertools.islice(loader, 3):
        again = client.sample(
            seeds_of(batch), {RATES: FANOUT}, default_fanout=[1, 1], seed=batch.seed
        )
        assert typed_contents(again) == typed_contents(batch)


def test_times_belong_to_their_seeds(client: gz.Client, data: TypedData) -> None:
    joined, released = data.columns["user/joined"], data.columns["movie/released"]
    users = data.columns["user/train"]
    ways = {
        "a column": (("user", "train"), "joined"),
        "an array": (("user", users), joined[users]),
        "dates": (("user", users), joined[users].astype("datetime64[s]")),
        "own": (("movie", None), "own"),
        "columns": (MIXED, {"user": "joined", "movie": "released"}),
        "one array, in the order of the types": (
            {"movie": [5, 6, 7], "user": users},
            np.concatenate([released[[5, 6, 7]], joined[users]]),
        ),
        "arrays": (
            {"user": users, "movie": [5, 6, 7]},
            {"user": joined[users], "movie": released[[5, 6, 7]]},
        ),
    }
    by_type = {"user": joined, "movie": released}
    for name, (seeds, time) in ways.items():
        loader = client.loader(seeds, FANOUT, 16, shuffle=True, time=time, columns=[])
        for batch in loader:
            wanted = [by_type[t][ids] for t, ids in seeds_of(batch).items()]
            assert batch.seed_time.tolist() == np.concatenate(wanted).tolist(), name
            later = released[batch["movie"].n_id[batch["movie"].batch_size :]]
            tree = batch["movie"].batch[batch["movie"].batch_size :]
            assert (later <= batch.seed_time.numpy()[tree]).all(), name


def test_original_ids_of_several_types_keep_the_order_of_their_times(
    tmp_path: Path, daemon_of: Callable[[Path], Any]
) -> None:
    ends = {"source": {"column": "u", "table": "user"}, "target": {"column": "m", "table": "movie"}}
    tables = {
        "user": {"data": {"id": [11, 12]}, "key": "id"},
        "movie": {"data": {"id": [7, 8]}, "key": "id"},
        "ratings": {
            "data": {"u": [11, 12], "m": [7, 8], "day": [1, 2]},
            "edges": ends,
            "name": "rates",
            "time": "day",
        },
    }
    gz.import_tables(tables, tmp_path / "cinema")
    with gz.connect(daemon_of(tmp_path / "cinema").address) as client:
        seeds, times = {"movie": [8], "user": [11, 12]}, [5, 6, 7]
        (batch,) = client.loader(seeds, [1], 3, time=times, original_ids=True)
        sizes = {name: batch[name].batch_size for name in batch.node_types}
        by_type = np.split(batch.seed_time.numpy(), np.cumsum(list(sizes.values()))[:-1])
        found = {name: part.tolist() for name, part in zip(sizes, by_type, strict=True)}
        assert found == {"user": [6, 7], "movie": [5]}
        for everyone in ("user", ("user", None), {"user": None}):
            (batch,) = client.loader(everyone, [1], 2, original_ids=True)
            assert batch["user"].n_id[:2].tolist() == [0, 1]
        mixed = client.loader({"movie": [8], "user": None}, [1], 3, original_ids=True)
        assert {n: len(ids) for n, ids in epoch(mixed).items()} == {"user": 2, "movie": 1}


def test_one_time_for_a_whole_epoch(client: gz.Client) -> None:
    for batch in client.loader(("user", "train"), FANOUT, 40, time=np.datetime64(7, "s")):
        assert set(batch.seed_time.tolist()) == {7}


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_ranks_share_an_epoch(client: gz.Client, world_size: int, data: TypedData) -> None:
    options: dict[str, Any] = {
        "shuffle": True,
        "seed": 1,
        "columns": [],
        "time": {"user": "joined", "movie": "released"},
    }
    loaders = [
        client.loader(MIXED, FANOUT, 11, rank=rank, world_size=world_size, **options)
        for rank in range(world_size)
    ]
    assert len({len(loader) for loader in loaders}) == 1
    seen = [epoch(loader) for loader in loaders]
    users = sorted(itertools.chain(*(part.get("user", []) for part in seen)))
    assert users == data.columns["user/train"].tolist()


def test_a_loader_resumes_with_the_very_next_batch(client: gz.Client) -> None:
    times = {"user": "joined", "movie": "released"}
    options: dict[str, Any] = {"shuffle": True, "seed": 4, "time": times}
    loader = client.loader(MIXED, FANOUT, 20, **options)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    expected = [typed_contents(batch) for batch in batches]
    resumed = client.loader(MIXED, FANOUT, 20, **options)
    resumed.load_state_dict(state)
    assert [typed_contents(batch) for batch in resumed] == expected


def test_a_state_of_other_seeds_or_times_is_refused(client: gz.Client) -> None:
    def loader(seeds: Any, **options: Any) -> Any:
        return client.loader(seeds, FANOUT, 20, **options)

    state = loader(("movie", [1, 2, 3]), time=[1, 2, 3]).state_dict()
    loader(("movie", [1, 2, 3]), time=[1, 2, 3]).load_state_dict(state)
    for other in (
        loader(("user", [1, 2, 3]), time=[1, 2, 3]),
        loader(("movie", [1, 2, 4]), time=[1, 2, 3]),
        loader(("movie", [1, 2, 3]), time=[1, 2, 4]),
        loader({"movie": [1, 2], "user": [3]}, time=[1, 2, 3]),
    ):
        with pytest.raises(ValueError, match="of other seeds"):
            other.load_state_dict(state)


def test_a_batch_sampler_may_fill_the_same_buffer_for_every_batch(client: gz.Client) -> None:
    def batches() -> Iterator[Any]:
        buffer = np.empty(1, np.int64)
        for seed in range(3):
            buffer[0] = seed
            yield "movie", buffer

    sampler = SamplerBatches(batches(), client.info().dataset.schema)
    found: list[Any] = list(sampler.batches(Progress(0, 0)))
    assert [batch.by_type[0][1].tolist() for batch in found] == [[0], [1], [2]]


def test_a_batch_sampler_makes_batches_of_types(client: gz.Client) -> None:
    batches = [{"user": [1, 2], "movie": [3]}, ("movie", [4]), {"user": [5]}]
    loader = client.loader(None, FANOUT, batch_sampler=batches, columns=[])
    assert [seeds_of(batch) for batch in loader] == [
        {"user": [1, 2], "movie": [3]},
        {"movie": [4]},
        {"user": [5]},
    ]
    own = client.loader(None, FANOUT, batch_sampler=[("movie", [4])], time="own", columns=[])
    assert next(iter(own)).seed_time is not None
    with pytest.raises(ValueError, match="time is an array"):
        client.loader(None, FANOUT, batch_sampler=batches, time=[1, 2])
    with pytest.raises(gz.InvalidRequest, match="of no type"):
        next(iter(client.loader(None, FANOUT, batch_sampler=[[1, 2]])))


def test_torch_s_data_loader_gets_copies_from_its_workers(address: str) -> None:
    dataset = BatchDataset(address, ("user", "train"), FANOUT, 30, shuffle=True, time="joined")
    expected = [typed_contents(batch) for batch in dataset]
    dataset.set_epoch(0)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2)
    assert [typed_contents(batch) for batch in loader] == expected


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_gets_the_same_batches(client: gz.Client) -> None:
    batch = client.sample({"user": range(20)}, FANOUT, seed=1, time=5)
    expected = typed_contents(batch)
    loader = client.loader(MIXED, FANOUT, 30, shuffle=True)
    first = typed_contents(next(iter(loader)))
    loader.set_epoch(0)

    def child() -> None:
        assert typed_contents(batch) == expected  # inherited
        again = client.sample({"user": range(20)}, FANOUT, seed=1, time=5)
        assert typed_contents(again) == expected
        assert typed_contents(next(iter(loader))) == first

    in_child(child)
    assert typed_contents(client.sample({"user": range(20)}, FANOUT, seed=1, time=5)) == expected


def test_event_loops_get_the_same(address: str, client: gz.Client) -> None:
    async def ask() -> Any:
        async with gz.aconnect(address) as connected:
            calls = [connected.sample({"user": [n]}, FANOUT, seed=n, time=3) for n in range(5)]
            batches = await asyncio.gather(*calls)
            found = await connected.find_nodes(["u009"], type="user")
            return batches, found.tolist(), connected.info().dataset

    batches, found, info = asyncio.run(ask())
    assert found == [9]
    assert info == client.info().dataset
    for n, batch in enumerate(batches):
        again = client.sample({"user": [n]}, FANOUT, seed=n, time=3)
        assert typed_contents(batch) == typed_contents(again)


def test_a_client_that_was_sent_elsewhere_is_connected_to_the_same(client: gz.Client) -> None:
    with pickle.loads(pickle.dumps(client)) as copy:
        assert copy.info().dataset == client.info().dataset
        assert copy.sample({"user": [1]}, FANOUT)["user"].batch_size == 1


def test_futures(client: gz.Client) -> None:
    future = client.sample_async({"user": [1, 2]}, FANOUT, seed=8)
    expected = client.sample({"user": [1, 2]}, FANOUT, seed=8)
    assert typed_contents(future.result(60)) == typed_contents(expected)


def test_the_same_batches_after_a_restart_and_a_kill(
    start_daemon: Callable[..., Any], data: TypedData
) -> None:
    daemon = start_daemon(data.path)
    with gz.connect(daemon.address, retry=True) as client:
        options: dict[str, Any] = {"shuffle": True, "time": {"user": "joined", "movie": "released"}}
        loader = client.loader(MIXED, FANOUT, 15, **options)
        expected = [typed_contents(batch) for batch in loader]
        loader.set_epoch(0)
        batches = iter(loader)
        seen = [typed_contents(next(batches)) for _ in range(3)]
        daemon.kill()
        daemon.start()
        seen += [typed_contents(next(batches)) for _ in range(2)]
        assert daemon.stop() == 0
        daemon.start()
        seen += [typed_contents(batch) for batch in batches]
        assert seen == expected


def test_tensors_outlive_the_daemon(start_daemon: Callable[..., Any], data: TypedData) -> None:
    daemon = start_daemon(data.path)
    client = gz.connect(daemon.address)
    batch = client.sample({"user": range(30)}, FANOUT)
    x, expected = batch["user"].x, batch["user"].x.clone()
    del batch
    client.close()
    daemon.kill()
    assert torch.equal(x, expected)


def test_released_batches_give_their_memory_back(
    start_daemon: Callable[..., Any], data: TypedData
) -> None:
    daemon = start_daemon(data.path, "--shm-limit", "8M")
    with gz.connect(daemon.address) as client:
        for _ in range(200):  # more than fit at a time
            batch = client.sample({"user": range(300)}, [-1, -1])
            batch.release()
            del batch


def test_flat_and_typed_datasets_in_one_daemon(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "flat").symlink_to(dataset)
    write_typed_dataset(tmp_path / "shop")
    write_typed_dataset(tmp_path / "other", seed=9, times=False)
    daemon = start_daemon(tmp_path)
    with (
        gz.connect(daemon.address, dataset="flat") as flat,
        gz.connect(daemon.address, dataset="shop") as shop,
        gz.connect(daemon.address, dataset="other") as other,
    ):
        assert flat.sample([1, 2], FANOUT).batch_size == 2
        assert shop.sample({"user": [1]}, FANOUT, time=3)["user"].batch_size == 1
        assert other.sample({"user": [1]}, FANOUT)["user"].batch_size == 1
        assert [bool(found.types) for found in flat.datasets()] == [False, True, True]
        with pytest.raises(gz.InvalidRequest, match="has no times, of edges or of nodes"):
            other.sample({"user": [1]}, FANOUT, time=3)
        with pytest.raises(gz.InvalidRequest, match="has no times"):
            flat.sample([1], FANOUT, time=3)
        with pytest.raises(gz.InvalidRequest, match="seeds: found ids by type"):
            flat.sample({"user": [1]}, FANOUT)
        with pytest.raises(gz.InvalidRequest, match="type is 'user', but dataset 'flat' has none"):
            flat.find_nodes(["a"], type="user")
    output = daemon.output()
    assert "shop: 429 nodes of 3 types with 5 relations, 3,300 edges" in output
    assert "user/x float32[8]" in output


def test_a_replaced_dataset_is_another_one(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    shop, other = tmp_path / "shop", tmp_path / "other"
    write_typed_dataset(shop)
    write_typed_dataset(other, seed=8)
    daemon = start_daemon(shop)
    with gz.connect(daemon.address, retry=True) as client:
        before = typed_contents(client.sample({"user": range(30)}, FANOUT, seed=1))
        state = client.loader(MIXED, FANOUT, 10).state_dict()
        _engine.exchange_names(str(shop), str(other))
        os.kill(daemon.pid, signal.SIGHUP)
        wait_until(lambda: "reloaded" in daemon.output(), "the reload")
        # The session keeps what it opened.
        assert typed_contents(client.sample({"user": range(30)}, FANOUT, seed=1)) == before
        with gz.connect(daemon.address) as fresh:
            after = typed_contents(fresh.sample({"user": range(30)}, FANOUT, seed=1))
            assert after != before
            with pytest.raises(gz.DatasetChanged):
                fresh.loader(MIXED, FANOUT, 10).load_state_dict(state)
        daemon.kill()
        daemon.start()
        with pytest.raises(gz.DatasetChanged):
            client.sample({"user": range(30)}, FANOUT)


def test_a_column_that_is_replaced_below_a_type_is_found(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    data = write_typed_dataset(tmp_path / "shop")
    daemon = start_daemon(data.path)
    gz.write_features(data.path / "user/x.gd", np.ones((300, 8), np.float32), overwrite=True)
    os.kill(daemon.pid, signal.SIGHUP)
    wait_until(lambda: "reloaded 1 datasets" in daemon.output(), "the reload")
    assert "shop (unchanged)" not in daemon.output()
    with gz.connect(daemon.address) as client:
        assert (client.sample({"user": [1]}, [2])["user"].x == 1).all()


def test_an_older_daemon_is_not_asked_for_what_it_would_ignore(
    client: gz.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = client._pool.welcome.features
    before = list(features)
    for missing, call in (
        ("types", lambda: client.sample({"user": [1]}, FANOUT)),
        ("times", lambda: client.sample({"user": [1]}, FANOUT, time=3)),
        ("times", lambda: client.loader(("user", None), FANOUT, 10, time=3)),
    ):
        features.remove(missing)
        with pytest.raises(
            gz.InvalidRequest, match=f"older than its client and cannot do '{missing}'"
        ):
            call()
        del features[:]
        features.extend(before)
