"""`make demo` in small: it learns, it counts memory, and it leaves nothing behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

DEMO = Path(__file__).with_name("demo.py")
SMALL = ["--nodes", "20k", "--edges", "400k", "--dim", "32", "--batch-size", "512", "--every", "1"]
TIMEOUT_S = 600  # a loaded machine; nothing is measured


@pytest.fixture(scope="module", autouse=True)
def needs_torch() -> None:
    pytest.importorskip("torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def results(folder: Path) -> Any:
    report = folder / "report.json"
    command = [sys.executable, DEMO, *SMALL, "--folder", folder / "data", "--json", report]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(report.read_text())


def processes_that_name(folder: Path) -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if str(folder) in command:
            yield command


def test_graphsage_beats_what_the_graph_is_not_needed_for(results: Any) -> None:
    accuracy = results["accuracy"]
    assert accuracy["majority_class"] < accuracy["features_only"]
    assert accuracy["graphsage"] > accuracy["features_only"] + 0.2
    assert accuracy["graphsage"] > accuracy["majority_class"] + 0.4


def test_the_loss_goes_down(results: Any) -> None:
    losses = [epoch["loss"] for epoch in results["epochs"]]
    assert losses[-1] < losses[0]
    assert all(0 <= epoch["waiting"] <= 1 for epoch in results["epochs"])


def test_memory_of_all_processes_is_reported(results: Any) -> None:
    assert set(results["memory"]) == {"daemon", "trainer 0", "trainer 1"}
    for kinds in results["memory"].values():
        assert kinds["private"] > 0
        assert kinds["files"] > 0
    assert results["dataset_byte_size"] > 0


def test_nothing_is_left_behind(results: Any, folder: Path) -> None:
    assert not list((folder / "data").iterdir())
    assert not list(processes_that_name(folder))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, DEMO, *SMALL, "--folder", tmp_path, "--epochs", "1000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:  # until the trainer is there
            if line.startswith("$") and "train_graphsage.py" in line:
                break
        demo.send_signal(number)
        demo.stdout.read()
        assert demo.wait(TIMEOUT_S) == 128 + number
    assert not list(tmp_path.iterdir())
    assert not list(processes_that_name(tmp_path))
