"""Fixtures that several folders of tests use."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import control_groups
import hypothesis
import numpy as np
import pytest
from graphzero.transport.grpc_setup import import_grpc

# Before anything else loads gRPC, as in a trainer: it says how to treat forks.
import_grpc()

from daemon_process import DaemonProcess  # noqa: E402
from gate import Gate  # noqa: E402

# A test that cannot run here fails, instead of being skipped.
NO_SKIPS = os.environ.get("GRAPHZERO_NO_SKIPS", "") not in ("", "0")

# No test is about time: a busy machine is no failure.
hypothesis.settings.register_profile("graphzero", deadline=None)
hypothesis.settings.load_profile("graphzero")


def pytest_configure() -> None:
    # A shell starts what runs in the background with SIGINT ignored, which children inherit; tests
    # of interruption need it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _fail_if_skipped(report: Any) -> Any:
    if report.skipped and NO_SKIPS and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{report.longrepr[2]}, and GRAPHZERO_NO_SKIPS is set"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return _fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return _fail_if_skipped((yield))


@pytest.fixture
def runtime_directory() -> Iterator[Path]:
    """A short path for sockets, private to this test."""
    directory = Path(tempfile.mkdtemp(prefix="gz-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    where = tmp_path / "small"
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(where)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a tmpfs here")
    yield where
    subprocess.run(["umount", str(where)], check=True)


@pytest.fixture
def start_daemon(runtime_directory: Path) -> Iterator[Callable[..., Any]]:
    """start_daemon(data, *options) -> a running DaemonProcess; stopped at the end of the test."""
    numbers = itertools.count()
    started = []

    def start(data: Path, *options: str, socket: Path | None = None, **rest: Any) -> Any:
        place = socket or runtime_directory / f"s{next(numbers)}.sock"
        daemon = DaemonProcess(data, place, *options, **rest)
        started.append(daemon)
        return daemon

    yield start
    for daemon in started:
        if daemon.process.poll() is None:
            daemon.kill()
        if daemon.process.returncode < 0:
            from graphzero.server.process.lock import sweep_regions

            sweep_regions(daemon.instance_id)  # there is no next start to do it


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """A closed gate for the workers of a daemon: start_daemon(..., setup=gate.setup)."""
    return Gate(tmp_path / "gate")


@pytest.fixture
def make_group() -> Iterator[Callable[[contextlib.AbstractContextManager[Any]], Any]]:
    """make_group(context) -> its control group, removed after the test; skips where none can be."""
    with contextlib.ExitStack() as stack:

        def enter(context: contextlib.AbstractContextManager[Any]) -> Any:
            try:
                return stack.enter_context(context)
            except control_groups.NoControlGroup as error:
                pytest.skip(str(error))

        yield enter


@pytest.fixture
def memory_group(make_group: Callable[..., Any]) -> Callable[[int], control_groups.MemoryGroup]:
    """memory_group(limit) -> a control group of at most so many bytes."""
    return lambda limit: make_group(control_groups.memory_group(limit))


@pytest.fixture
def thread_group(make_group: Callable[..., Any]) -> control_groups.ThreadGroup:
    """A control group that bounds threads as the test says."""
    return make_group(control_groups.thread_group())


@pytest.fixture
def limit_threads() -> Iterator[Callable[[int], None]]:
    """limit_threads(count): of the engine's threads in this process, for this test."""
    from graphzero import _engine

    before = _engine.thread_usage().limit
    yield _engine.set_thread_limit
    _engine.set_thread_limit(before)


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 nodes with weights, edge ids, features x, labels y, an edge column and a split."""
    import graphzero as gz

    directory = tmp_path_factory.mktemp("data") / "small"
    directory.mkdir()
    rng = np.random.default_rng(7)
    nodes, edges = 2_000, 30_000
    gz.write_graph(
        directory / "graph.gl",
        rng.integers(0, nodes, edges),
        rng.integers(0, nodes, edges),
        weights=rng.random(edges, dtype=np.float32),
        num_nodes=nodes,
        edge_ids=True,
    )
    gz.write_features(directory / "x.gd", rng.random((nodes, 16), dtype=np.float32))
    gz.write_features(directory / "y.gd", rng.integers(0, 5, nodes))
    gz.write_features(directory / "when.gd", rng.random(edges, dtype=np.float32), role="edge")
    gz.write_features(directory / "train.gd", np.arange(0, nodes, 3), role="ids")
    return directory
