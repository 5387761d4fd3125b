"""Which datasets are served, what becomes of those that cannot be, and what a reload opens."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import graphzero as gz
import grpc
import pytest
from graphzero.base.errors import InputError
from graphzero.base.memory_division import divide_memory
from graphzero.commands.cli import main
from graphzero.files.paths import datasets
from graphzero.server.codes import code_for
from graphzero.server.datasets import read_plan
from graphzero.server.datasets.catalog import Catalog, UnknownDataset, UnusableDataset
from graphzero.server.datasets.read_plan import ReadPlan
from graphzero.server.settings.config import IoConfig

GIB = 1 << 30


@pytest.fixture
def data(dataset: Path, tmp_path: Path) -> Path:
    """A directory with the datasets "a" and "b"."""
    for name in "ab":
        shutil.copytree(dataset, tmp_path / "data" / name)
    return tmp_path / "data"


def open_catalog(data: Path) -> Catalog:
    memory = divide_memory(GIB, GIB, 1, 64 << 20, 64 << 20)
    return Catalog(data, ReadPlan(IoConfig(), memory), max_sessions=4)


def reload(catalog: Catalog) -> Any:
    version = catalog.read()
    catalog.adopt(version)
    return version


def names(catalog: Catalog) -> list[str]:
    return [dataset.name for dataset in catalog.all()]


def cut(path: Path) -> None:
    """As a copy that was interrupted: another file, and a short one."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])


def age(data: Path) -> None:
    """Waits until what is there cannot change without its times telling. Times of files cannot be
    set back, so it is the clock that has to move."""
    for file in data.glob("*/*"):
        while time.time_ns() - file.stat().st_ctime_ns < 2_100_000_000:
            time.sleep(0.05)


# --- what cannot be served ---


@pytest.mark.parametrize("how", ["cut", "junk", "no graph", "a pipe", "rows"])
def test_one_that_cannot_be_opened_is_left_out_with_the_reason(data: Path, how: str) -> None:
    if how == "cut":
        cut(data / "a" / "graph.gl")
        expected = "graph.gl"
    elif how == "junk":
        (data / "a" / "z.gd").write_bytes(b"junk")
        expected = "z.gd"
    elif how == "no graph":
        (data / "a" / "graph.gl").unlink()
        expected = "found no graph.gl"
    elif how == "a pipe":
        os.mkfifo(data / "a" / "z.gd")
        expected = "not a regular file"
    else:
        gz.write_features(data / "a" / "z.gd", [1.0, 2.0])
        expected = "found 2 rows"
    catalog = open_catalog(data)
    assert names(catalog) == ["b"]
    assert expected in catalog.left_out["a"]
    with pytest.raises(UnusableDataset, match=expected) as caught:
        catalog.find("a")
    assert code_for(caught.value) is grpc.StatusCode.DATA_LOSS
    assert catalog.find("b").name == "b"


def test_a_stray_column_does_not_hide_the_datasets_beside_it(
    start_daemon: Callable[..., Any], data: Path, dataset: Path
) -> None:
    shutil.copy(dataset / "x.gd", data / "stray.gd")
    assert names(open_catalog(data)) == ["a", "b"]
    daemon = start_daemon(data)
    assert "stray.gd lies beside the datasets" in daemon.output()
    with gz.connect(daemon.address, dataset="a") as client:
        assert client.sample([1], [2]).batch_size == 1


def test_columns_beside_folders_without_a_graph_are_a_dataset(
    dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "columns" / "notes").mkdir(parents=True)
    shutil.copy(dataset / "x.gd", tmp_path / "columns" / "x.gd")
    shutil.copy(dataset / "x.gd", tmp_path / "columns" / "notes" / "x.gd")
    assert datasets(tmp_path / "columns") == [tmp_path / "columns"]


def test_a_name_that_is_no_utf_8_is_left_out(data: Path, dataset: Path) -> None:
    strange = os.fsencode(data) + b"/c\xff"
    shutil.copytree(dataset, os.fsdecode(strange))
    (data / "a" / os.fsdecode(b"z\xff.gd")).write_bytes(b"")
    catalog = open_catalog(data)
    assert names(catalog) == ["b"]
    assert len(catalog.left_out) == 2
    assert all("not valid UTF-8" in why for why in catalog.left_out.values())
    assert any("c\\xff" in why for why in catalog.left_out.values())


