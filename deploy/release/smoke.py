"""Uses an installed graphzero-server as a new user would: generate, verify, serve, sample.

Runs in an environment that has the wheel and what it requires, nothing else: no torch, no compiler.
Prints as JSON what it imported and a digest of a batch, which is the same wherever it runs.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import graphzero as gz
import graphzero._engine
import numpy as np

SCRIPTS = Path(sysconfig.get_path("scripts"))
SEEDS = [42, 7, 42, 1999]
DEADLINE_S = 60.0


def run(program: str, *arguments: str) -> None:
    command = [str(SCRIPTS / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def wait_until_it_answers(daemon: subprocess.Popen[str], socket: Path) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while subprocess.run([SCRIPTS / "graphzero", "ping", socket], capture_output=True).returncode:
        if daemon.poll() is not None or time.monotonic() > deadline:
            daemon.kill()
            sys.exit(f"the daemon does not answer:\n{daemon.communicate()[0]}")


def served_batch(dataset: Path, socket: Path) -> dict[str, np.ndarray]:
    command = [str(SCRIPTS / "graphzero-server"), "--data", str(dataset), "--socket", str(socket)]
    daemon = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until_it_answers(daemon, socket)
        with gz.connect(str(socket)) as client:
            batch = client.sample(SEEDS, fanout=[10, 5], seed=3)
            fields = {name: np.array(batch[name]) for name in ("n_id", "edge_index", "x")}
            del batch
    finally:
        daemon.terminate()
        output = daemon.communicate(timeout=DEADLINE_S)[0]
    if daemon.returncode != 0:
        sys.exit(f"the daemon ended with {daemon.returncode}:\n{output}")
    return fields


def embedded_batch(dataset: Path) -> dict[str, np.ndarray]:
    sample = gz.Graph(dataset / "graph.gl").sample(SEEDS, fanout=[10, 5], seed=3)
    x = gz.FeatureStore(dataset / "x.gd").gather(sample.n_id)
    return {"n_id": np.asarray(sample.n_id), "edge_index": np.asarray(sample.edge_index), "x": x}


def check_errors(dataset: Path) -> None:
    """An exception of the engine, which is C++, arrives as the Python exception it stands for."""
    broken = dataset.with_name("broken.gl")
    broken.write_bytes((dataset / "graph.gl").read_bytes()[:1000])
    try:
        gz.Graph(broken)
    except gz.FormatError as error:
        if "broken.gl" not in str(error):
            sys.exit(f"the message does not name the file: {error}")
    else:
        sys.exit("a graph that was cut off did open")


def main() -> None:
    if shutil.which("cc") or shutil.which("c++"):
        sys.exit("there is a compiler on PATH: this check is for environments without one")
    with tempfile.TemporaryDirectory(prefix="gz-smoke-") as folder:
        dataset = Path(folder, "data")
        run("graphzero", "generate", "--out", str(dataset), "--nodes", "2k", "--edges", "20k")
        run("graphzero", "verify", str(dataset))
        served = served_batch(dataset, Path(folder, "server.sock"))
        embedded = embedded_batch(dataset)
        check_errors(dataset)
    digest = hashlib.sha256()
    for name, values in served.items():
        if not np.array_equal(values, embedded[name]):
            sys.exit(f"{name} of the daemon's batch differs from the engine's own")
        digest.update(values.tobytes())
    engine = Path(graphzero._engine.__file__).name
    print(json.dumps({"engine": engine, "batch": digest.hexdigest()}))


if __name__ == "__main__":
    main()
