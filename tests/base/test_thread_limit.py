"""Where the system refuses further threads, work goes on with those that are there."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from contents import file_bytes
from control_groups import ThreadGroup

DEADLINE_S = 120


def run_python(
    program: str, *arguments: object, **options: Any
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        **options,
    )


# What `calls` gives must be the same before threads are refused and after it.
COMPARE = """
import sys, threading
import graphzero as gz, numpy as np
from graphzero import _engine
data, io, topology_io = sys.argv[1:]
graph = gz.Graph(data + "/graph.gl", io=topology_io)
store = gz.FeatureStore(data + "/x.gd", io=io)
nodes = np.arange(graph.num_nodes).repeat(20)

def calls():
    sample = graph.sample(nodes, [5, 5], seed=1)
    walks = graph.random_walk(nodes, 5, seed=1)
    return [sample.n_id, sample.edge_index, walks.nodes, store.gather(nodes)]

_engine.set_thread_limit(1)
expected = calls()
{refuse}
try:
    threading.Thread(target=print).start()
    sys.exit("threads are not refused")
except RuntimeError:
    pass
_engine.set_thread_limit(8)
for found, wanted in zip(calls(), expected):
    assert (found == wanted).all()
print("same")
"""


@pytest.mark.parametrize(("io", "topology_io"), [("mapped", "mapped"), ("cached", "staged")])
def test_samples_and_rows_are_the_same(
    thread_group: ThreadGroup, dataset: Path, io: str, topology_io: str
) -> None:
    program = COMPARE.format(refuse=thread_group.enter_and_allow(0))
    done = run_python(program, dataset, io, topology_io, env={"GRAPHZERO_IO_ENGINE": "pread"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "same\n", "")


# Each line of the arguments is a command.
COMMANDS = """
import sys
import numpy
from graphzero.commands.cli import main
{refuse}
for command in sys.argv[1:]:
    code = main(command.split("|"))
    if code != 0:
        sys.exit(code)
"""


def test_tools_do_their_work(thread_group: ThreadGroup, tmp_path: Path, dataset: Path) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 5_000, (2, 100_000))
    np.save(tmp_path / "e.npy", ends)
    np.savez_compressed(tmp_path / "e.npz", ends)
    np.savetxt(tmp_path / "e.csv", ends.T, "%d", ",")
    sources = [tmp_path / "e.npy", f"{tmp_path}/e.npz#arr_0", tmp_path / "e.csv"]

    def commands(out: Path) -> list[str]:
        convert = [f"convert|--quiet|--edges|{source}|--threads|4|--out" for source in sources]
        return [
            *(f"{command}|{out}/{number}" for number, command in enumerate(convert)),
            f"verify|{out}/0",
            f"export|{dataset}|--format|npy|--out|{out}/export",
            f"convert|--quiet|--edges|{out}/0/graph.gl|--out|{out}/again",
        ]

    for name, refuse in (("free", ""), ("refused", thread_group.enter_and_allow(0))):
        (tmp_path / name).mkdir()
        done = run_python(COMMANDS.format(refuse=refuse), *commands(tmp_path / name))
        assert (done.returncode, done.stderr) == (0, "")
    free, refused = (file_bytes(tmp_path / name) for name in ("free", "refused"))
    assert len(free) > 5
    assert free == refused


@pytest.mark.parametrize("threads", [1, 4, 16])
def test_a_daemon_that_gets_too_few_threads_says_so_and_ends(
    thread_group: ThreadGroup, dataset: Path, runtime_directory: Path, threads: int
) -> None:
    thread_group.allow(threads)
    program = thread_group.enter + "import sys; from graphzero.server import main; sys.exit(main())"
    done = run_python(program, "--data", dataset, "--socket", runtime_directory / "s.sock")
    expected = r"graphzero-server: error: .*allows \d+ more threads, expected \d+: raise the limit"
    assert done.returncode == 1
    assert re.fullmatch(expected + ".*\n", done.stderr)


def test_a_daemon_that_gets_no_further_threads_serves_on(
    thread_group: ThreadGroup, start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--threads", "4", setup=thread_group.enter)
    with gz.connect(daemon.address) as client:
        thread_group.refuse()
        expected = gz.Graph(dataset / "graph.gl").sample(range(2_000), [5, 5], seed=3)
        for _ in range(20):
            batch = client.sample(range(2_000), [5, 5], seed=3)
            assert (np.asarray(batch.n_id) == expected.n_id).all()
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for_output("no warm start, files are read as they are asked for")
        daemon.wait_for_output("reloaded 1 datasets")
        assert (np.asarray(client.sample(range(2_000), [5, 5], seed=3).n_id) == expected.n_id).all()
    assert daemon.stop() == 0
