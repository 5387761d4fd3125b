"""Parts of a dataset that is replaced or changed while they are written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from contents import file_bytes, names
from graphzero import _engine
from graphzero.files.dataset import open_dataset

THRESHOLD = 10_000


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Beside it lies `other`, a dataset whose files have the same names and sizes."""
    for name, seed in (("whole", 1), ("other", 2)):
        gz.generate(tmp_path / name, nodes=2000, edges=8000, dim=16, seed=seed)
    return tmp_path / "whole"


def no_links(*_: object) -> None:
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def test_a_dataset_that_is_replaced_meanwhile_is_never_a_mixture(
    whole: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """It is replaced when its graph, the last file that is copied whole, has been opened."""
    before, graph = open_dataset(whole).fingerprint, (whole / "graph.gl").read_bytes()
    done = []

    def replace_and_refuse(source: Path, *_: object) -> None:
        if source.name == "graph.gl":
            _engine.exchange_names(str(whole), str(tmp_path / "other"))
            done.append(1)
        no_links()

    monkeypatch.setattr(os, "link", replace_and_refuse)
    gz.shard_dataset(whole, tmp_path / "parts", 2, part=1, threshold=THRESHOLD)
    assert done
    part = tmp_path / "parts/part-1"
    assert open_dataset(part).fingerprint == before
    assert (part / "graph.gl").read_bytes() == graph


def test_a_file_that_is_replaced_before_its_link_is_made_is_not_linked(
    whole: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    before = open_dataset(whole).fingerprint
    real = os.link

    def replace_and_link(source: Path, target: Path) -> None:
        if source.name == "graph.gl":
            _engine.exchange_names(str(whole), str(tmp_path / "other"))
        real(source, target)

    monkeypatch.setattr(os, "link", replace_and_link)
    gz.shard_dataset(whole, tmp_path / "parts", 2, part=1, threshold=THRESHOLD)
    assert open_dataset(tmp_path / "parts/part-1").fingerprint == before


def test_a_file_that_is_changed_in_place_is_not_published(
    whole: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    other = (tmp_path / "other/graph.gl").read_bytes()

    def change_and_refuse(source: Path, *_: object) -> None:
        if source.name == "graph.gl":
            source.write_bytes(other)
        no_links()

    monkeypatch.setattr(os, "link", change_and_refuse)
    with pytest.raises(gz.InputError, match=r"the part has fingerprint \w+, expected \w+, that of"):
        gz.shard_dataset(whole, tmp_path / "parts", 2, threshold=THRESHOLD)
    assert not (tmp_path / "parts").exists()


def test_copies_have_the_bytes_modes_and_times_of_the_files(
    whole: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    (whole / "graph.gl").chmod(0o640)
    gz.shard_dataset(whole, tmp_path / "linked", 2, threshold=THRESHOLD)
    monkeypatch.setattr(os, "link", no_links)
    gz.shard_dataset(whole, tmp_path / "copied", 2, threshold=THRESHOLD)
    assert file_bytes(tmp_path / "copied") == file_bytes(tmp_path / "linked")
    found, expected = (tmp_path / "copied/part-0/graph.gl").stat(), (whole / "graph.gl").stat()
    assert (found.st_mode, found.st_mtime_ns) == (expected.st_mode, expected.st_mtime_ns)
    assert found.st_ino != expected.st_ino


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"parts": 70_000}, "parts is 70000, expected at most 65536"),
        ({"parts": 0}, "parts is 0, expected at least 1"),
        ({"parts": 2, "block_rows": 0}, "block_rows is 0, expected at least 1"),
        ({"parts": 2, "block_rows": 2**70}, "block_rows is 1180591620717411303424, expected at"),
    ],
)
def test_numbers_beyond_a_limit_are_refused_with_the_limit(
    whole: Path, tmp_path: Path, arguments: dict[str, int], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        gz.shard_dataset(whole, tmp_path / "parts", threshold=THRESHOLD, **arguments)
    assert not (tmp_path / "parts").exists()


def test_a_part_cannot_be_put_into_another_order(whole: Path, tmp_path: Path) -> None:
    gz.shard_dataset(whole, tmp_path / "parts", 2, threshold=THRESHOLD)
    with pytest.raises(gz.InputError, match=r"part-1: is part 1 of 2, .*put the whole dataset"):
        gz.reorder(tmp_path / "parts/part-1", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_deal_to_fewer_parts_leaves_none_of_the_older_one(whole: Path, tmp_path: Path) -> None:
    """But for what is not surely a part: a whole dataset, one of another number, foreign files."""
    out = tmp_path / "parts"
    gz.shard_dataset(whole, out, 12, threshold=THRESHOLD)
    (out / "part-12").mkdir()
    (out / "part-12/notes.txt").touch()
    (out / "part-9/notes.txt").touch()
    shutil.copytree(whole, out / "part-13")
    shutil.copytree(out / "part-10", out / "part-14")
    shutil.copytree(out / "part-10", out / "part-010")
    (out / "part-15").symlink_to("part-11")
    (out / "part-10").rename(tmp_path / "part-10")
    (out / "part-10").symlink_to("../part-10")
    stay = ["part-010", "part-10", "part-12", "part-13", "part-14", "part-15", "part-9"]
    few: dict[str, Any] = {"threshold": THRESHOLD, "overwrite": True}
    assert gz.shard_dataset(whole, out, 3, part=1, **few).removed == ()
    assert len(names(out)) == 12 + 5
    report = gz.shard_dataset(whole, out, 3, **few)
    gone = [out / f"part-{number}" for number in (*range(3, 9), 11)]
    assert report.removed == tuple(gone)
    assert names(out) == sorted(["part-0", "part-1", "part-2", *stay])
    assert open_dataset(tmp_path / "part-10").shard is not None


def test_a_killed_removal_of_older_parts_is_ended_by_the_next_run(
    whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "parts"
    gz.shard_dataset(whole, out, 4, threshold=THRESHOLD)
    program = (
        "import os, sys, graphzero as gz, graphzero.transfer.shard as shard\n"
        "shard.make_durable = lambda *_: os._exit(9)\n"
        f"gz.shard_dataset(sys.argv[1], sys.argv[2], 2, threshold={THRESHOLD}, overwrite=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(whole), str(out)], check=False)
    assert done.returncode == 9
    assert [name[:13] for name in names(out)] == [".part-0.part-", "part-0", "part-1"]
    gz.shard_dataset(whole, out, 2, threshold=THRESHOLD, overwrite=True)
    assert names(out) == ["part-0", "part-1"]


def test_older_parts_stay_if_the_new_ones_cannot_be_written(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "parts"
    gz.shard_dataset(whole, out, 4, threshold=THRESHOLD)
    (out / "part-1/notes.txt").touch()
    with pytest.raises(FileExistsError, match="notes"):
        gz.shard_dataset(whole, out, 2, threshold=THRESHOLD, overwrite=True)
    assert names(out) == ["part-0", "part-1", "part-2", "part-3"]


def test_a_file_behind_a_symbolic_link_is_linked_itself(whole: Path, tmp_path: Path) -> None:
    graph = (whole / "graph.gl").rename(tmp_path / "graph")
    (whole / "graph.gl").symlink_to("../graph")
    gz.shard_dataset(whole, tmp_path / "parts", 2, threshold=THRESHOLD)
    part = tmp_path / "parts/part-0/graph.gl"
    assert not part.is_symlink()
    assert part.samefile(graph)
    assert names(tmp_path) == ["graph", "other", "parts", "whole"]
