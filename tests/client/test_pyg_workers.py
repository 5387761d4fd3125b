"""What needs worker processes, or a step between sampling and gathering: PyG's way to a batch."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import GraphZeroSampler, LinkNeighborLoader, NeighborLoader
from torch_geometric.data import Data

LINKS = torch.tensor([[5, 17, 3, 1999, 8, 40], [40, 8, 1999, 3, 17, 5]])


def with_process(data: Data) -> Data:
    data.process = os.getpid()
    return data


class Marking:
    """A worker_init_fn that leaves a file for each worker."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, worker: int) -> None:
        (self.directory / f"{worker}-{os.getpid()}-{torch.get_num_threads()}").touch()

    def seen(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir())


@pytest.mark.parametrize("context", [None, pytest.param("spawn", marks=pytest.mark.slow)])
def test_worker_init_fn_runs_in_workers(client: gz.Client, tmp_path: Path, context: Any) -> None:
    marking = Marking(tmp_path)
    loader = NeighborLoader(
        client,
        [3],
        range(20),
        batch_size=5,
        num_workers=2,
        worker_init_fn=marking,
        multiprocessing_context=context,
    )
    batches = list(loader)
    assert torch.cat([b.n_id[: b.batch_size] for b in batches]).tolist() == list(range(20))
    assert torch.equal(batches[0].x, client.gather("x", batches[0].n_id))
    assert [name[0] for name in marking.seen()] == ["0", "1"]
    assert str(os.getpid()) not in {name.split("-")[1] for name in marking.seen()}


def test_pyg_s_contexts_for_workers(client: gz.Client, tmp_path: Path) -> None:
    marking = Marking(tmp_path)
    loader = LinkNeighborLoader(
        client, [3], LINKS, batch_size=2, num_workers=1, transform=with_process,
        worker_init_fn=marking,
    )  # fmt: skip
    core = min(os.sched_getaffinity(0))
    with loader.enable_cpu_affinity([core]):
        batches = list(loader)
    assert torch.equal(batches[1].n_id[batches[1].edge_label_index], LINKS[:, 2:4])
    assert {b.process for b in batches} != {os.getpid()}
    assert len(marking.seen()) == 1


def test_after_a_context_the_daemon_works_ahead_again(client: gz.Client) -> None:
    loader = NeighborLoader(client, [3], range(20), batch_size=5, num_workers=1)
    core = min(os.sched_getaffinity(0))
    with loader.enable_cpu_affinity([core]):
        assert loader._goes_pyg_s_way()
    assert not loader._goes_pyg_s_way()
    assert sum(batch.batch_size for batch in loader) == 20


def test_a_transform_that_workers_do_not_run_is_told(client: gz.Client) -> None:
    with pytest.warns(UserWarning, match="transform runs in this process, not in num_workers=2"):
        loader = NeighborLoader(
            client, [2], range(8), batch_size=4, num_workers=2, transform=with_process
        )
    assert {batch.process for batch in loader} == {os.getpid()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NeighborLoader(client, [2], range(8), batch_size=4, transform=with_process)
        NeighborLoader(client, [2], range(8), batch_size=4, num_workers=2)
        inside = NeighborLoader(
            client,
            [2],
            range(8),
            batch_size=4,
            num_workers=2,
            transform=with_process,
            filter_per_worker=True,
        )
    processes = {batch.process for batch in inside}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_filter_fn_of_a_subclass_is_called(client: gz.Client) -> None:
    class Own(NeighborLoader):
        def filter_fn(self, out: Any) -> Any:
            data = super().filter_fn(out)
            data.drawn = len(out.row)
            return data

    loader = Own(client, [3], range(20), batch_size=10)
    assert len(loader) == 2
    for batch in loader:
        assert batch.drawn == batch.num_edges
        assert torch.equal(batch.x, client.gather("x", batch.n_id))
    assert loader([3]).drawn <= 3


def test_another_sampler_takes_the_place_of_the_own(client: gz.Client) -> None:
    given = GraphZeroSampler(client, [-1], sample_direction="backward")
    loader = NeighborLoader(client, [1], range(20), batch_size=20, neighbor_sampler=given)
    assert loader.node_sampler is given
    batch = next(iter(loader))
    assert batch.edge_index[0].max() < 20  # its sources are the seeds
    with pytest.raises(ValueError, match="exclude_seed_edges is True beside neighbor_sampler"):
        LinkNeighborLoader(client, [1], LINKS, neighbor_sampler=given, exclude_seed_edges=True)


@pytest.mark.parametrize("kind", [NeighborLoader, LinkNeighborLoader])
@pytest.mark.parametrize(
    "options",
    [{}, {"disjoint": True}, {"subgraph_type": "bidirectional"}, {"weight_attr": "edge_weight"}],
    ids=str,
)
def test_both_ways_give_the_same_batch(client: gz.Client, kind: Any, options: Any) -> None:
    items = range(12) if kind is NeighborLoader else LINKS
    loader = kind(client, [-1, -1], items, batch_size=6, **options)
    ahead = next(iter(loader))
    loader.filter_per_worker = False
    step_by_step = loader.filter_fn(loader.collate_fn([0, 1, 2, 3, 4, 5]))
    assert set(ahead.keys()) == set(step_by_step.keys())
    for name, value in ahead:
        same = torch.equal if torch.is_tensor(value) else lambda a, b: a == b
        assert same(value, step_by_step[name]), name


def test_edges_that_someone_else_chose_have_their_weights(client: gz.Client) -> None:
    def every_second(out: Any) -> Any:
        out.row, out.col, out.edge = out.row[::2], out.col[::2], out.edge[::2]
        return out

    plain = next(iter(NeighborLoader(client, [-1], range(9), batch_size=9)))
    loader = NeighborLoader(
        client, [-1], range(9), batch_size=9, transform_sampler_output=every_second
    )
    batch = next(iter(loader))
    assert torch.equal(batch.edge_weight, plain.edge_weight[::2])
    assert torch.equal(batch.when, plain.when[::2])
