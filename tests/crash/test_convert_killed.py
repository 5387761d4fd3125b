"""A dataset that is being replaced, by runs that finish, fail, are killed or meet each other.

GRAPHZERO_KILLS sets how many runs are killed; `make crash` sets it high.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from commands import GRAPHZERO, hold_graphzero
from contents import names
from graphzero.files.paths import files_of, find_problems, open_file
from processes import bound
from waiting import DEADLINE_S

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("GRAPHZERO_KILLS", "30"))


def start(*arguments: object) -> subprocess.Popen[Any]:
    return subprocess.Popen(
        [GRAPHZERO, "convert", "--quiet", *map(str, arguments)], stderr=subprocess.PIPE, text=True
    )


def convert(*arguments: object) -> None:
    process = start(*arguments)
    assert process.communicate()[1] == ""
    assert process.returncode == 0


def problems_of(dataset: Path) -> list[str]:
    return [problem for file in files_of(dataset) for problem in find_problems(open_file(file))]


def write_versions(directory: Path, num_nodes: int, num_edges: int) -> list[list[object]]:
    """Arguments for two datasets: version v has num_nodes + v nodes and a column x full of v."""
    versions: list[list[object]] = []
    for version in (0, 1):
        nodes = num_nodes + version
        rng = np.random.default_rng(version)
        ids = rng.integers(0, nodes, (2, num_edges), np.int32)
        np.save(directory / f"edges{version}.npy", ids)
        np.save(directory / f"x{version}.npy", np.full(nodes, version, np.int64))
        versions.append(
            [
                *("--edges", directory / f"edges{version}.npy"),
                *("--column", f"x={directory / f'x{version}.npy'}"),
                *("--num-nodes", nodes),
            ]
        )
    return versions


def test_a_killed_run_leaves_the_old_or_the_new_dataset_and_the_next_one_cleans_up(
    tmp_path: Path,
) -> None:
    versions = write_versions(tmp_path, 200_000, 3_000_000)
    place = tmp_path / "place"
    place.mkdir()
    out = place / "ds"
    fingerprints = []
    started = time.monotonic()
    for version in versions:
        convert(*version, "--out", out, "--overwrite", "--memory", "64M")
        fingerprints.append(gz.Graph(out).fingerprint)
    seconds = (time.monotonic() - started) / 2
    seed = random.randrange(2**32)
    print(f"random seed {seed}")
    rng = random.Random(seed)
    killed = leftovers = 0
    for run in range(KILLS):
        process = start(*versions[run % 2], "--out", out, "--overwrite", "--memory", "64M")
        delay = rng.uniform(0, 1.1 * seconds)
        time.sleep(delay)
        if process.poll() is not None:  # the machine was busier when it was measured
            seconds = min(seconds, delay)
        process.kill()
        process.communicate()
        killed += process.returncode < 0
        assert gz.Graph(out).fingerprint in fingerprints
        assert problems_of(out) == []
        drafts = [name for name in names(place) if name != "ds"]
        assert len(drafts) <= 1  # that of this run: those of earlier ones are gone or it died early
        leftovers += len(drafts)
    assert killed > KILLS // 3
    assert leftovers > 0
    convert(*versions[0], "--out", out, "--overwrite")
    assert gz.Graph(out).fingerprint == fingerprints[0]
    assert names(place) == ["ds"]
    print(bound(killed))


def test_a_killed_first_run_leaves_no_dataset(tmp_path: Path) -> None:
    versions = write_versions(tmp_path, 1_000, 5_000)
    place = tmp_path / "place"
    place.mkdir()
    process = hold_graphzero("convert", *versions[0], "--out", place / "ds")
    process.kill()
    process.communicate()
    assert len(names(place)) == 1
    assert "ds" not in names(place)
    convert(*versions[0], "--out", place / "ds")
    assert names(place) == ["ds"]


def read_versions(dataset: Path) -> tuple[int, int] | None:
    """Versions that the graph and the column of one open directory say; None if the directory was
    replaced and emptied before its files could be opened."""
    descriptor = os.open(dataset, os.O_RDONLY | os.O_DIRECTORY)
    try:
        inside = Path(f"/proc/self/fd/{descriptor}")
        try:
            graph = gz.Graph(inside / "graph.gl")
            column = gz.FeatureStore(inside / "x.gd").get_tensor()
        except FileNotFoundError:
            assert os.fstat(descriptor).st_ino != dataset.stat().st_ino
            return None
        assert (column == column[0]).all()
        return graph.num_nodes - 1_000, int(column[0])
    finally:
        os.close(descriptor)


REPLACE = """
import sys
from graphzero.commands.cli import main
for i in range(100):
    first, second = sys.argv[1].split("|")
    assert main(["convert", "--quiet", *(first, second)[i % 2].split(";")]) == 0
"""


def test_readers_see_one_version_or_the_other_while_a_dataset_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "ds"
    versions = [
        [*map(str, version), "--out", str(out), "--overwrite"]
        for version in write_versions(tmp_path, 1_000, 5_000)
    ]
    convert(*versions[1])
    arguments = "|".join(";".join(version) for version in versions)
    writer = subprocess.Popen([sys.executable, "-c", REPLACE, arguments])
    seen = set()
    while writer.poll() is None:
        found = read_versions(out)
        if found is not None:
            assert found[0] == found[1]
            seen.add(found)
    assert writer.returncode == 0
    assert len(seen) == 2
    assert [name for name in names(tmp_path) if name.startswith(".")] == []


@pytest.mark.parametrize("overwrite", [False, True], ids=["new", "overwrite"])
def test_concurrent_runs_do_not_destroy_each_other(tmp_path: Path, overwrite: bool) -> None:
    versions = write_versions(tmp_path, 50_000, 500_000)
    place = tmp_path / "place"
    place.mkdir()
    options = ["--out", place / "ds", *(["--overwrite"] if overwrite else [])]
    running = [start(*versions[i % 2], *options) for i in range(4)]
    errors = [process.communicate()[1] for process in running]
    codes = [process.returncode for process in running]
    if overwrite:
        assert codes == [0] * 4, errors
    else:
        assert sorted(codes) == [0, 1, 1, 1]
        assert all("exists" in error for error in errors if error)
    assert problems_of(place / "ds") == []
    assert names(place) == ["ds"]
    version = gz.Graph(place / "ds").num_nodes - 50_000
    assert (gz.FeatureStore(place / "ds" / "x.gd").get_tensor() == version).all()


def test_a_draft_in_use_is_not_taken_for_a_leftover(tmp_path: Path) -> None:
    versions = write_versions(tmp_path, 1_000, 5_000)
    place = tmp_path / "place"
    place.mkdir()
    held = hold_graphzero("convert", *versions[0], "--out", place / "ds")
    (draft,) = names(place)
    convert(*versions[1], "--out", place / "ds")
    assert names(place) == sorted([draft, "ds"])
    held.send_signal(signal.SIGINT)
    held.communicate(timeout=DEADLINE_S)
    assert names(place) == ["ds"]
    assert problems_of(place / "ds") == []
