"""Finds in the numbers what limits the rate of batches on a machine, and what to change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from graphzero.base.text import short_count_text, size_text
from graphzero.bench.numbers import BenchNumbers, Served

Cause = Literal["disk", "processor", "copying", "request round trip", "shared memory", "trainer"]

# Workers of the daemon or processors that are busy for this share of the time can do no more: the
# rest of the time is lost between two batches.
_FULL = 0.75
# Workers that use the processor for less than this share of their time wait for the disk.
_COMPUTES = 0.6
# A disk that delivers this share of the rate of the probe can do no more.
_DISK_FULL = 0.5
# Copying that comes to this share of the rate at which rows alone come from memory can only become
# faster with faster memory.
_NEAR_MEMORY = 0.7
# Other work on the machine beyond this share makes every number doubtful.
_DISTURBED = 0.1


@dataclass(frozen=True)
class Limit:
    cause: Cause
    found: str
    """The numbers that show this limit."""
    do: tuple[str, ...]
    """What to change, the most effective change first."""


def limit_of(numbers: BenchNumbers) -> Limit:
    """The limit to remove first so that batches come faster."""
    most = max(numbers.served, key=lambda served: served.batches.median)
    work_ms = most.sampling_ms + most.gathering_ms
    workers = most.batches.median * work_ms / 1000 / numbers.processors
    if _waits_for_disk(numbers, most):
        return _disk(numbers, most)
    if most.memory_wait_ms > max(1.0, work_ms):
        return _shared_memory(most)
    if most.others > most.busy and most.busy + most.others >= _FULL:
        return _others(most)
    if workers >= _FULL or most.busy + most.others >= _FULL:
        copies = most.gathering_ms > most.sampling_ms
        return _copying(numbers, most) if copies else _processor(numbers, most)
    if most.waiting < 1 - _FULL:
        return _trainer(most)
    return _round_trip(numbers, most)


def _waits_for_disk(numbers: BenchNumbers, most: Served) -> bool:
    if numbers.disk is None or not most.rows_read or not numbers.disk.from_disk:
        return False
    share = most.rows_read * most.batches.median / numbers.disk.from_disk
    work_ms = most.sampling_ms + most.gathering_ms
    return share >= _DISK_FULL or most.daemon_cpu_ms < _COMPUTES * work_ms


def _disk(numbers: BenchNumbers, most: Served) -> Limit:
    assert numbers.disk is not None
    rate = most.rows_read * most.batches.median
    return Limit(
        "disk",
        f"{short_count_text(most.rows_read)} reads a batch, {short_count_text(rate)} a second; "
        f"random rows alone come at {short_count_text(numbers.disk.from_disk)} a second",
        (
            "graphzero doctor DIR says what the files and the machine can do about it: half "
            "precision, rows aligned to the disk's blocks, memory",
            'sampler="labor" draws as many edges from far fewer different rows',
            "more memory, for which --row-cache keeps rows that are asked for often",
            "a faster disk (NVMe): reads are random and hundreds at a time",
        ),
    )


def _copying(numbers: BenchNumbers, most: Served) -> Limit:
    share = most.gathering_ms / (most.sampling_ms + most.gathering_ms)
    rate = numbers.batch_bytes * most.batches.median
    memory: tuple[str, ...] = ()
    if rate >= _NEAR_MEMORY * numbers.memory.gather_all:
        memory = ("a machine with more memory channels",)
    return Limit(
        "copying",
        f"{share:.0%} of the daemon's work is copying rows into batches of "
        f"{size_text(numbers.batch_bytes)}: {size_text(rate)}/s, where rows alone come from "
        f"memory at {size_text(numbers.memory.gather_all)}/s",
        (
            "loader(columns=[...]) gathers only the columns that the model reads; "
            "seed_columns=[...] those of seeds alone, such as labels",
            "graphzero convert --dtype float16 halves the bytes of features",
            'sampler="labor", or a smaller fanout in the last hop: fewer rows a batch',
            *memory,
        ),
    )


def _processor(numbers: BenchNumbers, most: Served) -> Limit:
    share = most.sampling_ms / max(most.sampling_ms + most.gathering_ms, 1e-9)
    trainer = most.trainer_cpu_ms / max(most.daemon_cpu_ms + most.trainer_cpu_ms, 1e-9)
    return Limit(
        "processor",
        f"{numbers.processors} processors are {most.busy:.0%} busy with daemon and trainers "
        f"({trainer:.0%} of it trainers); {share:.0%} of the daemon's work is sampling",
        (
            "more processors: batches of different trainers and of a loader's prefetch are made "
            "side by side",
            "a smaller fanout: the last hop has most of the edges",
        ),
    )


def _others(most: Served) -> Limit:
    return Limit(
        "processor",
        f"other processes use {most.others:.0%} of all processors, daemon and trainers "
        f"{most.busy:.0%}",
        ("measure again when the machine is quiet: nothing else can be told from these numbers",),
    )


def _round_trip(numbers: BenchNumbers, most: Served) -> Limit:
    work_ms = most.sampling_ms + most.gathering_ms
    return Limit(
        "request round trip",
        f"a batch takes a worker {work_ms:.2f} ms, a request for one seed "
        f"{numbers.request.median_ms:.2f} ms, of which gRPC's own are {numbers.request.grpc_ms:.2f}"
        f" ms: processors are only {most.busy:.0%} busy",
        (
            "larger batches, so that fewer requests are made for the same seeds",
            "loader(prefetch=8) or more, or sample_async: requests that wait for each other less",
            "gz.Graph and gz.FeatureStore in the trainer's own process, if one process is all",
        ),
    )


def _trainer(most: Served) -> Limit:
    return Limit(
        "trainer",
        f"trainers wait for data in only {most.waiting:.0%} of their time: they cannot take more",
        ("nothing about the daemon: batches are there before they are asked for",),
    )


def _shared_memory(most: Served) -> Limit:
    return Limit(
        "shared memory",
        f"a batch waits {most.memory_wait_ms:.1f} ms for memory, and is made in "
        f"{most.sampling_ms + most.gathering_ms:.1f} ms",
        (
            "a larger --shm-limit (graphzero doctor says whether /dev/shm allows it)",
            "fewer batches that a trainer keeps: batch.release(), or a smaller prefetch",
        ),
    )


def doubts(numbers: BenchNumbers) -> Iterator[str]:
    """Reasons why the numbers are lower than they could be, or less certain."""
    others = max(served.others for served in numbers.served)
    if others > _DISTURBED:
        yield (
            f"other processes used {others:.0%} of the processors meanwhile: measure again when "
            "the machine is quiet"
        )
    if not numbers.warm:
        yield "the daemon was still reading files into memory: a second run finds them there"
    spread = [
        max(rounds.rates) / min(rounds.rates)
        for rounds in (numbers.embedded, *(served.batches for served in numbers.served))
    ]
    if max(spread) > 1.3:
        yield f"rounds differ by up to {max(spread) - 1:.0%}: --seconds 10 gives steadier medians"
