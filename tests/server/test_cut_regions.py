"""Trainers that resize or empty their shared memory: their session suffers, and nothing else."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from daemon_process import DaemonProcess
from daemon_watch import Watch
from graphzero.proto import graphzero_pb2 as pb
from raw_session import RawSession

FAILED_PRECONDITION = 9
NODES = 20_000
SEEDS = np.arange(0, NODES, 2)


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of 1 KiB: a batch has megabytes, and several threads gather it."""
    directory = tmp_path_factory.mktemp("data") / "columns"
    directory.mkdir()
    rng = np.random.default_rng(5)
    ends = rng.integers(0, NODES, (2, 5 * NODES))
    gz.write_graph(directory / "graph.gl", *ends, num_nodes=NODES, edge_ids=True)
    gz.write_features(directory / "x.gd", rng.random((NODES, 256), dtype=np.float32))
    gz.write_features(directory / "w.gd", rng.random(5 * NODES, np.float32), role="edge")
    return directory


class Vandal(RawSession):
    """Opens its regions as any trainer does, and keeps them open to resize them."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.files: list[int] = []

    def take_offer(self) -> pb.RegionOffer:
        """The next region, open but not confirmed."""
        message = next(self._down)
        assert message.WhichOneof("body") == "region_offer"
        offer: pb.RegionOffer = message.region_offer
        self.files.append(os.open("/dev/shm" + offer.name, os.O_RDWR))
        return offer

    def answer(self) -> pb.SessionResponse:
        """The next answer, past regions that nobody maps."""
        return next(m for m in self._down if m.WhichOneof("body") != "region_offer")

    def resize(self, size: int) -> None:
        for file in self.files:
            os.ftruncate(file, size)

    def confirm(self, offer: pb.RegionOffer) -> None:
        self.send(region_mapped=pb.RegionMapped(region_id=offer.region_id))

    def close(self) -> None:
        super().close()
        for file in self.files:
            os.close(file)


class Witness:
    """A trainer beside the vandal, who compares its batches with the files."""

    def __init__(self, daemon: Any, data: Path) -> None:
        self._graph, self._x = gz.Graph(data / "graph.gl"), gz.FeatureStore(data / "x.gd")
        self._client = gz.connect(daemon.address)
        self._daemon = daemon
        self._seeds = itertools.count()

    def look(self) -> None:
        seeds, seed = SEEDS[:500], next(self._seeds)
        batch = self._client.sample(seeds, [5], seed=seed)
        expected = self._graph.sample(seeds, [5], seed=seed)
        np.testing.assert_array_equal(batch.n_id, expected.n_id)
        np.testing.assert_array_equal(batch.edge_index, expected.edge_index)
        np.testing.assert_array_equal(batch.x, self._x.gather(batch.n_id))
        assert self._daemon.process.poll() is None

    def close(self) -> None:
        self._client.close()


@pytest.fixture(scope="module", params=["mapped", "direct"])
def scene(request: pytest.FixtureRequest, columns: Path) -> Iterator[tuple[DaemonProcess, Witness]]:
    """A daemon, which gathers by threads of its own or lets the kernel write, and a witness."""
    with tempfile.TemporaryDirectory(prefix="gz-") as directory:
        # A warm start would open files, and read ahead what the kernel is to write.
        options = ("--threads", "2", "--shm-limit", "512M", "--warm", "none")
        daemon = DaemonProcess(
            columns, Path(directory) / "s.sock", *options, "--feature-io", request.param
        )
        try:
            watch = Watch(daemon)
            before = watch.descriptors()
            witness = Witness(daemon, columns)
            yield daemon, witness
            witness.close()
            watch.expect_nothing_held(before)
            watch.close()
            assert daemon.stop() == 0
        finally:
            daemon.kill()


def ask(vandal: RawSession, request_id: int, kind: str) -> None:
    ids = SEEDS.tobytes()
    if kind == "sample":  # written by the engine and, for edges, by NumPy
        vandal.sample(request_id, SEEDS, [5], columns=["x", "w"])
    elif kind == "gather":
        vandal.send(request_id=request_id, gather=pb.Gather(column="x", ids=ids))
    else:
        walk = pb.Walk(starts=ids, length=20, p=1, q=1)
        vandal.send(request_id=request_id, walk=walk)


def expect_told(answer: pb.SessionResponse, offer: pb.RegionOffer) -> None:
    assert answer.error.code == FAILED_PRECONDITION, answer
    assert offer.name in answer.error.message
    assert "was cut" in answer.error.message


@pytest.mark.parametrize("confirmed", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("kind", ["sample", "gather", "walk"])
def test_cutting_a_region_costs_the_session_only(
    scene: tuple[DaemonProcess, Witness], kind: str, confirmed: bool
) -> None:
    daemon, witness = scene
    witness.look()
    vandal = Vandal(daemon.address)
    ask(vandal, 2, kind)
    offer = vandal.take_offer()
    result = vandal.receive().result
    if confirmed:
        vandal.confirm(offer)
    vandal.resize(4096)
    vandal.release(result)
    ask(vandal, 3, kind)
    expect_told(vandal.receive(), offer)
    witness.look()
    ask(vandal, 4, kind)  # and so is every other one, whichever region it would have lain in
    expect_told(vandal.receive(), offer)
    vandal.close()
    witness.look()


def test_region_that_is_cut_and_put_back_all_the_time(
    scene: tuple[DaemonProcess, Witness],
) -> None:
    # The guard may find the region whole again, and must not be fooled.
    daemon, witness = scene
    told = 0
    for round_number in range(int(os.environ.get("GRAPHZERO_CUT_ROUNDS", "5"))):
        vandal = Vandal(daemon.address)
        ask(vandal, 2, "sample")
        offer = vandal.take_offer()
        vandal.confirm(offer)
        vandal.release(vandal.receive().result)
        kinds = ("sample", "gather", "walk")
        asked = list(range(3, 9))
        for request_id in asked:
            ask(vandal, request_id, kinds[request_id % 3])
        for size in itertools.islice(itertools.cycle((0, offer.byte_size, 8192)), 300):
            vandal.resize(size)
        vandal.resize(offer.byte_size if round_number % 2 else 0)
        if round_number % 2 == 0:  # those above may have been made before the first cut
            asked.append(9)
            ask(vandal, 9, "sample")
        for _ in asked:
            answer = vandal.answer()
            if answer.WhichOneof("body") == "error":
                assert answer.error.code == FAILED_PRECONDITION, answer
                assert "was cut" in answer.error.message
                told += 1
        witness.look()
        vandal.close()
    assert told > 0
