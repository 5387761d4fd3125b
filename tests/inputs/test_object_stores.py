"""Parquet files of object stores, by URIs."""

from __future__ import annotations

import os
from pathlib import Path

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from contents import file_bytes
from graphzero.base.object_store import ObjectStore
from graphzero.commands.cli import main
from pyarrow import parquet


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, Path]:
    """Edges in two files and nodes, in a store and in a folder of this machine."""
    rng = np.random.default_rng(4)
    folder, uri = tmp_path / "tables", f"memory://tables/{os.getpid()}"
    (folder / "edges").mkdir(parents=True)
    for part in range(2):
        edges = {"source": rng.integers(0, 50, 400), "target": rng.integers(0, 50, 400)}
        parquet.write_table(pa.table(edges), folder / f"edges/part-{part}.parquet")
    nodes = {"id": np.arange(50), "a": rng.random(50), "b": rng.random(50), "y": np.arange(50) % 3}
    parquet.write_table(pa.table(nodes), folder / "nodes.parquet")
    store = ObjectStore(uri)
    for name, content in file_bytes(folder).items():
        with store.open_output(name) as stream:
            stream.write(content)
    return uri, folder


def test_a_conversion_from_a_store_is_the_same(tables: tuple[str, Path], tmp_path: Path) -> None:
    for number, place in enumerate(map(str, tables)):
        arguments = [
            "convert", "--edges", f"{place}/edges", "--nodes", f"{place}/nodes.parquet",
            "--columns", "x=a,b", "--column", f"y={place}/nodes.parquet#y:int64",
            "--out", str(tmp_path / f"out{number}"), "--quiet",
        ]  # fmt: skip
        assert main(arguments) == 0
    assert file_bytes(tmp_path / "out0") == file_bytes(tmp_path / "out1")


def test_tables_that_refer_to_each_other(tables: tuple[str, Path], tmp_path: Path) -> None:
    uri, folder = tables
    for number, place in enumerate((uri, str(folder))):
        (tmp_path / f"{number}.toml").write_text(
            f'[tables.nodes]\nfile = "{place}/nodes.parquet"\nkey = "id"\n'
            f'[tables.links]\nfile = "{place}/edges"\n'
            'references = { source = "nodes", target = "nodes" }\n'
        )
        out = ["--out", str(tmp_path / f"out{number}"), "--quiet"]
        assert main(["convert", str(tmp_path / f"{number}.toml"), *out]) == 0
    assert file_bytes(tmp_path / "out0") == file_bytes(tmp_path / "out1")


def test_what_a_store_does_not_have(
    tables: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uri, _ = tables
    for name in ("edges.csv", "x.arrow"):
        with ObjectStore(uri).open_output(name) as stream:
            stream.write(b"0,1")
    for source, message in {
        f"{uri}/missing.parquet": "missing.parquet",
        f"{uri}/edges.csv": "found neither a Parquet file nor a folder of them",
        f"{uri}/x.arrow": "expected Parquet from an object store",
    }.items():
        assert main(["convert", "--edges", source, "--out", str(tmp_path / "out")]) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_package_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(gz.InputError, match="pip install fsspec"):
        gz.fetch("memory://a/b", tmp_path / "copy")
