"""What a change did to speed: this tree beside another revision, in turns.

    python tests/benchmarks/compare.py BASE [--rounds 5] [--seconds 3] [--data DIR]

BASE is checked out and built below build/bench/base, in an environment of its own that shares all
other packages with .venv; it is kept, so that the next comparison with it starts at once. Measured
are sampling and whole batches without a daemon, batches through a daemon, and a small request.
Printed are medians of both and the ratios of their rounds. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from common.contest import BENCHMARKS, Daemon, turn
from common.datasets import rmat_dataset
from common.peers import ROOT
from common.rounds import Spread, Turn, medians, ratios, take_turns

PLACE = ROOT / "build/bench/base"
HERE = BENCHMARKS / "loaders"
# What is compared, in which unit, and whether more is better.
FIGURES = {
    "embedded": ("batches_s", "batches/s"),
    "1 trainer": ("batches_s", "batches/s"),
    "2 trainers": ("batches_s", "batches/s"),
    "small request": ("requests_s", "requests/s"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="a revision of this repository, or an interpreter")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--shape", default="quick", help="of the graph (common/graphs.py)")
    parser.add_argument("--data", type=Path, default=ROOT / "build/bench/data")
    args = parser.parse_args()
    is_interpreter = Path(args.base).is_file() and os.access(args.base, os.X_OK)
    base = args.base if is_interpreter else build(args.base)
    args.data.mkdir(parents=True, exist_ok=True)
    data = rmat_dataset(args.data, args.shape)
    contenders: dict[str, Callable[[], Turn]] = {}
    for figure in FIGURES:
        for side, python in (("base", base), ("this", sys.executable)):
            contenders[f"{figure}, {side}"] = _turn_of(figure, python, data, args.seconds)
    skipped: dict[str, str] = {}
    turns = take_turns(contenders, args.rounds, skipped)
    print(f"{args.base} and this tree, {args.rounds} rounds; medians, least and most")
    for figure, (key, unit) in FIGURES.items():
        names = [f"{figure}, {side}" for side in ("base", "this")]
        if not all(name in turns for name in names):
            print(f"{figure:<14} not compared: {[skipped.get(name, '') for name in names]}")
            continue
        before, after = (medians(turns[name], key).text(".1f") for name in names)
        ratio = Spread.of(ratios(turns, names[1], names[0], key))
        print(f"{figure:<14} {unit}: {before} -> {after}: {ratio.text('.2f')} times")


def build(revision: str) -> str:
    """The interpreter of an environment in which that revision is installed."""
    commit = _output("git", "-C", str(ROOT), "rev-parse", "--short=12", f"{revision}^{{commit}}")
    place = PLACE / commit
    python = place / "venv/bin/python"
    if (place / "built").exists():
        return str(python)
    print(f"==> Building {revision} ({commit}) in {place}", file=sys.stderr, flush=True)
    subprocess.run(["rm", "-rf", str(place)], check=True)
    (place / "source").mkdir(parents=True)
    archive = subprocess.Popen(["git", "-C", str(ROOT), "archive", commit], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(place / "source")], stdin=archive.stdout, check=True)
    subprocess.run([sys.executable, "-m", "venv", str(place / "venv")], check=True)
    # Everything else comes from .venv, behind what is installed here.
    own = _output(str(python), "-c", "import site; print(site.getsitepackages()[0])")
    shared = _output(sys.executable, "-c", "import site; print(site.getsitepackages()[0])")
    (Path(own) / "shared.pth").write_text(f"{shared}\n")
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*wheel, "--wheel-dir", str(place), str(place / "source")], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]
    subprocess.run([*install, *map(str, place.glob("*.whl"))], check=True)
    (place / "built").touch()
    return str(python)


def _turn_of(figure: str, python: str, data: Path, seconds: float) -> Callable[[], Turn]:
    def embedded() -> Turn:
        callers = str(len(os.sched_getaffinity(0)))
        return turn([[python, str(HERE / "ours_embedded.py"), str(data), str(seconds), callers]])

    def served() -> Turn:
        count = int(figure.split()[0])
        with Daemon(data, python=python).wait_until_warm() as daemon:
            script = [python, str(HERE / "ours_served.py"), daemon.address, str(seconds)]
            return turn([[*script, str(rank), str(count)] for rank in range(count)], daemon)

    def small_request() -> Turn:
        with Daemon(data, python=python).wait_until_warm() as daemon:
            command = [python, str(HERE / "small_requests.py"), daemon.address, "1000"]
            found = json.loads(subprocess.check_output(command, text=True))
            return {"requests_s": 1000 / found["p50_ms"]}

    return {"embedded": embedded, "small request": small_request}.get(figure, served)


def _output(*command: str) -> str:
    return subprocess.check_output(command, text=True).strip()


if __name__ == "__main__":
    main()
