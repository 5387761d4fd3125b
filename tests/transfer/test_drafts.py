"""The hidden directory that a copy is written to: whose it is, and what is never written to."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from contents import file_bytes, names
from graphzero import _engine
from graphzero.base.fail_points import VARIABLE
from graphzero.files import drafts

NOBODY = 65534


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three datasets whose files have the same names and sizes."""
    place = tmp_path_factory.mktemp("versions")
    for seed in range(3):
        gz.generate(place / f"v{seed}", nodes=500, edges=2000, dim=16, seed=seed)
    return [place / f"v{seed}" for seed in range(3)]


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A directory that no copy has to do with."""
    place = tmp_path / "precious"
    place.mkdir()
    (place / "x.gd").write_bytes(b"precious")
    (place / "letter").write_bytes(b"also precious")
    return place


def of_another_user(draft: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("giving a directory to another user needs root")
    os.chown(draft, NOBODY, NOBODY)


def writable_by_others(draft: Path) -> None:
    draft.chmod(0o777)


@pytest.mark.parametrize("prepare", [of_another_user, writable_by_others])
def test_a_draft_that_others_may_have_written_to_is_refused(
    versions: list[Path], precious: Path, tmp_path: Path, prepare: Callable[[Path], None]
) -> None:
    before = file_bytes(precious)
    draft = tmp_path / ".copy.partial"
    draft.mkdir(0o700)
    for name in ("copy", "filling"):
        (draft / name).symlink_to(precious)
    prepare(draft)
    with pytest.raises(PermissionError, match="expected a directory of user"):
        gz.fetch(versions[0], tmp_path / "copy")
    assert file_bytes(precious) == before
    assert names(tmp_path) == [".copy.partial", "precious"]


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_draft_that_is_no_directory_is_refused(
    versions: list[Path], precious: Path, tmp_path: Path, kind: str
) -> None:
    before = file_bytes(precious)
    draft = tmp_path / ".copy.partial"
    draft.symlink_to(precious) if kind == "link" else draft.touch()
    with pytest.raises(PermissionError, match="found a file or link of user"):
        gz.fetch(versions[0], tmp_path / "copy")
    assert file_bytes(precious) == before


def test_a_new_draft_is_private_and_the_dataset_is_not(
    versions: list[Path], tmp_path: Path
) -> None:
    before = os.umask(0o002)
    try:
        with drafts.kept_draft(tmp_path / "copy") as draft:
            assert draft.stat().st_mode & 0o777 == 0o700
        gz.fetch(versions[0], tmp_path / "copy")
    finally:
        os.umask(before)
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o775


def test_links_in_a_draft_are_removed_and_not_followed(
    versions: list[Path], precious: Path, tmp_path: Path
) -> None:
    before = file_bytes(precious)
    draft, copy = tmp_path / ".copy.partial", tmp_path / "copy"
    draft.mkdir(0o700)
    (draft / "filling").symlink_to(precious)
    gz.fetch(versions[0], copy)
    assert not copy.is_symlink()
    assert file_bytes(copy) == file_bytes(versions[0])
    (draft / "filling").mkdir(parents=True)
    draft.chmod(0o700)
    (draft / "filling/x.gd").symlink_to(precious / "x.gd")
    gz.fetch(versions[1], copy, overwrite=True)
    assert file_bytes(copy) == file_bytes(versions[1])
    assert file_bytes(precious) == before


def test_a_file_with_a_second_name_is_not_written_to(
    versions: list[Path], precious: Path, tmp_path: Path
) -> None:
    before = file_bytes(precious)
    filling = tmp_path / ".copy.partial" / "filling"
    filling.parent.mkdir(0o700)
    filling.mkdir()
    (filling / "x.gd").hardlink_to(precious / "x.gd")
    gz.fetch(versions[0], tmp_path / "copy")
    assert file_bytes(precious) == before
    assert file_bytes(tmp_path / "copy") == file_bytes(versions[0])


def test_a_dataset_that_was_published_is_not_written_to(
    versions: list[Path], tmp_path: Path
) -> None:
    """A run is killed when it has replaced the dataset, and its draft still has the old one."""
    copy = tmp_path / "copy"
    gz.fetch(versions[0], copy)
    opened = {name: (copy / name).open("rb") for name in names(copy)}  # as by a daemon
    program = "import sys, graphzero as gz; gz.fetch(*sys.argv[1:], overwrite=True)"
    killed = subprocess.run(
        [sys.executable, "-c", program, str(versions[1]), str(copy)],
        env={**os.environ, VARIABLE: "publish.replaced:kill"},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert file_bytes(copy) == file_bytes(versions[1])
    gz.fetch(versions[2], copy, overwrite=True)
    assert file_bytes(copy) == file_bytes(versions[2])
    assert {name: file.read() for name, file in opened.items()} == file_bytes(versions[0])
    assert names(tmp_path) == ["copy"]
    for file in opened.values():
        file.close()


@pytest.mark.parametrize("name", ["copy", "filling", "replaced"])
def test_a_copy_that_cannot_take_its_place_is_kept(
    versions: list[Path], tmp_path: Path, monkeypatch: Any, name: str
) -> None:
    """Whatever the target's name is."""
    copy = tmp_path / name
    gz.fetch(versions[0], copy)

    def refuse(*names: str) -> None:
        raise OSError(errno.EINVAL, "cannot replace in one step", names[1])

    with monkeypatch.context() as patch:
        patch.setattr(_engine, "exchange_names", refuse)
        with pytest.raises(OSError, match="cannot replace in one step"):
            gz.fetch(versions[1], copy, overwrite=True)
    assert file_bytes(copy) == file_bytes(versions[0])
    assert gz.fetch(versions[1], copy, overwrite=True).kept_bytes > 0
    assert file_bytes(copy) == file_bytes(versions[1])
    assert names(tmp_path) == [name]


def test_two_runs_never_have_the_same_draft(tmp_path: Path, monkeypatch: Any) -> None:
    """The second run has opened the draft of the first one when that ends, and a third begins."""
    target = tmp_path / "copy"
    first, third = drafts.kept_draft(target), drafts.kept_draft(target)
    first.__enter__()
    real, done = fcntl.flock, list[int]()

    def flock(descriptor: int, operation: int) -> None:
        if not done:
            done.append(1)
            first.__exit__(None, None, None)
            third.__enter__()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(BlockingIOError, match="another process"), drafts.kept_draft(target):
        pass
    third.__exit__(None, None, None)
    assert done
    assert names(tmp_path) == []
