"""Original ids through a daemon: back from batches, and as seeds."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

NODES = 300


@pytest.fixture(scope="module", params=["integer", "text", "ordered integer", "ordered text"])
def relabelled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A ring of nodes with original ids, in an order of their own, and their dataset: numbered by
    their ids, or in an order of communities."""
    directory = tmp_path_factory.mktemp(request.param.replace(" ", "-"))
    rng = np.random.default_rng(0)
    ids: list[Any] = rng.permutation(NODES * 1000)[:NODES].tolist()
    if "text" in request.param:
        ids = [f"user-{i}" for i in ids]
    parquet.write_table(
        pa.table({"src": ids, "dst": ids[1:] + ids[:1]}), directory / "ring.parquet"
    )
    gz.import_files(directory / "ring.parquet", directory / "ds", relabel=True)
    if "ordered" in request.param:
        report = gz.reorder(directory / "ds", directory / "ds", overwrite=True)
        assert report.order == "community"
    return ids, directory / "ds"


@pytest.fixture(params=["shared_memory", "inline"])
def connected(
    request: pytest.FixtureRequest, relabelled: Any, daemon_of: Callable[[Path], Any]
) -> Any:
    ids, dataset = relabelled
    with gz.connect(daemon_of(dataset).address, transport=request.param) as client:
        yield ids, client


def test_seeds_in_original_ids_come_back(connected: Any) -> None:
    ids, client = connected
    batch = client.sample(ids[:5], fanout=[-1], original_ids=True)
    assert list(client.original_ids(batch.n_id[: batch.batch_size])) == ids[:5]
    # Of the predecessors on the ring, one is no seed.
    assert list(client.original_ids(batch.n_id[5:])) == [ids[-1]]
    assert "original_id" not in batch


def test_two_texts_in_a_tuple_are_two_seeds(connected: Any) -> None:
    ids, client = connected
    batch = client.sample(tuple(ids[:2]), fanout=[1], original_ids=True)
    assert list(client.original_ids(batch.n_id[:2])) == ids[:2]
    (batch,) = client.loader(tuple(ids[:2]), [1], 2, original_ids=True)
    assert list(client.original_ids(batch.n_id[:2])) == ids[:2]
    with pytest.raises(gz.InvalidRequest, match="found ids by type"):
        client.sample(("user", ids[:2]), fanout=[1], original_ids=True)


def test_all_nodes_need_no_original_ids(connected: Any) -> None:
    _, client = connected
    assert len(client.loader(None, [1], 100, original_ids=True)) == NODES // 100


def test_walks_and_loaders_take_them_too(connected: Any) -> None:
    ids, client = connected
    walks = client.random_walk(ids[10:12], length=3, original_ids=True)
    assert list(client.original_ids(walks.nodes[0])) == ids[10:14]
    loader = client.loader(ids[20:30], fanout=[1], batch_size=4, original_ids=True)
    seen = [i for batch in loader for i in client.original_ids(batch.n_id[: batch.batch_size])]
    assert seen == ids[20:30]


def test_found_nodes_are_those_of_the_embedded_column(connected: Any, relabelled: Any) -> None:
    ids, client = connected
    original = gz.OriginalIds(relabelled[1])
    assert client.find_nodes(ids).tolist() == original.find(ids).tolist()
    assert client.find_nodes([]).tolist() == []
    assert list(client.original_ids(np.arange(NODES))) == list(original.gather(np.arange(NODES)))


def test_an_unknown_id_is_named_and_the_session_lives(connected: Any) -> None:
    ids, client = connected
    unknown = "nobody" if isinstance(ids[0], str) else -77
    with pytest.raises(gz.InvalidRequest, match=rf"original ids\[1\]: found .*{unknown}"):
        client.sample([ids[0], unknown], fanout=[1], original_ids=True)
    assert client.find_nodes(ids[:1]).shape == (1,)


def test_a_long_list_of_texts_goes_in_pieces(connected: Any) -> None:
    ids, client = connected
    many = ids * 700  # several messages
    nodes = client.find_nodes(many)
    assert nodes.tolist() == client.find_nodes(ids).tolist() * 700


def test_a_dataset_that_was_not_relabelled_says_so(client: gz.Client) -> None:
    assert client.info().dataset.original_ids is None
    with pytest.raises(gz.InvalidRequest, match="has no original ids; convert it with"):
        client.original_ids([1])
    with pytest.raises(gz.InvalidRequest, match="has no original ids; convert it with"):
        client.sample([1], fanout=[1], original_ids=True)


CALLS: dict[str, Callable[[gz.Client, Any], Any]] = {
    "find_nodes": lambda client, ids: client.find_nodes(ids, timeout=0.1),
    "original_ids": lambda client, ids: client.original_ids([0], timeout=0.1),
    "sample": lambda client, ids: client.sample(ids, [1], original_ids=True, timeout=0.1),
    "sample_links": lambda client, ids: client.sample_links(
        ids, ids, [1], original_ids=True, timeout=0.1
    ),
    "random_walk": lambda client, ids: client.random_walk(ids, 3, original_ids=True, timeout=0.1),
    "loader": lambda client, ids: client.loader(ids, [1], 2, original_ids=True, timeout=0.1),
}


def test_calls_of_several_requests_keep_to_their_timeout(
    relabelled: Any, start_daemon: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphzero.client.requests.request._GRACE_S", 0.1)
    ids, dataset = relabelled
    daemon = start_daemon(dataset)
    with gz.connect(daemon.address) as client:
        client.find_nodes(ids[:2])
        os.kill(daemon.pid, signal.SIGSTOP)
        for call in CALLS.values():
            with pytest.raises(gz.RequestTimeout, match=r"within 0\.1 s"):
                call(client, ids[:2])
        os.kill(daemon.pid, signal.SIGCONT)


def test_texts_as_seeds_are_told_how(connected: Any) -> None:
    _, client = connected
    with pytest.raises(TypeError, match=r"seeds: found texts, expected .*original_ids=True"):
        client.sample(["ann"], fanout=[1])
    with pytest.raises(TypeError, match=r"seeds: found texts, expected .*original_ids=True"):
        client.loader(np.array(["ann", "bob"]), fanout=[1], batch_size=1)


def test_texts_as_ids_without_a_daemon(relabelled: Any) -> None:
    _, dataset = relabelled
    with pytest.raises(TypeError, match=r"found texts, expected .*OriginalIds\.find\(\) gives"):
        gz.Graph(dataset).sample(["ann"], fanout=[1])
