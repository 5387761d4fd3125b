"""Copies of files that stay as they are, with and without the kernel's help."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from contents import file_bytes
from graphzero.base.error_text import error_text
from graphzero.files import copying
from graphzero.files.copying import copy_file


def missing(*_: object) -> int:
    raise OSError(errno.EXDEV, "two file systems")


def pretended(*_: object) -> int:
    return 0


def in_small_steps(source: int, target: int, size: int, at: int, to: int) -> int:
    return os.pwrite(target, os.pread(source, min(size, 1000), at), to)


@pytest.mark.parametrize("kernel", [None, missing, pretended, in_small_steps])
@pytest.mark.parametrize("size", [0, 1, 5000])
def test_copies_are_the_same_whatever_the_kernel_can(
    tmp_path: Path, monkeypatch: Any, kernel: Callable[..., int] | None, size: int
) -> None:
    if kernel is not None:
        monkeypatch.setattr(os, "copy_file_range", kernel, raising=False)
    monkeypatch.setattr(copying, "_PIECE_BYTES", 999)
    (tmp_path / "a").write_bytes(os.urandom(size))
    copy_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    assert not (tmp_path / "b").samefile(tmp_path / "a")
    with pytest.raises(FileExistsError):
        copy_file(tmp_path / "a", tmp_path / "b")


def test_the_kernel_copies_what_quantise_and_reorder_leave_unchanged(
    dataset: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    copied = []
    real = os.copy_file_range

    def count(source: int, *arguments: Any) -> int:
        copied.append(Path(f"/proc/self/fd/{source}").readlink().name)
        return real(source, *arguments)

    monkeypatch.setattr(os, "copy_file_range", count)
    gz.quantise(dataset, tmp_path / "small")
    assert set(copied) == set(file_bytes(dataset)) - {"x.gd"}


def test_a_full_disk_names_the_file_that_has_no_room(small_disk: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(5 << 20))
    with pytest.raises(OSError, match="No space left on device") as raised:
        copy_file(tmp_path / "a", small_disk / "b")
    assert error_text(raised.value) == f"{small_disk}/b: No space left on device"


COMMANDS: dict[str, Callable[[Path, Path], Any]] = {
    "shard": lambda data, out: gz.shard_dataset(data, out, 2, threshold=1000, keep=["w"]),
    "quantise": lambda data, out: gz.quantise(data, out),
    "reorder": lambda data, out: gz.reorder(data, out, order="degree"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_name_the_file_that_has_no_room(
    small_disk: Path, tmp_path: Path, command: str
) -> None:
    """Of a column that is copied unchanged."""
    gz.generate(tmp_path / "ds", nodes=1000, edges=4000, dim=8, seed=1)
    gz.write_features(tmp_path / "ds/w.gd", np.zeros((4000, 2000), np.uint8), role="edge")
    with pytest.raises(OSError, match="No space left on device") as raised:
        COMMANDS[command](tmp_path / "ds", small_disk / "out")
    told = error_text(raised.value)
    assert told.startswith(f"{small_disk}/")
    assert "/w.gd: " in told


def test_an_error_about_either_file_names_both() -> None:
    error = OSError(errno.EIO, "Input/output error", "a", None, "b")
    assert error_text(error) == "a -> b: Input/output error"
