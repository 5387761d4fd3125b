"""`graphzero bench [DIR]`: how fast batches come here, what limits them, what to change."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from graphzero.base.errors import InputError
from graphzero.base.text import line_text, short_count_text, size_text
from graphzero.commands.arguments import count

if TYPE_CHECKING:
    from graphzero.bench.limits import Limit
    from graphzero.bench.numbers import BenchNumbers

_WIDTH = 100
_INDENT = " " * 26
# Fits into the memory of any machine, but is no toy: 8 M stored edges, 100 MB of rows.
_NODES, _EDGES = 200_000, 4_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measure how fast this machine makes batches of a dataset: its disk and memory,\n"
        "sampling alone, whole batches without a daemon, through a daemon with one and two\n"
        "trainers, and small requests; then say what limits it and what to change. Takes\n"
        "about a minute, and starts a daemon of its own."
    )
    parser.add_argument(
        "data", type=Path, nargs="?", metavar="DIR", help="a dataset (default: one is generated)"
    )
    parser.add_argument(
        "--fanout",
        type=_fanout,
        default=(15, 10, 5),
        metavar="K,K,...",
        help="neighbours of each hop (default 15,10,5)",
    )
    parser.add_argument(
        "--batch-size", type=count, default=1024, metavar="N", help="seeds (default 1024)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=4.0,
        metavar="S",
        help="how long to measure each figure, of which there are about ten (default 4)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _fanout(text: str) -> tuple[int, ...]:
    try:
        hops = tuple(int(part) for part in text.split(","))
    except ValueError:
        hops = ()
    if not hops or min(hops) < -1:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected numbers such as 15,10,5")
    return hops


def run(args: argparse.Namespace) -> int:
    if args.seconds <= 0 or args.batch_size < 1:
        raise InputError("--seconds and --batch-size: expected positive numbers")
    if args.data is not None:
        return _measure(args, args.data)
    with tempfile.TemporaryDirectory(prefix="graphzero-bench-") as temporary:
        from graphzero.conversion.generate import generate

        data = Path(temporary) / "generated"
        _tell(f"generating a dataset of {short_count_text(_NODES)} nodes")
        generate(data, nodes=_NODES, edges=_EDGES)
        return _measure(args, data)


def _measure(args: argparse.Namespace, data: Path) -> int:
    from graphzero.bench.limits import doubts, limit_of
    from graphzero.bench.run import run_bench

    numbers = run_bench(data, args.fanout, args.batch_size, args.seconds, _tell)
    limit, doubtful = limit_of(numbers), list(doubts(numbers))
    if args.json:
        document = {**numbers.document(), "limit": asdict(limit), "doubts": doubtful}
        print(json.dumps(document, indent=2))
        return 0
    for name, text in _lines(numbers):
        print(_wrapped(f"{name:<26}{text}", _INDENT))
    cause = "copying rows" if limit.cause == "copying" else f"the {limit.cause}"
    print(_wrapped(f"\nLimited by {cause}: {limit.found}.", ""))
    for text in _advice(limit):
        print(_wrapped(text, "    "))
    for text in doubtful:
        print(_wrapped(f"Beware: {text}.", ""))
    return 0


def _advice(limit: Limit) -> Iterator[str]:
    for text in limit.do:
        yield f"  - {text}"


def _lines(numbers: BenchNumbers) -> Iterator[tuple[str, str]]:
    fits = "fits into memory" if numbers.fits else "larger than memory"
    yield "dataset", f"{numbers.dataset}, {size_text(numbers.byte_size)}; {fits}"
    yield "batch", numbers.workload
    yield (
        "",
        f"{short_count_text(numbers.batch_nodes)} nodes, {short_count_text(numbers.batch_edges)} "
        f"edges, {size_text(numbers.batch_bytes)}",
    )
    if numbers.disk is not None:
        through = f"; through the page cache: {numbers.disk.fallback}" * bool(numbers.disk.fallback)
        yield (
            "disk, random rows",
            f"{short_count_text(numbers.disk.from_disk)} rows/s of {numbers.disk.column} "
            f"({size_text(numbers.disk.bytes_from_disk)}/s read from the disk){through}",
        )
    memory = numbers.memory
    yield "memory, plain copy", f"{size_text(memory.copy)}/s by one thread"
    if memory.column:
        yield (
            "memory, random rows",
            f"{size_text(memory.gather_one)}/s by one thread, {size_text(memory.gather_all)}/s by "
            f"{numbers.processors} ({memory.column})",
        )
    for threads, rounds in sorted(numbers.sampling.items()):
        edges = rounds.median * numbers.batch_edges
        yield (
            f"sampling, {threads} thread{'s' * (threads > 1)}",
            f"{rounds.text} batches/s, {short_count_text(edges)} edges/s",
        )
    yield "batches without a daemon", f"{numbers.embedded.text} a second"
    for served in numbers.served:
        yield (
            f"batches, {served.trainers} trainer{'s' * (served.trainers > 1)}",
            f"{served.batches.text} a second; trainers wait {served.waiting:.0%} of the time, "
            f"processors are {served.busy:.0%} busy",
        )
    request = numbers.request
    yield (
        "request for one seed",
        f"{request.median_ms:.2f} ms, 99 % within {request.p99_ms:.2f} ms; gRPC alone takes "
        f"{request.grpc_ms:.2f} ms",
    )


def _wrapped(text: str, indent: str) -> str:
    newline = "\n" * text.startswith("\n")
    return newline + "\n".join(
        textwrap.wrap(
            line_text(text.strip("\n"), 2000),
            _WIDTH,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _tell(what: str) -> None:
    print(f"measuring: {what}", file=sys.stderr)
