"""graphzero.ray on a cluster of several nodes, of which workers, daemons and nodes die."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import ray_loop
import torch
from daemon_process import daemon_pid
from waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

TIMEOUT_S = 600.0  # a hang; nothing is measured


@pytest.fixture
def daemons(machines: Any, dataset: Path) -> Iterator[Any]:
    import graphzero.ray

    machines.have(2)
    with graphzero.ray.Daemons(
        dataset,
        machines.folder / "copies/{node}",
        options=["--threads", "1", "--shm-limit", "64M"],
    ) as made:
        yield made
    wait_until(lambda: not machines.locks(), "the end of all daemons", deadline_s=TIMEOUT_S)


class Training(threading.Thread):
    """TorchTrainer.fit() while the test does something else."""

    def __init__(self, daemons: Any, folder: Path, workers: int | tuple[int, int]) -> None:
        super().__init__(daemon=True)
        self.error: BaseException | None = None
        self._daemons = daemons
        self._folder = folder
        self._workers = workers
        self.start()

    def run(self) -> None:
        import ray.train
        from ray.train.torch import TorchTrainer

        try:
            TorchTrainer(
                ray_loop.train,
                train_loop_config={"daemons": self._daemons, "folder": str(self._folder)},
                scaling_config=ray.train.ScalingConfig(
                    num_workers=self._workers, placement_strategy="SPREAD"
                ),
                run_config=ray.train.RunConfig(
                    name="test",
                    storage_path=str(self._folder / "results"),
                    failure_config=ray.train.FailureConfig(max_failures=5),
                ),
            ).fit()
        except BaseException as error:
            self.error = error

    def wait_for(self, condition: Callable[[], Any], what: str) -> None:
        wait_until(lambda: condition() or not self.is_alive(), what, deadline_s=TIMEOUT_S)
        assert condition(), f"training ended without {what}: {self.error}"

    def wait(self) -> None:
        self.join(TIMEOUT_S)
        assert not self.is_alive()
        assert self.error is None


def lines(folder: Path, rank: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{rank}.log").read_text().splitlines()]


def on_one_machine(client: gz.Client, ranks: int, first_epoch: int = 0) -> list[dict[Any, Any]]:
    """What each rank would train on, with its losses, in this process and from one daemon: the
    gradients of all ranks are averaged, as DistributedDataParallel does."""
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    options = {**ray_loop.LOADER, "world_size": ranks}
    loaders = [client.loader(range(200), rank=rank, **options) for rank in range(ranks)]
    found: list[dict[Any, Any]] = [{} for _ in range(ranks)]
    for epoch in range(first_epoch, ray_loop.EPOCHS):
        for loader in loaders:
            loader.set_epoch(epoch)
        for step, batches in enumerate(zip(*loaders, strict=True), start=1):
            optimizer.zero_grad()
            for rank, batch in enumerate(batches):
                out = model(batch.x[: batch.batch_size])
                loss = torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size])
                (loss / ranks).backward()
                found[rank][epoch, step] = ray_loop.digest(batch), loss.item()
            optimizer.step()
    return found


def test_a_worker_and_a_node_that_die_are_replaced_and_the_same_batches_go_on(
    machines: Any, daemons: Any, dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "kill").write_text("0 4")
    training = Training(daemons, tmp_path, workers=4)
    training.wait_for(lambda: (tmp_path / "killed").exists(), "the death of a worker")
    (tmp_path / "kill").write_text("node 1 4")
    training.wait_for(lambda: (tmp_path / "node").exists(), "a worker that waits to die")
    before = set((tmp_path / "nodes").read_text().split())
    machines.kill((tmp_path / "node").read_text())
    machines.have(2)
    training.wait()
    with gz.connect(data=dataset) as client:
        expected = on_one_machine(client, ranks=4)
    for rank in range(4):
        trained = lines(tmp_path, rank)
        assert {line["world_size"] for line in trained} == {4}
        # Checkpoints are of every second step: batch 3 came again after each death.
        steps = [(line["epoch"], line["step"]) for line in trained]
        assert steps == [
            (0, 1), (0, 2), (0, 3), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7),
            (1, 1), (1, 2), (1, 3), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7),
        ]  # fmt: skip
        for line in trained:
            batch, loss = expected[rank][line["epoch"], line["step"]]
            assert line["batch"] == batch
            assert line["loss"] == pytest.approx(loss, rel=1e-4)
    after = set((tmp_path / "nodes").read_text().split())
    assert before < after  # the node that came had its own daemon and copy
    assert all((machines.folder / "copies" / node / "graph.gl").exists() for node in after)


def test_with_fewer_workers_the_next_epoch_begins(
    machines: Any, daemons: Any, dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "kill").write_text("node 0 4")
    training = Training(daemons, tmp_path, workers=(2, 4))
    training.wait_for(lambda: (tmp_path / "node").exists(), "a worker that waits to die")
    machines.kill((tmp_path / "node").read_text())
    training.wait()
    with gz.connect(data=dataset) as client:
        expected = on_one_machine(client, ranks=2, first_epoch=1)
    for rank in range(2):
        alone = [line for line in lines(tmp_path, rank) if line["world_size"] == 2]
        assert {(line["epoch"], line["step"]): line["batch"] for line in alone} == {
            key: batch for key, (batch, _) in expected[rank].items()
        }


def test_a_daemon_and_an_actor_that_die_are_started_anew(machines: Any, daemons: Any) -> None:
    import ray

    @ray.remote(num_cpus=1)
    class Trainer:
        def __init__(self) -> None:
            self._client = daemons.connect()
            self._batches = iter(self._client.loader(range(200), **ray_loop.LOADER))

        def draw(self, count: int) -> list[str]:
            return [ray_loop.digest(next(self._batches)) for _ in range(count)]

    def pids() -> set[int]:
        return {pid for pid in map(daemon_pid, machines.locks()) if pid is not None}

    expected = ray.get(Trainer.remote().draw.remote(20))
    trainer = Trainer.remote()
    seen = ray.get(trainer.draw.remote(5))
    assert len(pids()) == len(machines.nodes)  # and none on the head
    for pid in pids():
        os.kill(pid, signal.SIGKILL)
    seen += ray.get(trainer.draw.remote(5))
    for pid in pids():
        os.kill(parent(parent(pid)), signal.SIGKILL)  # the actor; tied_process.py is between them
    seen += ray.get(trainer.draw.remote(10))
    assert seen == expected


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_data_that_cannot_be_fetched_is_told_to_the_worker(machines: Any) -> None:
    import graphzero.ray
    import ray

    machines.have(1)
    with graphzero.ray.Daemons("/nowhere/at/all", machines.folder / "none/{node}") as daemons:
        connect = ray.remote(num_cpus=1)(lambda: daemons.connect())
        with pytest.raises(FileNotFoundError, match="/nowhere/at/all"):
            ray.get(connect.remote())
