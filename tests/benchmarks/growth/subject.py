"""How cost grows: one quantity at a time, everything else as it was, each point several times.

Sizes of the data are measured with the engine in one process, one thread; requests, sessions and
trainers through a daemon. Points of a sweep take turns. The exponent is that of a power law through
the medians: 1 is linear, where more work is asked for; 0 is constant, where it is not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from common.settings import Settings
from growth import data_sweeps, session_sweeps
from report.document import Subject, Sweep


@dataclass(frozen=True)
class Growth:
    """What sweeps are given."""

    directory: Path
    quick: bool
    """Fewer points."""
    scale: float
    """Of the data."""
    repeats: int
    seconds: float
    """Of one point, once."""


SWEEPS: dict[str, Callable[[Growth], list[Sweep]]] = {
    "nodes": data_sweeps.nodes,
    "edges": data_sweeps.edges,
    "width": data_sweeps.width,
    "batch": data_sweeps.batch,
    "fanout": data_sweeps.fanout,
    "threads": data_sweeps.threads,
    "seeds": session_sweeps.seeds,
    "trainers": session_sweeps.trainers,
    "idle sessions": session_sweeps.idle_sessions,
    "busy sessions": session_sweeps.busy_sessions,
    "connections": session_sweeps.connections,
}


def measure(settings: Settings, only: list[str] | None = None) -> Subject:
    seconds = min(0.5, settings.seconds / 4)
    growth = Growth(settings.directory, settings.quick, settings.scale, 3, seconds)
    subject = Subject("growth", "How cost grows", __doc__.partition("\n\n")[2])
    for name, sweep in SWEEPS.items():
        if only and name not in only:
            continue
        print(f"    {name}", file=sys.stderr, flush=True)
        try:
            subject.sweeps += sweep(growth)
        except Exception as error:  # the other sweeps are worth having
            subject.skipped[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return subject


def main() -> None:
    """`python tests/benchmarks/growth/subject.py --data DIR [--size quick] [NAME ...]`."""
    from common.peers import Peers
    from report.growth import verdict

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*SWEEPS, []], help="default: all")
    parser.add_argument("--data", type=Path, required=True, help="where generated data is kept")
    parser.add_argument("--size", choices=("full", "quick", "tiny"), default="full")
    args = parser.parse_args()
    subject = measure(Settings(args.data, Peers(), args.size), args.names)
    for sweep in subject.sweeps:
        found = verdict(sweep)
        print(f"{sweep.quantity}: {sweep.cost}, x^{found.exponent:.2f}: {found.text}")
        for x, values in zip(sweep.x, sweep.values, strict=True):
            print(f"  {x:>12,g}  {', '.join(f'{value:,.4g}' for value in values)}")
    for name, why in subject.skipped.items():
        print(f"{name}: {why}")


if __name__ == "__main__":
    main()
