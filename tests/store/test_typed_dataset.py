"""Directories of datasets with types: which columns belong to what, one version of all files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import reference_writer as rw
from contents import names
from graphzero.base.errors import InputError
from graphzero.commands.cli import main
from graphzero.files.dataset import dataset_identity, open_dataset
from graphzero.files.paths import datasets, files_of
from graphzero.files.publish import new_dataset
from graphzero.files.verify import verify
from typed_dataset import FOLLOWS, MOVIES, RATES, REV_RATES, TypedData, write_column
from typed_dataset import write_typed_dataset as write


@pytest.fixture
def data(tmp_path: Path) -> TypedData:
    return write(tmp_path / "shop")


def test_columns_are_known_by_their_keys(data: TypedData) -> None:
    dataset = open_dataset(data.path)
    assert set(dataset.columns) == {*data.columns, "user/city.categories"}
    for key, array in data.columns.items():
        assert np.array_equal(dataset.columns[key].view(), array), key
    assert dataset.schema.type_names == ["user", "movie", "tag"]
    assert dataset.schema.relation_names[0] == RATES
    assert dataset.schema.time_unit == "s"


def test_a_view_has_the_columns_of_its_relation(data: TypedData) -> None:
    dataset = open_dataset(data.path)
    rating = dataset.columns["user.rates.movie/rating"]
    assert dataset.column("movie.rev_rates.user/rating") is rating
    assert dataset.column("user.rates.movie/rating") is rating
    assert dataset.column("movie/rating") is None


def test_the_schema_is_that_of_the_file(data: TypedData) -> None:
    schema = open_dataset(data.path).schema
    rates, follows, rev = (schema.relations[n] for n in (0, 1, 3))
    assert (rates.triple, follows.triple, rev.triple) == (RATES, FOLLOWS, REV_RATES)
    assert (rates.has_weights, rates.has_edge_ids, rates.has_times) == (True, True, True)
    assert (follows.has_weights, follows.has_edge_ids, follows.has_times) == (False, True, False)
    assert (rev.is_view, rev.base, rev.num_edges, rev.edge_id_bound) == (True, 0, 2000, 2000)
    assert [found.has_times for found in schema.types] == [False, True, False]


def test_names_of_any_characters_are_directories(tmp_path: Path) -> None:
    strange = "a/b.c %ü"
    directory = "a%2Fb%2Ec%20%25%C3%BC"
    (tmp_path / "ds").mkdir()
    edges = rw.Edges([0], [1], edge_ids=[0])
    rw.typed_topology([rw.NodeType(strange, 2)], [rw.Relation(0, "..", 0, edges)]).write(
        tmp_path / "ds/graph.gl"
    )
    write_column(tmp_path / "ds", f"{directory}/x", np.ones((2, 3)))
    write_column(tmp_path / "ds", f"{directory}.%2E%2E.{directory}/w", np.ones(1), role="edge")
    dataset = open_dataset(tmp_path / "ds")
    assert list(dataset.columns) == [f"{directory}/x", f"{directory}.%2E%2E.{directory}/w"]
    assert verify(tmp_path / "ds").ok


@pytest.mark.parametrize(
    ("key", "array", "role", "message"),
    [
        ("x", np.ones(3), "node", r"x\.gd: found a column of no type, expected .*'movie'"),
        ("usr/x", np.ones(3), "node", "usr: found columns of a type or relation that graph.gl"),
        ("user.rates.tag/x", np.ones(3), "edge", "found columns of a type or relation"),
        ("movie.rev_rates.user/x", np.ones(3), "edge", "a column of a view, expected it in user.r"),
        ("user/w", np.ones(3), "edge", "found rows by edge, expected none in the directory of a t"),
        ("user.rates.movie/w", np.ones(3), "node", "rows by node, expected none .* a relation"),
        ("movie/w", np.ones(300), "node", "found 300 rows, expected 120, .* of type 'movie'"),
        ("tag/w", np.ones(120), "node", "found 120 rows, expected 9, .* of type 'tag'"),
    ],
)
def test_columns_where_they_do_not_belong_are_named(
    data: TypedData, key: str, array: np.ndarray, role: str, message: str
) -> None:
    write_column(data.path, key, array, role=role)
    with pytest.raises(InputError, match=message):
        open_dataset(data.path)
    assert not verify(data.path).ok


def test_other_entries_of_the_directory_do_not_matter(data: TypedData) -> None:
    (data.path / "notes").mkdir()
    (data.path / "notes/readme.txt").write_text("")
    (data.path / ".hidden").mkdir()
    write_column(data.path, ".hidden/x", np.ones(1))
    inner = write(data.path / "inner")
    assert set(open_dataset(data.path).columns) == {*data.columns, "user/city.categories"}
    assert datasets(data.path) == [data.path]
    assert datasets(data.path.parent) == [data.path]
    assert verify(inner.path).ok


def test_directories_of_a_graph_without_types_are_no_columns(tmp_path: Path) -> None:
    (tmp_path / "ds").mkdir()
    rw.topology(2, rw.Edges([0], [1])).write(tmp_path / "ds/graph.gl")
    write_column(tmp_path / "ds", "x", np.ones(2))
    write_column(tmp_path / "ds", "user/x", np.ones(7))
    assert list(open_dataset(tmp_path / "ds").columns) == ["x"]
    assert [file.name for file in files_of(tmp_path / "ds")] == ["graph.gl", "x.gd"]
    assert verify(tmp_path / "ds").ok


def test_every_file_counts_for_fingerprint_and_identity(data: TypedData, tmp_path: Path) -> None:
    one = open_dataset(data.path)
    same = open_dataset(write(tmp_path / "copy").path)
    assert one.fingerprint == same.fingerprint
    assert one.identity != same.identity
    write_column(data.path, "user/x", data.columns["user/x"] + 1)
    assert dataset_identity(data.path).files != one.identity
    assert open_dataset(data.path).fingerprint != one.fingerprint
    # The same file for another type is another dataset.
    shutil.move(data.path / "movie/x.gd", data.path / "movie/z.gd")
    assert len({one.fingerprint, open_dataset(data.path).fingerprint, same.fingerprint}) == 2


def test_original_ids_belong_to_types(data: TypedData) -> None:
    found = open_dataset(data.path)
    assert list(found.original_ids_by_type) == [0]
    assert found.original_ids_by_type[0].find(["u007", "u000"]).tolist() == [7, 0]
    assert found.original_ids is None


def test_columns_that_would_hide_fields_are_left_out(data: TypedData) -> None:
    write_column(data.path, "movie/n_id", np.arange(MOVIES))
    assert open_dataset(data.path).left_out == ("movie/n_id",)


def test_verify_looks_into_every_directory(
    data: TypedData, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(data.path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    files = 1 + len(data.columns) + 1  # the graph, the columns, the names of categories
    assert lines[-1] == f"{files} files, all intact"
    assert len(lines) == files + 1
    assert any(f"{data.path}/user.rates.movie/rating.gd" in line for line in lines)


@pytest.mark.parametrize(
    ("key", "array", "options", "message"),
    [
        ("movie/seen", np.array([0, 120]), {"role": "ids"}, "row 1: found node 120, expected be"),
        ("tag/seen", np.array([8, 9]), {"role": "ids"}, "row 1: found node 9, expected below 9"),
        ("user.rates.movie/t", np.array([5, 2000]), {"role": "ids"}, "found edge 2000, expected"),
        ("user.follows.user/w", np.ones(899), {"role": "edge"}, "found 899, expected 900, one fo"),
        (
            "user/city",
            np.full(300, 3, np.int32),
            {"description": b'{"categories":true}'},
            "row 0: found code 3, expected -1 to 2",
        ),
        ("user/original_id", np.zeros(300, np.int64), {}, "expected ascending ids"),
    ],
)
def test_verify_checks_values_against_their_type(
    data: TypedData, key: str, array: np.ndarray, options: dict, message: str
) -> None:
    write_column(data.path, key, array, **options)
    (problem,) = verify(data.path).problems
    assert f"{key}.gd" in problem
    assert message in problem


def test_damage_below_a_type_is_named(data: TypedData) -> None:
    file = data.path / "movie/x.gd"
    content = bytearray(file.read_bytes())
    content[4096] ^= 1
    file.write_bytes(content)
    (problem,) = verify(data.path).problems
    assert f"{file}: rows block 0" in problem


def test_a_dataset_with_types_can_be_replaced(data: TypedData, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="--overwrite"), new_dataset(data.path):
        pass
    with new_dataset(data.path, overwrite=True) as draft:
        write(draft / "inner", seed=8)
        for entry in (draft / "inner").iterdir():
            entry.rename(draft / entry.name)
        (draft / "inner").rmdir()
    assert names(tmp_path) == ["shop"]
    assert (
        open_dataset(data.path).fingerprint
        == open_dataset(write(tmp_path / "new", seed=8).path).fingerprint
    )


@pytest.mark.parametrize(
    "foreign", ["user/notes.txt", "user/deep/x.gd", "papers/a.txt", "a b/x.gd"]
)
def test_a_directory_with_anything_else_is_not_replaced(data: TypedData, foreign: str) -> None:
    file = data.path / foreign
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_bytes((data.path / "user/x.gd").read_bytes())
    with (
        pytest.raises(FileExistsError, match="which is no part of a dataset"),
        new_dataset(data.path, overwrite=True),
    ):
        pass
    assert file.exists()


def test_a_graph_without_types_has_no_directories_that_may_be_removed(tmp_path: Path) -> None:
    (tmp_path / "ds").mkdir()
    rw.topology(2, rw.Edges([0], [1])).write(tmp_path / "ds/graph.gl")
    write_column(tmp_path / "ds", "user/x", np.ones(7))
    with (
        pytest.raises(FileExistsError, match="holds 'user', which is no part"),
        new_dataset(tmp_path / "ds", overwrite=True),
    ):
        pass
