"""torchrun over two nodes, each with a daemon and a copy of the dataset of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import elastic_rank
import graphzero as gz
import pytest
import torch
from waiting import wait_until

pytestmark = pytest.mark.slow

PROGRAM = elastic_rank.__file__
RANKS = 2
TIMEOUT_S = 240  # a hang; nothing is measured


class Node:
    """A machine: a copy of the dataset, a daemon, and an agent of torchrun that starts one rank."""

    def __init__(self, folder: Path, dataset: Path, start_daemon: Callable[..., Any]) -> None:
        self.data = shutil.copytree(dataset, folder / "data")
        self.daemon = start_daemon(self.data, "--threads", "1", "--shm-limit", "64M")
        self.agent: subprocess.Popen[bytes] | None = None
        self._log = folder / "torchrun.log"

    def torchrun(self, shared: Path, port: int, nodes: str) -> None:
        environment = {
            **{k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")},
            "GRAPHZERO_ADDRESS": self.daemon.address,
            "GLOO_SOCKET_IFNAME": "lo",
            "OMP_NUM_THREADS": "1",
            # A store for each attempt: in torch 2.13 ranks that start again find the addresses of
            # the attempt before in the one that agents keep, and never meet.
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        }
        # --local-addr: else the nodes meet at the name of this machine, wherever that leads.
        meet = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}"]
        meet += ["--rdzv-id", "test", "--local-addr", "127.0.0.1"]
        meet += ["--rdzv-conf", "last_call_timeout=2"]
        options = ["--nnodes", nodes, "--nproc-per-node", "1", "--max-restarts", "3"]
        command = [sys.executable, "-m", "torch.distributed.run", *options, *meet, "--", PROGRAM]
        with self._log.open("ab") as log:
            self.agent = subprocess.Popen(
                [*command, str(shared)],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self) -> int:
        assert self.agent is not None
        return self.agent.wait(TIMEOUT_S)

    def end(self) -> None:
        """Whatever is left of it."""
        if self.agent is not None and self.agent.poll() is None:
            self.agent.terminate()  # and it ends its rank
            self.agent.wait(TIMEOUT_S)

    def said(self) -> str:
        return self._log.read_text()


@pytest.fixture
def nodes(tmp_path: Path, dataset: Path, start_daemon: Callable[..., Any]) -> Iterator[list[Node]]:
    folders = [tmp_path / f"node{number}" for number in range(2)]
    for folder in folders:
        folder.mkdir()
    found = [Node(folder, dataset, start_daemon) for folder in folders]
    yield found
    for node in found:
        node.end()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def lines(shared: Path, rank: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (shared / f"{rank}.log").read_text().splitlines()]


def expected(address: str, rank: int, world_size: int) -> dict[tuple[int, int], str]:
    """The batches of an undisturbed run, drawn here, by one daemon."""
    with gz.connect(address) as client:
        place = {"rank": rank, "world_size": world_size}
        loader = client.loader(range(200), **elastic_rank.LOADER, **place)
        return {
            (epoch, step): elastic_rank.digest(batch)
            for epoch in range(elastic_rank.EPOCHS)
            for step, batch in enumerate(loader, start=1)
        }


def run(nodes: list[Node], shared: Path) -> None:
    shared.mkdir(exist_ok=True)
    port = free_port()
    for node in nodes:
        node.torchrun(shared, port, str(len(nodes)))
    for node in nodes:
        assert node.wait() == 0, node.said()


def test_a_killed_rank_is_restarted_and_all_go_on_with_the_same_batches(
    nodes: list[Node], tmp_path: Path
) -> None:
    shared, undisturbed = tmp_path / "shared", tmp_path / "undisturbed"
    shared.mkdir()
    # The last checkpoint is from step 4 of this epoch: batch 5 is trained on again.
    (shared / "kill").write_text(f"rank {nodes[1].daemon.address} 1 6")
    run(nodes, shared)
    assert (shared / "killed").exists()
    run(nodes, undisturbed)
    for rank in range(RANKS):
        wanted = expected(nodes[0].daemon.address, rank, RANKS)
        trained = lines(shared, rank)
        steps = [(line["epoch"], line["step"]) for line in trained]
        assert steps == [*(k for k in wanted if k < (1, 6)), *(k for k in wanted if k > (1, 4))]
        batches = {(line["epoch"], line["step"]): line["batch"] for line in trained}
        assert batches == wanted
        # What came again was the same, and so were all losses.
        assert distinct(trained) == distinct(lines(undisturbed, rank))
    used = set((shared / "addresses").read_text().split())
    assert used == {node.daemon.address for node in nodes}
    first, second = (torch.load(folder / "trained.pt") for folder in (shared, undisturbed))
    assert all(torch.equal(first[name], second[name]) for name in first)


def distinct(trained: list[dict[str, Any]]) -> set[str]:
    return {json.dumps(line, sort_keys=True) for line in trained}


def test_when_a_node_dies_the_next_epoch_is_that_of_those_that_are_left(
    nodes: list[Node], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    staying, dying = nodes
    (shared / "kill").write_text(f"node {dying.daemon.address} 1 4")
    port = free_port()
    staying.torchrun(shared, port, "1:2")
    wait_until(lambda: listens(port), staying.said)  # the first to come keeps the rendezvous
    dying.torchrun(shared, port, "1:2")
    assert dying.wait() == -signal.SIGKILL
    assert staying.wait() == 0, staying.said()
    trained = [*lines(shared, 0), *lines(shared, 1)]
    assert {line["world_size"] for line in trained if line["epoch"] < 2} == {2}
    alone = [line for line in trained if line["epoch"] == 2]
    assert {line["world_size"] for line in alone} == {1}
    wanted = {k: v for k, v in expected(staying.daemon.address, 0, 1).items() if k[0] == 2}
    assert {(line["epoch"], line["step"]): line["batch"] for line in alone} == wanted
    assert len(alone) == len(wanted)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
