"""Batches in pinned memory: what CUDA is asked for, and that no copy reads a block that went back.

There is no GPU in these tests: helpers/recording_cuda.py stands in for it.
"""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import graphzero as gz
import pytest
import torch
from contents import batch_contents, typed_contents
from daemon_watch import Watch
from forking import in_child
from graphzero.client.memory import cuda as cuda_calls
from graphzero.client.memory import pinned
from recording_cuda import RecordingCuda
from typed_dataset import RATES, TypedData, write_typed_dataset
from waiting import wait_until

pytestmark = pytest.mark.slow

FANOUT = [5, 5]
SEEDS = range(200)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> RecordingCuda:
    monkeypatch.setattr(pinned, "_warned", False)
    return RecordingCuda(monkeypatch)


@pytest.fixture
def other_client(cuda: RecordingCuda, daemon: Any) -> Iterator[gz.Client]:
    """Opened after the double was put in place, closed before it is taken away."""
    with gz.connect(daemon.address) as connected:
        yield connected
        cuda.run()


client = other_client


@contextmanager
def blocks_of(daemon: Any) -> Iterator[Callable[[], int]]:
    """How many blocks the daemon's trainers hold."""
    watch = Watch(daemon)
    try:
        yield lambda: sum(session.blocks for session in watch.stats().sessions)
    finally:
        watch.close()


def session_ended(client: gz.Client) -> bool:
    try:
        client.sample([1], FANOUT)
    except gz.RequestCancelled:
        return True
    return False


def draw_others(client: gz.Client, count: int = 12) -> None:
    """Batches that the daemon writes wherever it has room, blocks that went back first."""
    for seed in range(100, 100 + count):
        client.sample(SEEDS, FANOUT, seed=seed)


def test_a_batch_dropped_at_once_is_copied_as_it_was(
    client: gz.Client, cuda: RecordingCuda, daemon: Any
) -> None:
    expected = batch_contents(client.sample(SEEDS, FANOUT, seed=1))
    copied = client.sample(SEEDS, FANOUT, seed=1).to("cuda", non_blocking=True)
    draw_others(client)
    assert (copied.n_id == 77).all()  # the copies have not begun
    with blocks_of(daemon) as held:
        assert held() >= 1
        cuda.run()
        assert batch_contents(copied) == expected
        wait_until(lambda: held() == 0, "every block went back")
    assert cuda.log.index("register") < cuda.log.index("copy") < cuda.log.index("record")