def test_the_only_one_has_a_name_if_another_is_left_out(data: Path) -> None:
    """It would be another one as soon as the damage is mended."""
    cut(data / "a" / "graph.gl")
    catalog = open_catalog(data)
    with pytest.raises(UnknownDataset, match="no dataset name, expected one of 'a', 'b'"):
        catalog.find("")
    shutil.rmtree(data / "a")
    reload(catalog)
    assert catalog.find("").name == "b"


def test_nothing_to_serve_is_an_error(data: Path) -> None:
    cut(data / "a" / "graph.gl")
    (data / "b" / "graph.gl").unlink()
    with pytest.raises(InputError, match=r"none of its 2 datasets.*'a': .*'b': .*no graph.gl"):
        open_catalog(data)
    with pytest.raises(InputError, match=r"b: found no graph.gl"):
        open_catalog(data / "b")
    with pytest.raises(gz.FormatError, match=r"graph.gl"):
        open_catalog(data / "a")


# --- reload ---


def test_a_damaged_version_does_not_replace_what_is_served(data: Path) -> None:
    catalog = open_catalog(data)
    before = catalog.find("a")
    cut(data / "a" / "x.gd")
    version = reload(catalog)
    assert catalog.find("a") is before
    assert "x.gd" in version.outdated["a"]
    assert version.left_out == {}
    assert names(catalog) == ["a", "b"]
    shutil.rmtree(data / "a")
    assert reload(catalog).outdated == {}
    assert names(catalog) == ["b"]


def test_a_reload_that_finds_nothing_leaves_everything_as_it_was(data: Path) -> None:
    catalog = open_catalog(data)
    shutil.move(data, data.with_name("away"))
    with pytest.raises(InputError, match="found no directory"):
        catalog.read()
    assert names(catalog) == ["a", "b"]


def descriptors(data: Path) -> int:
    """Files below `data` that this process has open. Other tests may leave other ones to the
    garbage collector, at any time."""
    count = 0
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += str(link.readlink()).startswith(f"{data}/")
    return count


def test_what_did_not_change_is_not_opened_again(data: Path, dataset: Path) -> None:
    age(data)
    before = descriptors(data)
    catalog = open_catalog(data)
    # One for each file: more only where rows are read around the mapping.
    assert descriptors(data) - before == len(list(data.glob("*/*.g[ld]")))
    kept = {name: catalog.find(name) for name in "ab"}
    shutil.copytree(dataset, data / "c")
    opened = descriptors(data)
    version = reload(catalog)
    assert version.is_new == {"a": False, "b": False, "c": True}
    assert all(catalog.find(name) is kept[name] for name in "ab")
    assert descriptors(data) - opened == len(list((data / "c").glob("*.g[ld]")))


