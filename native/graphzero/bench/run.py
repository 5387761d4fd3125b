"""All measurements of `graphzero bench`, one after the other; compared ones take turns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from graphzero.base.errors import InputError
from graphzero.base.resources import available_memory
from graphzero.base.text import counted_text
from graphzero.bench.local import LocalMaker, Made, memory_rates, processors
from graphzero.bench.numbers import BenchNumbers, Rounds
from graphzero.bench.served import Trainers, bench_daemon, small_requests
from graphzero.bench.workload import choose_workload
from graphzero.diagnosis.row_probe import NoAnswer, RowRates, probe_rows
from graphzero.files.dataset import Dataset, open_dataset
from graphzero.files.reading import room_for_files

_ROUNDS = 3
_MOST_TRAINERS = 2
_WARM_S = 20.0


def run_bench(
    path: Path,
    fanout: tuple[int, ...],
    batch_size: int,
    seconds: float,
    tell: Callable[[str], None],
) -> BenchNumbers:
    """`seconds` is the time for each figure. All figures take about twelve times as long, plus the
    time that processes need to start. `tell` is called with the name of each measurement."""
    dataset = open_dataset(path)
    if dataset.shard is not None:
        part, parts = dataset.shard.part, dataset.shard.parts
        raise InputError(
            f"{path}: is part {part} of {parts}, and batches need rows of the other parts too; "
            "measure the whole dataset that it was dealt from, or watch the daemons of the parts "
            "while trainers use them (graphzero top)"
        )
    workload = choose_workload(dataset, fanout, batch_size)
    tell("the disk and the memory")
    disk = _disk(dataset)
    memory = memory_rates(workload)
    turn = seconds / _ROUNDS
    with ExitStack() as stack:
        tell("starting a daemon")
        daemon = stack.enter_context(bench_daemon(path, _WARM_S))
        tell("starting trainers")
        trainers = stack.enter_context(Trainers(daemon, workload, _MOST_TRAINERS))
        maker = LocalMaker(workload)
        maker.make_for(0)  # so that no measured call touches its memory for the first time
        sampled: dict[int, list[Made]] = {threads: [] for threads in {1, processors()}}
        whole: list[Made] = []
        for number in range(_ROUNDS):
            tell(f"batches, round {number + 1} of {_ROUNDS}")
            for threads, made in sampled.items():
                made.append(maker.sample_for(turn, threads))
            whole.append(maker.make_for(turn))
            for count in range(1, _MOST_TRAINERS + 1):
                trainers.run(count, turn)
        served = trainers.results()
        tell("small requests")
        request = small_requests(daemon, workload, turn)
    batches = sum(made.batches for made in whole)
    nodes, edges = dataset.graph.num_nodes, dataset.graph.num_edges
    return BenchNumbers(
        processors=processors(),
        dataset=f"{path}: {counted_text(nodes, 'node')}, {counted_text(edges, 'edge')}",
        byte_size=dataset.byte_size,
        fits=dataset.byte_size <= room_for_files(dataset.byte_size, available_memory()),
        workload=workload.text,
        batch_bytes=sum(made.byte_size for made in whole) / batches,
        batch_nodes=sum(made.nodes for made in whole) / batches,
        batch_edges=sum(made.edges for made in whole) / batches,
        disk=disk,
        memory=memory,
        sampling={threads: _rounds(made) for threads, made in sampled.items()},
        embedded=_rounds(whole),
        served=served,
        request=request,
        warm=daemon.warm,
    )


def _rounds(made: list[Made]) -> Rounds:
    return Rounds(tuple(one.rate for one in made))


def _disk(dataset: Dataset) -> RowRates | None:
    """Rates of the largest column; None if there is no column, or if its disk does not answer;
    `graphzero doctor` then tells more."""
    columns = [found for found in dataset.columns.items() if found[1].num_rows]
    if not columns:
        return None
    try:
        return probe_rows(*max(columns, key=lambda found: found[1].byte_size))
    except NoAnswer:
        return None
