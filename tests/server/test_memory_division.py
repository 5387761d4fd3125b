"""The daemon's parts fit into the memory that is available, and it says what to change if the
limits that it was given do not."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from control_groups import MemoryGroup
from graphzero.base import resources
from graphzero.base.memory_division import divide_memory
from graphzero.base.resources import available_memory
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.files.dataset import open_dataset
from graphzero.files.reading import plan_reading
from graphzero.server.datasets import read_plan
from graphzero.server.datasets.read_plan import ReadPlan, reads_files
from graphzero.server.settings.config import IoConfig

pytestmark = pytest.mark.slow

Group = Callable[[int], MemoryGroup]

MIB = 1 << 20
LARGE_SHM = 1 << 40


@pytest.mark.parametrize("available", [256, 400, 584, 1024, 4096, 24_000, 500_000])
@pytest.mark.parametrize("shared_memory", [64, 8192, 1 << 20])
def test_defaults_fit_together(available: int, shared_memory: int) -> None:
    plan = divide_memory(available * MIB, shared_memory * MIB, 2, None, None)
    assert plan.daemon + plan.trainers <= plan.available
    assert plan.batches <= max(64, shared_memory // 2) * MIB
    assert 2 <= plan.workers <= 2 * 8  # at most eight requests of a thread wait for the disk
    assert list(plan.warnings()) == []


def test_large_machines_get_their_shares() -> None:
    plan = divide_memory(64_000 * MIB, LARGE_SHM, 16, None, None)
    assert plan.batches == plan.row_cache == 16_000 * MIB


@pytest.mark.parametrize("available", [10, 100, 300])
def test_what_cannot_fit_is_said(available: int) -> None:
    plan = divide_memory(available * MIB, LARGE_SHM, 32, None, None)
    (warning,) = plan.warnings()
    assert "--threads" in warning


@pytest.mark.parametrize(("shm_limit", "row_cache"), [(900, None), (None, 900), (600, 300)])
def test_limits_that_do_not_fit_come_with_such_that_do(
    shm_limit: int | None, row_cache: int | None
) -> None:
    given = {"--shm-limit": shm_limit, "--row-cache": row_cache}
    in_bytes = [size and size * MIB for size in given.values()]
    (warning,) = divide_memory(1024 * MIB, LARGE_SHM, 2, *in_bytes).warnings()
    advice = dict(re.findall(r"(--[a-z-]+) (\d+)M\b", warning))
    assert set(advice) == {name for name, size in given.items() if size}
    mended = [size and int(advice[name]) * MIB for name, size in given.items()]
    plan = divide_memory(1024 * MIB, LARGE_SHM, 2, *mended)
    assert list(plan.warnings()) == []
    assert plan.daemon > 300 * MIB  # it does not ask for more than is needed


def test_the_limit_of_a_group_counts_and_that_of_the_group_around_it(memory_group: Group) -> None:
    program = "from graphzero.base.resources import available_memory; print(available_memory())"
    group = memory_group(200 * MIB)
    for entered in (group, group.make_child()):
        command = [sys.executable, "-c", entered.enter + program]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert 0 < int(done.stdout) < 200 * MIB


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({"outer/memory.max": 400 * MIB}, 300 * MIB),
        ({"outer/inner/memory.max": 90 * MIB}, 80 * MIB),
        ({"outer/memory.max": 400 * MIB, "outer/inner/memory.high": 90 * MIB}, 80 * MIB),
    ],
)
def test_limits_of_version_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], left: int
) -> None:
    """By files as a kernel with version 2 has them: groups in groups, "max" where there is none."""
    for group, anonymous, shared in (("outer", 70, 30), ("outer/inner", 6, 4)):
        (tmp_path / group).mkdir()
        for name in ("memory.max", "memory.high"):
            (tmp_path / group / name).write_text("max\n")
        stat = f"anon {anonymous * MIB}\nfile {900 * MIB}\nshmem {shared * MIB}\n"
        (tmp_path / group / "memory.stat").write_text(stat)
    for name, limit in limits.items():
        (tmp_path / name).write_text(f"{limit}\n")
    (tmp_path / "self").write_text("0::/outer/inner\n")
    monkeypatch.setattr(resources, "_GROUPS", tmp_path)
    monkeypatch.setattr(resources, "_OWN_GROUPS", tmp_path / "self")
    assert resources.available_memory() == left


def test_shared_memory_that_is_in_use_counts_as_used(memory_group: Group) -> None:
    """Its pages count as cache, but nobody can give them back."""
    program = (
        "import os\n"
        "from graphzero.base.resources import available_memory\n"
        "before = available_memory()\n"
        "file = os.memfd_create('pages')\n"
        "os.posix_fallocate(file, 0, 50 << 20)\n"
        "print(before - available_memory())\n"
    )
    group = memory_group(300 * MIB)
    done = subprocess.run(
        [sys.executable, "-c", group.enter + program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) > 45 * MIB


def test_a_daemon_in_a_small_group_chooses_small_parts_and_says_so(
    start_daemon: Callable[..., Any], dataset: Path, memory_group: Group
) -> None:
    group = memory_group(600 * MIB)
    daemon = start_daemon(dataset, "--feature-io", "direct", setup=group.enter)
    stats = daemon_stats(daemon.address)
    assert stats.shm_limit_byte_size + stats.row_cache.capacity_byte_size < 300 * MIB
    assert "(a control group allows 600.0 MiB)" in daemon.output()
    assert "warning: " not in daemon.output()
    assert daemon.stop() == 0


def test_a_reload_does_not_count_what_the_daemon_itself_holds(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_dataset(dataset)
    size = opened.byte_size
    memory = divide_memory(3 * size // 2, LARGE_SHM, 1, size // 2, 0)
    memory = replace(memory, workers=0)
    plan = ReadPlan(IoConfig(), memory)
    for available in (memory.available, memory.available - memory.daemon):
        monkeypatch.setattr(read_plan, "available_memory", lambda now=available: now)
        plan.apply(plan.make([opened])[0], opened)
        assert not reads_files([opened])


def test_row_starts_that_take_too_much_are_left_out(dataset: Path) -> None:
    opened = open_dataset(dataset)
    most = opened.graph.most_row_starts_bytes
    (plan,) = plan_reading([opened], 11 * most, "auto", "staged")
    assert plan.graph.row_starts == most
    (plan,) = plan_reading([opened], 9 * most, "auto", "staged")
    assert plan.graph.row_starts == 0
    (plan,) = plan_reading([opened], 1000 * most, "auto", "mapped")
    assert plan.graph.row_starts == 0
    opened.graph.read_by(plan_reading([opened], 9 * most, "auto", "staged")[0].graph)
    assert any("too large to be kept" in line for line in read_plan.describe([opened], None))


def test_row_starts_come_out_of_the_row_cache_unless_it_was_given() -> None:
    parts = divide_memory(4096 * MIB, LARGE_SHM, 2, None, None)
    less = parts.row_cache_beside(100 * MIB)
    # The index of the rows that are not there any more is not there either.
    assert less == parts.row_cache - 80 * MIB
    assert 0 < parts.row_cache_beside(parts.row_cache * 2) <= 8 * MIB
    given = divide_memory(4096 * MIB, LARGE_SHM, 2, None, 512 * MIB)
    assert given.row_cache_beside(100 * MIB) == 512 * MIB


def test_limits_that_do_not_fit_are_a_warning_at_start(
    start_daemon: Callable[..., Any], dataset: Path, memory_group: Group
) -> None:
    group = memory_group(600 * MIB)
    daemon = start_daemon(dataset, "--shm-limit", "500M", setup=group.enter)
    assert re.search(r"warning: .*; use --shm-limit \d+M$", daemon.output(), re.MULTILINE)
    assert daemon.stop() == 0


def test_more_shared_memory_than_the_machine_has_is_not_blamed_on_its_mount(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    """A mount of /dev/shm cannot be made larger than the memory to any use."""
    daemon = start_daemon(dataset, "--shm-limit", "100T")
    (warning,) = (line for line in daemon.output().splitlines() if line.startswith("warning: "))
    assert "100.0 TiB" in warning
    assert re.search(r"; use --shm-limit \d+M$", warning)
    size = re.search(r"\d+(?=M$)", warning)
    assert size is not None
    assert int(size[0]) << 20 <= available_memory()


# Has a model, keeps as many batches as the daemon gives to one trainer, and reads more rows than
# the row cache holds. Without torch, whose libraries would fill a small group.
TRAINER = """
import sys
sys.modules["torch"] = None
import graphzero as gz
import numpy as np
model = bytearray(120 << 20)
held = []
with gz.connect(sys.argv[1]) as client:
    room = 0.4 * client.info().max_result_byte_size
    for first in range(0, 16_000, 500):
        if (len(held) + 1) * 500 * 8192 > room:
            held.clear()
        held.append(client.gather("x", np.arange(first, first + 500)))
"""


def test_a_daemon_and_a_trainer_live_in_a_small_group(
    start_daemon: Callable[..., Any], tmp_path: Path, memory_group: Group
) -> None:
    """With all sizes as they are by default."""
    gz.write_graph(tmp_path / "graph.gl", np.arange(16_000), np.arange(16_000)[::-1])
    gz.write_features(tmp_path / "x.gd", np.ones((16_000, 2048), np.float32))
    group = memory_group(320 * MIB)
    daemon = start_daemon(tmp_path, "--feature-io", "direct", setup=group.enter)
    done = subprocess.run(
        [sys.executable, "-c", group.enter + TRAINER, daemon.address],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert group.killed == 0
    assert daemon.stop() == 0