def test_without_the_rule_the_copy_would_read_another_batch(
    client: gz.Client, cuda: RecordingCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the test above can fail: the same with an event that nobody waits for."""
    expected = batch_contents(client.sample(SEEDS, FANOUT, seed=1))
    monkeypatch.setattr(pinned, "_wait_and_drop", lambda event, lease: lease.clear())
    copied = client.sample(SEEDS, FANOUT, seed=1).to("cuda", non_blocking=True)
    draw_others(client, 60)
    cuda.run()
    assert copied.n_id.tolist() != expected[1]


@pytest.mark.parametrize("stream", ["current", "side"])
def test_a_tensor_that_the_user_copied_is_waited_for_on_any_stream(
    client: gz.Client, cuda: RecordingCuda, daemon: Any, stream: str
) -> None:
    expected = client.sample(SEEDS, FANOUT, seed=1).x.clone()
    client.sample([1], FANOUT).to("cuda")  # the region is pinned from now on
    with blocks_of(daemon) as held:
        wait_until(lambda: held() == 0, "every block went back")
        cuda.stream = cuda.streams[stream]
        copied = cuda.copy(client.sample(SEEDS, FANOUT, seed=1).x, "cuda")
        draw_others(client)
        assert held() >= 1
        cuda.run()
        assert torch.equal(copied, expected)
        wait_until(lambda: held() == 0, "every block went back")
    assert "synchronize" in cuda.log


def test_a_batch_that_was_only_moved_waits_for_nothing_but_its_event(
    client: gz.Client, cuda: RecordingCuda, daemon: Any
) -> None:
    client.sample(SEEDS, FANOUT).to("cuda", non_blocking=True)
    cuda.run()
    with blocks_of(daemon) as held:
        wait_until(lambda: held() == 0, "every block went back")
    assert cuda.count("event") == 1
    assert "synchronize" not in cuda.log


def test_a_copy_that_fails_does_not_free_the_block_under_those_before_it(
    client: gz.Client, cuda: RecordingCuda, daemon: Any
) -> None:
    cuda.copies_that_work = 1
    with pytest.raises(RuntimeError, match="out of memory"):
        client.sample(SEEDS, FANOUT).to("cuda", non_blocking=True)
    gc.collect()
    draw_others(client)
    with blocks_of(daemon) as held:
        assert held() >= 1
        cuda.run()
        wait_until(lambda: held() == 0, "every block went back")


def test_cuda_is_not_touched_before_the_user_does(client: gz.Client, cuda: RecordingCuda) -> None:
    batch = client.sample(SEEDS, FANOUT)
    batch.to("cpu")
    batch.clone()
    assert cuda.log == []
    batch.to("cuda")
    assert cuda.log[0] == "register"


def test_a_region_is_registered_once_and_unregistered_while_it_is_mapped(
    cuda: RecordingCuda, daemon: Any
) -> None:
    with gz.connect(daemon.address) as client:
        for seed in range(3):
            client.sample(SEEDS, FANOUT, seed=seed).to("cuda")
        kept = client.sample(SEEDS, FANOUT, seed=4)
        kept.to("cuda")
        expected = batch_contents(kept)
        assert cuda.count("register") == len(cuda.registered) == 1
        cuda.run()
    # The double looks at the mapping when it is asked to unregister.
    assert cuda.count("unregister") == 1
    assert not cuda.registered
    assert batch_contents(kept) == expected
    copied = kept.to("cuda", non_blocking=True)  # from memory that is pinned no longer
    assert batch_contents(copied) == expected
    assert cuda.count("register") == 1


def test_the_end_of_a_session_waits_for_copies_under_way(cuda: RecordingCuda, daemon: Any) -> None:
    client = gz.connect(daemon.address)
    batch = client.sample(SEEDS, FANOUT, seed=1)
    expected = batch_contents(batch)
    copied = batch.to("cuda", non_blocking=True)
    del batch
    closing = threading.Thread(target=client.close)
    closing.start()
    wait_until(lambda: session_ended(client), "the session is over")
    assert "unregister" not in cuda.log
    cuda.run()
    closing.join()
    assert cuda.log.index("event") < cuda.log.index("unregister")
    assert batch_contents(copied) == expected


def test_regions_are_pinned_when_they_are_mapped_once_cuda_is_in_use(
    client: gz.Client, cuda: RecordingCuda
) -> None:
    cuda.in_use = True
    client.sample(SEEDS, FANOUT)
    wait_until(lambda: cuda.log == ["register"], "the region was registered")


def test_pin_true_begins_at_once(cuda: RecordingCuda, daemon: Any) -> None:
    with gz.connect(daemon.address, pin=True) as client:
        client.sample(SEEDS, FANOUT)
        wait_until(lambda: cuda.log[:1] == ["register"], "the region was registered")


def test_pin_false_never_begins(cuda: RecordingCuda, daemon: Any) -> None:
    cuda.in_use = True
    with gz.connect(daemon.address, pin=False) as client:
        client.sample(SEEDS, FANOUT).to("cuda", non_blocking=True)
    assert set(cuda.log) == {"copy"}


def test_pin_true_is_refused_where_it_makes_no_sense(daemon: Any) -> None:
    with pytest.raises(RuntimeError, match=r"found torch .*, expected one that was built for CUDA"):
        gz.connect(daemon.address, pin=True)
    with pytest.raises(ValueError, match="pin=True is for shared memory"):
        gz.connect(daemon.address, pin=True, transport="inline")


def test_memory_that_cannot_be_pinned_costs_one_warning(
    client: gz.Client, cuda: RecordingCuda, daemon: Any
) -> None:
    cuda.error = 2
    expected = batch_contents(client.sample(SEEDS, FANOUT, seed=1))
    with pytest.warns(RuntimeWarning, match=r"cannot pin \d+ bytes .*cudaError 2; .*ulimit -l"):
        copied = client.sample(SEEDS, FANOUT, seed=1).to("cuda", non_blocking=True)
    assert batch_contents(copied) == expected
    with warnings.catch_warnings(), gz.connect(daemon.address) as another:
        warnings.simplefilter("error")
        another.sample(SEEDS, FANOUT).to("cuda", non_blocking=True)
    assert cuda.count("register") == 2
    assert "record" not in cuda.log  # ordinary memory was read when the call returned
    assert "unregister" not in cuda.log


def test_a_child_leaves_the_parent_s_memory_alone(client: gz.Client, cuda: RecordingCuda) -> None:
    batch = client.sample(SEEDS, FANOUT, seed=1)
    expected = batch_contents(batch)
    copied = batch.to("cuda", non_blocking=True)
    before = list(cuda.log)

    def child() -> None:
        cuda.in_use = False  # as torch says in a child
        batch.to("cuda")
        assert set(cuda.log[len(before) :]) == {"copy"}

    in_child(child)
    assert cuda.log == before
    cuda.run()
    assert batch_contents(copied) == expected


def test_a_pickled_batch_is_memory_of_its_own(client: gz.Client, cuda: RecordingCuda) -> None:
    batch = pickle.loads(pickle.dumps(client.sample(SEEDS, FANOUT)))
    batch.to("cuda", non_blocking=True)
    assert set(cuda.log) == {"copy"}


@pytest.fixture(scope="module")
def typed_data(tmp_path_factory: pytest.TempPathFactory) -> TypedData:
    return write_typed_dataset(tmp_path_factory.mktemp("typed") / "shop")


@pytest.mark.parametrize("links", [False, True])
def test_typed_batches_and_links_keep_the_rule(
    cuda: RecordingCuda, typed_data: TypedData, daemon_of: Callable[[Path], Any], links: bool
) -> None:
    edges = typed_data.edges[RATES]

    def draw(client: gz.Client, seed: int) -> Any:
        if links:
            ends = {"sources": edges.src[:12], "targets": edges.dst[:12]}
            return client.sample_links(**ends, relation=RATES, fanout=FANOUT, seed=seed)
        return client.sample({"user": range(10)}, FANOUT, seed=seed)

    daemon = daemon_of(typed_data.path)
    with gz.connect(daemon.address) as client, blocks_of(daemon) as held:
        expected = typed_contents(draw(client, 1))
        wait_until(lambda: held() == 0, "the first batch went back")
        copied = draw(client, 1).to("cuda", non_blocking=True)
        for seed in range(100, 112):
            draw(client, seed)
        assert held() >= 1
        cuda.run()
        assert typed_contents(copied) == expected
        wait_until(lambda: held() == 0, "every block went back")
    assert ("synchronize" in cuda.log[: cuda.log.index("unregister") - 1]) == links


def test_links_of_a_graph_without_types_keep_the_rule(
    client: gz.Client, cuda: RecordingCuda, daemon: Any
) -> None:
    ends = {"sources": range(50), "targets": range(50, 100)}
    expected = batch_contents(client.sample_links(**ends, fanout=FANOUT, seed=1))
    copied = client.sample_links(**ends, fanout=FANOUT, seed=1).to("cuda", non_blocking=True)
    draw_others(client)
    with blocks_of(daemon) as held:
        assert held() >= 1
        cuda.run()
        assert batch_contents(copied) == expected
        wait_until(lambda: held() == 0, "every block went back")


@pytest.mark.parametrize("imported", [[], ["cuda"]])
def test_batches_come_while_another_thread_imports_torch(
    daemon: Any, monkeypatch: pytest.MonkeyPatch, imported: list[str]
) -> None:
    halfway = ModuleType("torch")
    for name in imported:
        setattr(halfway, name, ModuleType(f"torch.{name}"))
    with gz.connect(daemon.address) as client:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "torch", halfway)
            assert not cuda_calls.is_in_use()
            future = client.sample_async(range(50), fanout=[3])
            wait_until(future.done, "a batch")
        assert future.result().batch_size == 50
