"""Runs what README.md and the guides show, block by block, each in a directory of its own, as a
reader would."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon_process import daemon_pid

ROOT = Path(__file__).parents[2]
ROOMS = ("client", "deploy", "native", "proto", "server", "tests")
DOCUMENTS = [ROOT / "README.md", *(path for room in ROOMS for path in (ROOT / room).rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ATTEMPTS = 100


@pytest.fixture
def environment(runtime_directory: Path) -> Iterator[dict[str, str]]:
    """A reader's shell: the programs on the PATH, sockets in a place of their own."""
    programs = str(Path(sys.executable).parent)
    outside = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHZERO_")}
    yield outside | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "XDG_RUNTIME_DIR": str(runtime_directory),
    }
    for lock in runtime_directory.glob("graphzero/*.lock"):
        pid = daemon_pid(lock)
        if pid is not None:
            stop(pid)


def stop(daemon: int) -> None:
    """The shell that started it in the background is gone, so it is no child of this process."""
    try:
        descriptor = os.pidfd_open(daemon)
    except ProcessLookupError:
        return
    signal.pidfd_send_signal(descriptor, signal.SIGTERM)
    os.close(descriptor)


def run_block(language: str, code: str, directory: Path, environment: dict[str, str]) -> str:
    """Returns what went to stderr. Into a file: a daemon left behind would keep a pipe open."""
    command = [sys.executable, "-c", code] if language == "python" else ["bash", "-euc", code]
    errors = directory / f"{len(list(directory.iterdir()))}.stderr"  # a daemon keeps its own
    with errors.open("w") as file:
        done = subprocess.run(
            command, cwd=directory, env=environment, stdout=subprocess.DEVNULL, stderr=file
        )
    assert done.returncode == 0, f"{code}\n{errors.read_text()}"
    if "graphzero-server" in code:
        wait_for_daemon(environment, errors)
    return errors.read_text()


def wait_for_daemon(environment: dict[str, str], errors: Path) -> None:
    for _ in range(ATTEMPTS):
        ping = [sys.executable, "-m", "graphzero", "ping", "--timeout", "2"]
        if subprocess.run(ping, env=environment, capture_output=True).returncode == 0:
            return
    pytest.fail(f"the daemon does not answer: {errors.read_text()}")


def blocks_of(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text())


GUIDES = [document for document in DOCUMENTS if blocks_of(document)]


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.slow  # most examples import torch, each in a process of its own
@pytest.mark.parametrize("guide", GUIDES, ids=name_of)
def test_every_example_runs(guide: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    pytest.importorskip("torch")
    for language, code in blocks_of(guide):
        complaints = run_block(language, code, tmp_path, environment)
        assert "Warning" not in complaints, f"{code}\n{complaints}"


def test_the_readme_and_the_guides_have_examples() -> None:
    assert {"README.md", "deploy/README.md"} <= {name_of(guide) for guide in GUIDES}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for link in LINK.findall(document.read_text()):
        if "://" not in link:
            assert (document.parent / link).exists(), link
