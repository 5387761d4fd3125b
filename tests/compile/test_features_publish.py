"""A matrix file appears complete or not at all, and killed runs leave nothing for long."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contents import names
from graphzero import _engine
from graphzero.conversion.compile_column import ColumnRequest, compile_column
from graphzero.conversion.compile_features import convert_csv_to_gd, write_features
from graphzero.files.publish import new_file


def run_python(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True
    )


def test_the_file_is_invisible_until_the_block_ends(tmp_path: Path) -> None:
    with new_file(tmp_path / "x.gd") as draft:
        Path(draft).write_bytes(b"new")
        assert not (tmp_path / "x.gd").exists()
        assert all(name.startswith(".") for name in names(tmp_path))
    assert (tmp_path / "x.gd").read_bytes() == b"new"
    assert names(tmp_path) == ["x.gd"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "x.gd").write_bytes(b"old")

    def failing(draft: str) -> None:
        Path(draft).write_bytes(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError), new_file(tmp_path / "x.gd", overwrite=True) as draft:
        failing(draft)
    assert (tmp_path / "x.gd").read_bytes() == b"old"
    assert names(tmp_path) == ["x.gd"]


def test_an_existing_file_is_kept_unless_overwriting_is_allowed(tmp_path: Path) -> None:
    write_features(tmp_path / "x.gd", [1.0])
    with pytest.raises(FileExistsError) as error:
        write_features(tmp_path / "x.gd", [2.0])
    assert error.value.filename == str(tmp_path / "x.gd")
    write_features(tmp_path / "x.gd", [2.0], overwrite=True)
    assert _engine.Matrix.open(str(tmp_path / "x.gd")).tensor().tolist() == [2.0]


def test_open_views_keep_the_version_they_opened(tmp_path: Path) -> None:
    write_features(tmp_path / "x.gd", np.zeros(5000))
    view = _engine.Matrix.open(str(tmp_path / "x.gd")).tensor()
    write_features(tmp_path / "x.gd", np.ones(5000), overwrite=True)
    assert (view == 0).all()


def test_a_relative_name_is_written_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_features("x.gd", [1.0])
    assert names(tmp_path) == ["x.gd"]


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        write_features(tmp_path / "no" / "x.gd", [1.0])
    assert error.value.filename == str(tmp_path / "no")


def test_a_directory_is_no_file_name(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_features(tmp_path, [1.0], overwrite=True)


def test_a_failed_conversion_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("0,1\n1,oops\n")
    with pytest.raises(ValueError, match="line 2"):
        convert_csv_to_gd(tmp_path / "x.csv", tmp_path / "x.gd", "float32")
    assert names(tmp_path) == ["x.csv"]


KILLED_WHILE_WRITING = """
import sys, time
import numpy as np
from graphzero.conversion.compile_features import write_features

def rows():
    yield np.ones((10, 4))
    print("writing", flush=True)
    while True:  # a signal that comes a moment before a sleep begins does not shorten it
        time.sleep(0.1)

write_features(sys.argv[1], rows(), shape=(20, 4), dtype="float32", overwrite=True)
"""


def start_writer(target: Path) -> "subprocess.Popen[str]":
    process = run_python(KILLED_WHILE_WRITING, str(target))
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def finish(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    process.send_signal(number)
    process.communicate(timeout=60)


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    finish(start_writer(tmp_path / "x.gd"), signal.SIGKILL)
    assert not (tmp_path / "x.gd").exists()
    assert len(names(tmp_path)) == 1
    write_features(tmp_path / "x.gd", [1.0])
    assert names(tmp_path) == ["x.gd"]


def test_a_run_that_is_still_writing_is_left_alone(tmp_path: Path) -> None:
    process = start_writer(tmp_path / "x.gd")
    try:
        write_features(tmp_path / "x.gd", [1.0])
        assert len(names(tmp_path)) == 2
    finally:
        finish(process, signal.SIGKILL)


def test_leftovers_of_another_target_are_left_alone(tmp_path: Path) -> None:
    finish(start_writer(tmp_path / "y.gd"), signal.SIGKILL)
    write_features(tmp_path / "x.gd", [1.0])
    assert len(names(tmp_path)) == 2


def test_an_interrupt_while_chunks_come_leaves_nothing(tmp_path: Path) -> None:
    process = start_writer(tmp_path / "x.gd")
    finish(process, signal.SIGINT)
    assert process.returncode != 0
    assert names(tmp_path) == []


def test_an_interrupt_while_text_is_read_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "source" / "x.csv"
    source.parent.mkdir()
    line = ",1.2345" * 100 + "\n"
    with source.open("w") as file:
        for first in range(0, 200_000, 1_000):
            file.write("".join(f"{i}{line}" for i in range(first, first + 1_000)))

    # The job reports ten times a second: an interrupt during a report cancels it, whatever it does.
    calls = []

    def interrupt(*state: Any) -> None:
        calls.append(state)
        signal.raise_signal(signal.SIGINT)

    target = tmp_path / "out"
    target.mkdir()
    with pytest.raises(KeyboardInterrupt), new_file(target / "x.gd") as draft:
        compile_column(
            str(source),
            draft,
            ColumnRequest(memory=64 << 20, threads=1, temp_dir=str(target)),
            interrupt,
        )
    assert calls
    assert names(target) == []


def test_a_full_disk_is_an_error_before_anything_is_written(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        write_features(small_disk / "x.gd", np.ones(2_000_000))
    assert names(small_disk) == []


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_table_too_large_for_the_disk_is_an_error(
    small_disk: Path, tmp_path: Path, shuffled: bool
) -> None:
    ids = np.arange(1_000_000)
    if shuffled:
        np.random.default_rng(0).shuffle(ids)
    (tmp_path / "x.csv").write_text("".join(f"{i},1\n" for i in ids.tolist()))
    with pytest.raises(OSError, match="No space left on device"):
        convert_csv_to_gd(tmp_path / "x.csv", small_disk / "x.gd", "float64")
    assert names(small_disk) == []


def test_a_full_temporary_directory_is_an_error(small_disk: Path, tmp_path: Path) -> None:
    ids = np.random.default_rng(0).permutation(500_000)
    (tmp_path / "x.csv").write_text("".join(f"{i},1\n" for i in ids.tolist()))
    with pytest.raises(OSError, match="No space left on device"):
        compile_column(
            str(tmp_path / "x.csv"),
            str(tmp_path / "x.gd"),
            ColumnRequest(memory=1 << 20, threads=2, temp_dir=str(small_disk)),
        )
    assert names(small_disk) == []
