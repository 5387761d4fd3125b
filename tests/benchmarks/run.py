"""All benchmarks, in turns with their peers, and a report of them.

    python tests/benchmarks/run.py [--size quick] [--only NAME ...] [--out DIR]

Makes what it needs: environments of peers in .venv-peers, data in build/bench/data. Writes
report.json, report.md and plots. A subject that cannot run here is named in the report, and the
others are measured. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from common.machine import describe_machine, fio_limit
from common.peers import ROOT, Peers, find_peers
from common.settings import Settings
from growth import subject as growth
from loaders import memory_subject, requests_subject, train_subject
from loaders import subject as loaders
from out_of_core import subject as beyond
from report.document import Report, Subject
from report.write import write_report
from sampling import subject as sampling
from sampling import typed_subject


def subjects(report: Report) -> dict[str, Callable[[Settings], Subject]]:
    return {
        "loaders": loaders.measure,
        "memory": lambda settings: memory_subject.measure(settings, report.subjects["loaders"]),
        "requests": requests_subject.measure,
        "beyond memory": beyond.measure,
        "sampling": sampling.measure,
        "typed": typed_subject.measure,
        "training": train_subject.measure,
        "growth": growth.measure,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=("full", "quick", "tiny"), default="full")
    parser.add_argument("--only", action="append", help="a subject; may be given several times")
    parser.add_argument("--rounds", type=int, help="turns of each contender (4; else 2)")
    parser.add_argument("--seconds", type=float, help="of a turn (3; else 1)")
    parser.add_argument(
        "--minutes", type=float, default=32, help="after so many, no subject begins (32)"
    )
    parser.add_argument("--no-peers", action="store_true", help="compare with nobody")
    parser.add_argument("--no-install", action="store_true", help="only with peers that are there")
    parser.add_argument("--out", type=Path, default=ROOT / "build/bench/report")
    parser.add_argument("--data", type=Path, default=ROOT / "build/bench/data")
    args = parser.parse_args()
    args.data.mkdir(parents=True, exist_ok=True)
    _tell(0, "peers")
    peers = Peers(missing={"peers": "left out by --no-peers"})
    if not args.no_peers:
        peers = find_peers(make=not args.no_install)
    began = time.monotonic()  # installing them is done once
    rounds = args.rounds or (4 if args.size == "full" else 2)
    seconds = args.seconds or (3.0 if args.size == "full" else 1.0)
    settings = Settings(args.data, peers, args.size, rounds, seconds)
    told = {"size": args.size, "rounds": rounds, "seconds a turn": seconds}
    report = Report(describe_machine(args.data), told, {}, peers.missing)
    report.machine["fio"] = fio_limit(args.data)
    for name, measure in subjects(report).items():
        if args.only and name not in args.only:
            report.missing[name] = "left out by --only"
            continue
        if time.monotonic() - began > 60 * args.minutes:
            report.missing[name] = f"{args.minutes:g} minutes were over"
            continue
        _tell(began, name)
        try:
            report.subjects[name] = measure(settings)
        except Exception as error:  # the others are worth having
            traceback.print_exc()
            report.missing[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        report.seconds = time.monotonic() - began
        write_report(report, args.out)
    print(f"{args.out / 'report.md'} ({report.seconds / 60:.1f} minutes)")


def _tell(began: float, what: str) -> None:
    minutes = (time.monotonic() - began) / 60 if began else 0.0
    print(f"==> {minutes:5.1f} min: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