def test_what_must_be_read_in_another_way_is_opened_again(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions that have it go on as they were."""
    catalog = open_catalog(data)
    before = catalog.find("a")
    path = before.columns["x"].reader.path
    monkeypatch.setattr(read_plan, "available_memory", lambda: -GIB)
    assert reload(catalog).is_new == {"a": True, "b": True}
    assert catalog.find("a").columns["x"].planned != path
    assert before.columns["x"].reader.path == path
    assert reload(catalog).is_new == {"a": False, "b": False}


# --- the daemon ---


def test_a_daemon_serves_the_others_and_says_what_it_leaves_out(
    start_daemon: Callable[..., Any], data: Path
) -> None:
    cut(data / "a" / "graph.gl")
    daemon = start_daemon(data)
    daemon.wait_for_output("connect with")
    output = daemon.output()
    assert "warning: dataset 'a' is left out: " in output
    assert "  'a' is left out: " in output
    with gz.connect(daemon.address, dataset="b") as client:
        assert client.sample([1], [2]).batch_size == 1
    with pytest.raises(gz.ServerError, match=r"'a' is left out: .*graph\.gl"):
        gz.connect(daemon.address, dataset="a")
    shutil.copy(data / "b" / "graph.gl", data / "a" / "graph.gl")
    cut(data / "b" / "x.gd")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for_output("reloaded 2 datasets")
    assert "dataset 'b' stays as it was: " in daemon.output()
    for name in "ab":
        with gz.connect(daemon.address, dataset=name) as client:
            assert client.sample([1], [2]).batch_size == 1


@contextmanager
def lease(path: Path) -> Iterator[None]:
    """Whoever opens the file waits until this is over: a slow disk, in effect."""
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError:
        os.close(descriptor)
        pytest.skip("no leases on this file system")
    try:
        yield
    finally:
        os.close(descriptor)
        signal.signal(signal.SIGIO, before)


def test_trainers_are_served_while_a_reload_waits_for_the_disk(
    start_daemon: Callable[..., Any], dataset: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = start_daemon(data)
    shutil.copytree(dataset, data / "c")
    with gz.connect(daemon.address, dataset="a") as client:
        with lease(data / "c" / "graph.gl"):
            for _ in range(5):  # those that come during a reload make one more
                daemon.process.send_signal(signal.SIGHUP)
                assert main(["ping", "--timeout", "30", daemon.address]) == 0
                assert client.sample([1], [2], timeout=30).batch_size == 1
            assert "reloaded" not in daemon.output()
        daemon.wait_for_output("reloaded 3 datasets")
        with gz.connect(daemon.address, dataset="c") as other:
            assert other.sample([1], [2]).batch_size == 1
    daemon.stop()
    assert 1 <= daemon.output().count("reloaded 3 datasets") <= 2
    capsys.readouterr()


def test_a_reload_that_never_ends_does_not_keep_the_daemon(
    start_daemon: Callable[..., Any], dataset: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = start_daemon(data)
    shutil.copytree(dataset, data / "c")
    with lease(data / "c" / "graph.gl"):
        daemon.process.send_signal(signal.SIGHUP)
        assert main(["ping", "--timeout", "30", daemon.address]) == 0
        assert daemon.stop() == 0
    capsys.readouterr()


# --- descriptors ---


def many(data: Path, dataset: Path, count: int) -> int:
    """So many datasets; returns how many files they have."""
    for number in range(count):
        shutil.copytree(dataset, data / f"{number:03}", copy_function=os.link)
    return len(list(data.glob("*/*.g[ld]")))


def test_a_daemon_that_may_not_open_its_files_says_what_to_raise(
    dataset: Path, tmp_path: Path, runtime_directory: Path
) -> None:
    files = many(tmp_path, dataset, 50)
    socket = runtime_directory / "s.sock"
    done = subprocess.run(
        [sys.executable, "-m", "graphzero.server", "--data", tmp_path, "--socket", socket],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)),
    )
    assert done.returncode == 1
    assert f"{files} data files are to be opened, and this process may open 256" in done.stderr
    assert "ulimit -n" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_daemon_raises_its_own_limit_where_it_may(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    many(tmp_path, dataset, 50)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 5000))"
    daemon = start_daemon(tmp_path, setup=limit)
    for name in ("000", "049"):
        with gz.connect(daemon.address, dataset=name) as client:
            assert client.sample([1], [2]).batch_size == 1
    assert "may open" not in daemon.output()


def test_running_out_of_descriptors_blames_no_file(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path, runtime_directory: Path
) -> None:
    """While the catalog is read again: it goes on with what it has."""
    data = tmp_path / "data"
    many(data, dataset, 1)
    # As if others had opened some since it was asked how many there may be.
    setup = (
        "import os, resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n"
        "import graphzero.base.descriptors as d; d.FEWEST_OTHERS = -10**6\n"
    )
    daemon = start_daemon(data, setup=setup)
    for number in range(1, 60):
        shutil.copytree(dataset, data / f"{number:03}", copy_function=os.link)
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for_output("reload failed, serving as before: this process may not open more than")
    assert "meminfo" not in daemon.output()
    with gz.connect(daemon.address) as client:
        assert client.sample([1], [2]).batch_size == 1
