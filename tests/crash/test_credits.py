"""Shared memory at its limits: no stall within one's credit, and a clear error beyond it."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from daemon_watch import Watch
from graphzero.proto import graphzero_pb2 as pb
from processes import Trainer
from raw_session import RawSession
from waiting import wait_until

pytestmark = pytest.mark.slow

MIB = 1 << 20
# Nearly all nodes are in each batch: about 9 MB, and regions of 10 or 12 MiB for them.
WIDE_BATCH = {"fanout": [15, 5], "batch_size": 1000}
WIDE_REGION = 12 * MIB
WIDE_SEEDS = np.arange(2000)
CANCELLED, DEADLINE, EXHAUSTED = 1, 4, 8


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 nodes with 1,024 features each."""
    directory = tmp_path_factory.mktemp("data") / "wide"
    directory.mkdir()
    rng = np.random.default_rng(8)
    edges = rng.integers(0, 2000, (2, 30_000))
    gz.write_graph(directory / "graph.gl", edges[0], edges[1], num_nodes=2000)
    gz.write_features(directory / "x.gd", rng.random((2000, 1024), dtype=np.float32))
    return directory


def test_four_sessions_at_the_limit_that_keep_the_previous_batch_never_stall(
    start_daemon: Callable[..., Any], wide: Path
) -> None:
    # A loader with prefetch 1 is promised three regions. The session that connect() opens with
    # window 1 is promised two small ones; it stays unused.
    limit = 4 * (3 * WIDE_REGION + 2 * 4 * MIB)
    daemon = start_daemon(wide, "--threads", "2", "--shm-limit", str(limit))
    loader = {**WIDE_BATCH, "prefetch": 1}
    trainers = [
        Trainer(daemon.address, name, 8, connect={"window": 1}, loader=loader, keep=1)
        for name in ("first", "second", "third", "fourth")
    ]
    watch = Watch(daemon)
    for trainer in trainers:
        trainer.advance()
    assert watch.stats().shm_used_byte_size <= limit
    for trainer in trainers:
        assert len(trainer.finish()) == 16
    assert watch.stats().failed_requests == 0
    watch.close()


def keep_all(take: Callable[[], gz.Batch]) -> tuple[list[gz.Batch], gz.ResourceExhausted]:
    """Batches until there is no memory for another one. They have a second each, in which a busy
    machine may not make one."""
    kept: list[gz.Batch] = []
    while True:
        try:
            kept.append(take())
        except gz.ResourceExhausted as error:
            return kept, error
        except gz.RequestTimeout:
            continue


