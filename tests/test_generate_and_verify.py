"""`graphzero.generate` and `graphzero.verify`: the commands of these names from Python."""

import doctest
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
from graphzero.commands.cli import main

SMALL = {"nodes": 300, "edges": 900, "dim": 4, "classes": 3, "seed": 5}


def contents(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def test_the_examples_of_the_docstrings_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for function in (gz.generate, gz.verify):
        (example,) = finder.find(function, globs={"gz": gz})
        assert runner.run(example).attempted > 0
    assert runner.summarize(verbose=False).failed == 0


def test_generate_tells_what_it_wrote(tmp_path: Path) -> None:
    report = gz.generate(tmp_path / "ds", **SMALL)
    graph = gz.Graph(report.path)
    assert (report.num_nodes, report.num_edges) == (graph.num_nodes, graph.num_edges)
    assert report.files == {file: len(data) for file, data in contents(tmp_path / "ds").items()}
    assert report.seconds > 0


@pytest.mark.parametrize("spelling", [["--out"], []])
def test_every_spelling_of_generate_writes_the_same(tmp_path: Path, spelling: list[str]) -> None:
    options = [text for name, value in SMALL.items() for text in (f"--{name}", str(value))]
    assert main(["generate", *spelling, str(tmp_path / "by-command"), *options]) == 0
    gz.generate(tmp_path / "by-call", **SMALL)
    assert contents(tmp_path / "by-command") == contents(tmp_path / "by-call")


def test_the_command_wants_one_place(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["generate", "a", "--out", "b"])
    assert exit_.value.code == 2
    assert "--out: not allowed with" in capsys.readouterr().err
    assert main(["generate"]) == 2
    assert capsys.readouterr().err == (
        "graphzero generate: error: give the dataset to create: graphzero generate DIR\n"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            ["--nodes", "100", "--edges", "400", "--dim", "8", "--classes", "4"],
            "100 nodes, 400 undirected edges (800 stored), 8 features, 4 classes",
        ),
        (["--schema", "shop", "--scale", "0.01"], "6,200 nodes of 3 types, 32,000 edges of 4 "),
    ],
)
def test_the_command_says_what_it_made_in_the_words_of_its_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], text: str
) -> None:
    out = tmp_path / "ds"
    assert main(["generate", str(out), *options]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: {text}")


def test_generate_replaces_a_dataset_only_if_asked(tmp_path: Path) -> None:
    gz.generate(tmp_path / "ds", **SMALL)
    before = contents(tmp_path / "ds")
    with pytest.raises(FileExistsError):
        gz.generate(tmp_path / "ds", **{**SMALL, "seed": 6})
    assert contents(tmp_path / "ds") == before
    gz.generate(tmp_path / "ds", **{**SMALL, "seed": 6}, overwrite=True)
    assert contents(tmp_path / "ds") != before


def test_verify_reports_each_file_and_raises_for_none(tmp_path: Path) -> None:
    gz.generate(tmp_path / "ds", **SMALL)
    x = tmp_path / "ds/x.gd"
    data = bytearray(x.read_bytes())
    data[5000] ^= 1
    x.write_bytes(data)
    report = gz.verify(tmp_path / "ds")
    assert not report.ok
    assert {file.path.name for file in report.files} == set(contents(tmp_path / "ds"))
    (damaged,) = [file for file in report.files if file.problems]
    assert damaged.path == x
    assert report.problems == damaged.problems
    assert "x.gd" in report.problems[0]
    assert gz.verify(tmp_path / "ds/y.gd").ok


def test_verify_finds_files_that_do_not_belong_together(tmp_path: Path) -> None:
    gz.generate(tmp_path / "ds", **SMALL)
    gz.write_features(tmp_path / "ds/z.gd", [1.0, 2.0])
    report = gz.verify(tmp_path)
    (mismatch,) = [file for file in report.files if file.problems]
    assert mismatch.path == tmp_path / "ds"
    assert "z.gd" in report.problems[0]


def test_verify_of_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        gz.verify(tmp_path / "absent")
    with pytest.raises(gz.InputError):
        gz.verify(tmp_path)


def test_verify_reports_original_ids_of_another_type(tmp_path: Path) -> None:
    gz.generate(tmp_path / "ds", nodes=10, edges=20, dim=2, classes=2)
    gz.write_features(tmp_path / "ds" / "original_id.gd", np.ones((10, 3), np.float32))
    (problem,) = gz.verify(tmp_path / "ds").problems
    assert "original_id.gd: found float32 in 2 dimensions, expected ids as int64" in problem