def test_another_session_finds_memory_beside_one_that_keeps_all_it_can_get(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--shm-limit", "64M")
    with gz.connect(daemon.address, timeout=1) as greedy:
        kept, _ = keep_all(lambda: greedy.sample(np.arange(2000), [15, 15]))
        with gz.connect(daemon.address) as modest:
            for seed in range(20):
                modest.sample(np.arange(2000), [15, 15], seed=seed)
        assert kept


def test_trainer_that_keeps_every_batch_is_told_what_it_holds(
    start_daemon: Callable[..., Any], wide: Path
) -> None:
    daemon = start_daemon(wide, "--shm-limit", "128M")
    with gz.connect(daemon.address) as client:
        loader = client.loader(None, prefetch=1, timeout=1.0, shuffle=True, **WIDE_BATCH)
        epochs = itertools.chain.from_iterable(itertools.repeat(loader))
        kept, error = keep_all(lambda: next(epochs))
        found = re.search(r"holds (\S+ \S+) in (\d+) blocks", str(error))
        assert found is not None
        assert int(found[2]) >= len(kept) > 2
        assert "--shm-limit" in str(error)
        copies = [batch.clone() for batch in kept]
        for copy, batch in zip(copies, kept, strict=True):
            np.testing.assert_array_equal(copy.x, batch.x)
        kept.clear()
        del batch
        assert len(list(zip(loader, range(2), strict=False))) == 2  # the session lives


def fill(session: RawSession) -> list[pb.Result]:
    """Keeps results until the session gets no more; request ids from 1000 on."""
    kept: list[pb.Result] = []
    for request_id in itertools.count(1000):
        session.sample(request_id, WIDE_SEEDS, [1], columns=["x"], timeout_ms=1000)
        answer = session.receive()
        if answer.error.code == EXHAUSTED:
            return kept
        if answer.error.code != DEADLINE:  # of which there may be some on a busy machine
            kept.append(answer.result)
    raise AssertionError


def test_requests_get_memory_in_the_order_in_which_they_came(
    start_daemon: Callable[..., Any], wide: Path
) -> None:
    # A trainer waits for the oldest. If a younger one got the last block, it would wait for ever.
    daemon = start_daemon(wide, "--threads", "2", "--shm-limit", "128M")
    session = RawSession(daemon.address, window=2)
    kept = fill(session)
    asked = list(range(2, 10))
    for request_id in asked:
        session.sample(request_id, WIDE_SEEDS, [1], columns=["x"])
    answered = []
    for _ in asked:
        session.release(kept.pop(0))
        answer = session.receive()
        answered.append(answer.request_id)
        kept.append(answer.result)
    assert answered == asked
    session.close()


def test_cancelling_the_request_that_waits_lets_the_next_one_have_its_place(
    start_daemon: Callable[..., Any], wide: Path
) -> None:
    daemon = start_daemon(wide, "--threads", "2", "--shm-limit", "128M")
    session = RawSession(daemon.address, window=2)
    kept = fill(session)
    for request_id in (2, 3, 4):
        session.sample(request_id, WIDE_SEEDS, [1], columns=["x"])
    session.send(request_id=2, cancel=pb.Cancel())
    assert session.receive().error.code == CANCELLED
    session.release(kept.pop())
    first = session.receive().request_id  # whichever of the two was drawn sooner
    session.release(*kept)
    assert sorted([first, session.receive().request_id]) == [3, 4]
    session.close()


def test_requests_that_wait_for_memory_cost_a_healthy_trainer_nothing(
    start_daemon: Callable[..., Any], wide: Path
) -> None:
    daemon = start_daemon(wide, "--threads", "2", "--shm-limit", "256M")
    watch = Watch(daemon)
    greedy, healthy = RawSession(daemon.address, window=2), RawSession(daemon.address, window=4)
    request_ids = itertools.count(2)

    def take_batches(count: int) -> None:
        for request_id in itertools.islice(request_ids, count):
            healthy.sample(request_id, WIDE_SEEDS, [1], columns=["x"])
            answer = healthy.receive()
            assert answer.WhichOneof("body") == "result"
            healthy.release(answer.result)

    take_batches(4)
    kept = fill(greedy)
    waiting = range(2, 62)
    all_requests = requests_of(watch, greedy) + len(waiting)
    for request_id in waiting:
        greedy.sample(request_id, WIDE_SEEDS, [1], columns=["x"])
    wait_until(lambda: requests_of(watch, greedy) == all_requests, "all requests")
    before = watch.stats().shared_memory
    take_batches(100)
    after = watch.stats().shared_memory
    # Requests that had been drawn already may have asked for memory; no release made one ask again.
    assert after.failed_attempts - before.failed_attempts < 10
    assert after.reclaims == before.reclaims
    assert after.regions_made == before.regions_made
    assert after.regions_dropped == before.regions_dropped
    greedy.release(*kept)  # those that waited go on
    answered = []
    for _ in waiting:
        answer = greedy.receive()
        assert answer.WhichOneof("body") == "result"
        answered.append(answer.request_id)
        greedy.release(answer.result)
    # They get memory in their order; of those that have it, the quicker one is answered first.
    assert sorted(answered) == list(waiting)
    greedy.close()
    healthy.close()
    watch.close()


def test_inline_results_that_nobody_reads_are_bounded_and_the_rest_is_told_so(
    start_daemon: Callable[..., Any], wide: Path
) -> None:
    daemon = start_daemon(wide, "--threads", "2", "--shm-limit", "512M")
    watch = Watch(daemon)
    session = RawSession(daemon.address, transport=pb.TRANSPORT_INLINE)
    before = watch.private_bytes()
    asked = range(2, 62)  # 8 MB each: more than a session may hold of the 256 MiB that may wait
    for request_id in asked:
        session.sample(request_id, WIDE_SEEDS, [1], columns=["x"], timeout_ms=5000)

    def all_are_answered() -> bool:
        found = watch.stats().sessions[0]
        return found.requests == len(asked) and not found.in_flight

    wait_until(all_are_answered, "an end of all requests")
    grown = watch.private_bytes() - before
    print(f"{grown / MIB:.1f} MiB more")
    assert grown < 256 * MIB
    other = RawSession(daemon.address, transport=pb.TRANSPORT_INLINE)  # 80 MB and more
    for request_id in itertools.count(2):
        other.sample(request_id, WIDE_SEEDS, [2500], columns=[], replace=True, timeout_ms=1000)
        error = other.receive().error
        if error.code != DEADLINE:  # a busy machine may not have drawn it in time
            break
    assert "other sessions hold" in error.message
    other.close()
    answered: dict[int, str] = {}
    while len(answered) < len(asked):
        answer = session.receive()
        kind = answer.WhichOneof("body")
        if kind == "error" and answer.error.code != DEADLINE:
            assert "wait until the client has read them" in answer.error.message
            kind = "told"
        if kind != "chunk":
            answered[answer.request_id] = kind
    assert sorted(answered) == list(asked)
    assert {"told", "result"} <= set(answered.values())
    session.close()
    watch.close()


_IN_A_SMALL_SHM = """
import sys, tempfile
from pathlib import Path
sys.path.insert(0, {helpers!r})
import numpy as np
import graphzero as gz
from daemon_process import DaemonProcess

directory = Path(tempfile.mkdtemp(prefix="gz-", dir={directory!r}))
daemon = DaemonProcess(Path({data!r}), directory / "s.sock", "--shm-limit", "256M")
try:
    with gz.connect(daemon.address, timeout=30) as client:
        try:
            client.sample(np.arange(2000), [5])
        except gz.ResourceExhausted as error:
            print("error:", error)
        for seed in range(5):  # small ones go on
            client.sample([1], [2], seed=seed)
        print("left:", daemon.regions())
    print("exit:", daemon.stop())
finally:
    daemon.kill()
"""


def test_too_small_dev_shm_gives_the_number_to_raise(wide: Path, runtime_directory: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare, to mount another /dev/shm")
    script = _IN_A_SMALL_SHM.format(
        helpers=str(Path(__file__).parents[1] / "helpers"),
        directory=str(runtime_directory),
        data=str(wide),
    )
    mount = 'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    error = next(line for line in done.stdout.splitlines() if line.startswith("error:"))
    needed = re.search(r"cannot allocate (\d+) bytes of shared memory", error)
    assert needed is not None, error
    assert int(needed[1]) in (10 * MIB, 12 * MIB)
    assert "enlarge /dev/shm" in error
    assert "left: []" in done.stdout
    assert "exit: 0" in done.stdout


# --- requests that are wrong, or too many ---

BAD = [
    {"sample": pb.Sample(seeds=np.array([2000]).tobytes(), fanout=[3])},
    {"sample": pb.Sample(seeds=np.array([-1]).tobytes(), fanout=[3])},
    {"sample": pb.Sample(seeds=b"1234567", fanout=[3])},
    {"sample": pb.Sample(seeds=np.arange(2000).tobytes(), fanout=[-2])},
    {"sample": pb.Sample(seeds=np.arange(2000).tobytes(), fanout=[1], columns=["nope"])},
    {"sample": pb.Sample(seeds=np.arange(2000).tobytes(), fanout=[1], direction=99)},  # type: ignore[arg-type]
    {"gather": pb.Gather(column="x", ids=np.array([1 << 62]).tobytes())},
    {"gather": pb.Gather(column="../x", ids=np.array([1]).tobytes())},
    {"walk": pb.Walk(starts=np.array([5000]).tobytes(), length=3, p=1, q=1)},
    {"walk": pb.Walk(starts=np.array([1]).tobytes(), length=0xFFFFFFFF, p=1, q=1)},
    {"release": pb.Release(block_ids=[1 << 60] * 100)},
    {"region_mapped": pb.RegionMapped(region_id=1 << 60)},
    {"ids": pb.IdsChunk(ids=bytes(800), last=True)},
    {"cancel": pb.Cancel()},
]
UNANSWERED = ("release", "region_mapped", "ids", "cancel")


def test_thousands_of_bad_requests_leave_the_daemons_memory_bounded(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--threads", "2", "--shm-limit", "256M")
    watch = Watch(daemon)
    session = RawSession(daemon.address)

    def send_all(first_id: int, rounds: int) -> None:
        for request_id in range(first_id, first_id + rounds * len(BAD), len(BAD)):
            for number, bad in enumerate(BAD):
                session.send(request_id=request_id + number, **bad)
            for _ in range(len(BAD) - len(UNANSWERED)):
                assert session.receive().WhichOneof("body") == "error"

    send_all(2, 20)  # warms up
    before = watch.private_bytes()
    send_all(10_000, 300)
    grown = watch.private_bytes() - before
    print(f"{300 * len(BAD)} bad requests: {grown / MIB:.1f} MiB more")
    assert grown < 16 * MIB
    session.sample(5, [1], [2])
    assert session.receive().request_id == 5
    session.close()
    watch.close()


def test_client_that_asks_without_reading_cannot_fill_the_daemons_memory(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--threads", "2", "--shm-limit", "256M")
    watch = Watch(daemon)
    session, other = RawSession(daemon.address), RawSession(daemon.address)
    before = watch.private_bytes()
    # Each error has a long text; nobody reads them.
    text = "n" * 20_000
    asked = 20_000
    for request_id in range(2, asked + 2):
        session.send(
            request_id=request_id,
            sample=pb.Sample(seeds=bytes(8), fanout=[1], columns=[text]),
        )
    # Until the daemon has read all, or nothing more for as long as another one had its batches.
    taken = None
    request_ids = itertools.count(2)
    while taken != (taken := requests_of(watch, session)) and taken < asked:
        for request_id in itertools.islice(request_ids, 100):
            other.sample(request_id, [1], [2])
            answer = other.receive()
            assert answer.WhichOneof("body") == "result"
            other.release(answer.result)
    grown = watch.private_bytes() - before
    print(f"{taken} of {asked} requests taken: {grown / MIB:.1f} MiB more")
    assert grown < 64 * MIB
    session.close()
    other.close()
    watch.close()


def requests_of(watch: Watch, session: RawSession) -> int:
    stats = watch.stats().sessions
    return next(s.requests for s in stats if s.session_id == session.welcome.session_id)


def test_asking_and_cancelling_without_end_queues_nothing(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--threads", "1", "--shm-limit", "256M")
    watch = Watch(daemon)
    session = RawSession(daemon.address)
    session.sample(2, [1], [2])
    session.receive()
    before = watch.private_bytes()
    ids = np.zeros(100_000, np.int64).tobytes()
    for request_id in range(3, 503):
        session.send(request_id=request_id, gather=pb.Gather(column="x", ids=ids))
        session.send(request_id=request_id, cancel=pb.Cancel())
    for _ in range(500):
        session.receive()
    grown = watch.private_bytes() - before
    print(f"{grown / MIB:.1f} MiB more")
    assert grown < 64 * MIB
    session.close()
    watch.close()
