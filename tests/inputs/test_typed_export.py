"""Datasets with types and times: exported and imported again, they are the same to the byte."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Literal

import graphzero as gz
import numpy as np
import pytest
from contents import file_bytes
from graphzero import InputError
from graphzero.files.dataset import open_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from input_graphs import convert
from pyarrow import parquet
from typed_contents import TypedContents

pytestmark = pytest.mark.slow

Format = Literal["parquet", "npy"]
FORMATS: list[Format] = ["parquet", "npy"]


def small_tables(**options: Any) -> dict[str, Any]:
    """Everything that a dataset with types may have."""
    return {
        "users": {
            "data": {
                "id": ["eve", "bob", "ann"],
                "age": [31.0, None, 22.0],
                "city": ["Oslo", None, "Paris"],
                "joined": np.array(["2020-01-02", "2021-03-04", "2019-12-31"], "datetime64[s]"),
                "boss": ["bob", None, "bob"],
                "part": ["train", "test", "train"],
            },
            "key": "id",
            "time": "joined",
            "features": ["age"],
            "categories": ["city"],
            "references": {"boss": "users"},
            "split": {"column": "part"},
            "missing": "drop",
        },
        "movies": {"data": {"id": [7, -3], "emb": np.arange(8.0).reshape(2, 4)}, "key": "id"}
        | {"features": {"emb": {"column": "emb", "type": "float16"}}},
        "tags": {"data": {"movie": [7, 7, -3]}, "references": {"movie": "movies"}},
        "rates": {
            "data": {
                "user": ["ann", "eve", "nobody", "ann"],
                "movie": [7, 7, -3, -3],
                "stars": [5.0, 1.0, 2.0, 4.5],
                "at": np.array(["2022-01-01", "2022-01-01", "2022-01-02", "2023-01-01"], "M8[s]"),
                "kind": ["a", "b", "c", "a"],
            },
            "edges": {
                "source": {"column": "user", "table": "users"},
                "target": {"column": "movie", "table": "movies"},
            },
            "time": "at",
            "weight": "stars",
            "features": {"stars": "stars"},
            "categories": ["kind"],
            "split": {"at": ["2022-06-01"]},
            "missing": "drop",
        },
        **options,
    }


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    gz.import_tables(small_tables(), tmp_path / "ds", time_unit="s")
    return tmp_path / "ds"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("original", [True, False])
def test_what_is_exported_comes_back_to_the_byte(
    dataset: Path, tmp_path: Path, format: Format, original: bool
) -> None:
    gz.export_dataset(dataset, tmp_path / "out", format=format, original_ids=original)
    gz.import_folder(tmp_path / "out", tmp_path / "again")
    assert file_bytes(tmp_path / "again") == file_bytes(dataset)
    assert open_dataset(tmp_path / "again").fingerprint == open_dataset(dataset).fingerprint


def test_a_dataset_may_be_made_within_the_folder_that_it_comes_from(
    dataset: Path, tmp_path: Path
) -> None:
    gz.export_dataset(dataset, tmp_path / "out")
    gz.import_folder(tmp_path / "out", tmp_path / "out/again")
    assert file_bytes(tmp_path / "out/again") == file_bytes(dataset)


def test_a_file_of_an_export_that_vanishes_meanwhile_is_named(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphzero.conversion import convert_typed

    gz.export_dataset(dataset, tmp_path / "out")
    whole = convert_typed._Making.make_relations

    def make_relations(self: Any) -> Any:
        made = whole(self)
        (tmp_path / "out/users/nodes.parquet").unlink()
        return made

    monkeypatch.setattr(convert_typed._Making, "make_relations", make_relations)
    with pytest.raises(InputError, match=r"nodes\.parquet: found no file, expected \d+ as before"):
        gz.import_folder(tmp_path / "out", tmp_path / "again")


def test_the_commands_do_the_same(dataset: Path, tmp_path: Path) -> None:
    from commands import run_graphzero

    done = run_graphzero("export", dataset, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "users/nodes.parquet: " in done.stdout
    assert "users.rates.movies/edges.parquet: " in done.stdout
    done = convert(tmp_path / "out", "--out", tmp_path / "again")
    assert done.returncode == 0, done.stderr
    assert file_bytes(tmp_path / "again") == file_bytes(dataset)


def test_parquet_has_keys_dates_and_categories_by_name(dataset: Path, tmp_path: Path) -> None:
    report = gz.export_dataset(dataset, tmp_path / "out")
    users = parquet.read_table(tmp_path / "out/users/nodes.parquet").to_pydict()
    assert users["id"] == ["ann", "bob", "eve"]
    assert users["city"] == ["Paris", None, "Oslo"]
    assert [time.isoformat() for time in users["time"]] == [
        "2019-12-31T00:00:00+00:00",
        "2021-03-04T00:00:00+00:00",
        "2020-01-02T00:00:00+00:00",
    ]
    rates = parquet.read_table(tmp_path / "out/users.rates.movies/edges.parquet").to_pydict()
    found = sorted(zip(*(rates[c] for c in ("edge_id", "source", "target", "kind")), strict=True))
    assert found == [(0, "ann", 7, "a"), (1, "eve", 7, "b"), (3, "ann", -3, "a")]
    assert rates["time"][0].year == 2022
    boss = parquet.read_table(tmp_path / "out/users.boss.users/edges.parquet").to_pydict()
    assert sorted(zip(boss["source"], boss["target"], strict=True)) == [
        ("ann", "bob"),
        ("bob", "eve"),
    ]
    train = parquet.read_table(tmp_path / "out/users/train.parquet").to_pydict()
    assert train == {"node": ["eve", "ann"]}
    split = parquet.read_table(tmp_path / "out/users.rates.movies/train.parquet").to_pydict()
    assert split == {"edge": [0, 1]}
    assert report.num_nodes == 8
    assert report.num_edges == 2 + 3 + 3
    assert report.notes == ()


def test_rows_of_an_export_may_be_put_in_another_order(dataset: Path, tmp_path: Path) -> None:
    gz.export_dataset(dataset, tmp_path / "out")
    for file in (tmp_path / "out").rglob("*s.parquet"):
        if file.name in ("nodes.parquet", "edges.parquet"):
            table = parquet.read_table(file)
            parquet.write_table(table.take(np.arange(len(table))[::-1]), file)
    gz.import_folder(tmp_path / "out", tmp_path / "again")
    before, after = file_bytes(dataset), file_bytes(tmp_path / "again")
    assert before.keys() == after.keys()
    same = [name for name in before if before[name] == after[name]]
    # Without edge ids the rows tell which of two edges of one time comes first.
    assert set(before) - set(same) <= {"graph.gl"}


@st.composite
def graphs(draw: Any) -> dict[str, Any]:
    names = ["a", "b b", "ü"][: draw(st.integers(1, 3))]
    relations = draw(st.integers(1, 4))
    return {
        "seed": draw(st.integers(0, 2**32)),
        "unit": draw(st.sampled_from([None, "D", "s", "ns"])),
        "types": [
            (name, draw(st.integers(0, 5)), draw(st.booleans()), draw(st.sampled_from("kit")))
            for name in names
        ],
        "relations": [
            {
                "ends": (draw(st.sampled_from(names)), draw(st.sampled_from(names))),
                "edges": draw(st.integers(0, 8)),
                "timed": draw(st.booleans()),
                "weighted": draw(st.booleans()),
                "columns": draw(st.booleans()),
                "dedup": draw(st.booleans()),
                "reverse": draw(st.booleans()),
                "direction": draw(st.sampled_from(["both", "both", "in", "out"])),
            }
            for _ in range(relations)
        ],
    }


def times(rng: np.random.Generator, count: int) -> Any:
    return rng.integers(-3, 4, count)


def tables_of(facts: dict[str, Any]) -> dict[str, Any]:
    rng = np.random.default_rng(facts["seed"])
    tables: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    timed = {name: has_times for name, _, has_times, _ in facts["types"]}
    for name, count, has_times, kind in facts["types"]:
        numbers = rng.permutation(count)
        keys[name] = {
            "k": numbers,
            "i": numbers * 3 - 4,
            "t": np.array([f"n{n}" for n in numbers]),
        }[kind]
        if kind == "k":
            keys[name] = np.arange(count)
        data: dict[str, Any] = {"v": rng.random(count), "time": times(rng, count)}
        tables[name] = {"data": data, "features": ["v"]}
        if kind != "k":
            data["id"] = keys[name] if kind == "i" else np.array(keys[name], "U8")
            tables[name]["key"] = "id"
        if has_times:
            tables[name]["time"] = "time"
    for number, own in enumerate(facts["relations"]):
        source, target = own["ends"]
        count = own["edges"] if len(keys[source]) and len(keys[target]) else 0
        data = {
            "s": rng.choice(keys[source], count) if count else np.array(keys[source][:0]),
            "t": rng.choice(keys[target], count) if count else np.array(keys[target][:0]),
            "time": times(rng, count),
            "w": rng.random(count).astype(np.float32),
        }
        ends = {
            "source": {"column": "s", "table": source},
            "target": {"column": "t", "table": target},
        }
        table: dict[str, Any] = {"data": data, "edges": ends, "dedup": own["dedup"]}
        if own["direction"] == "both":
            table["reverse"] = own["reverse"]
            table["undirected"] = source == target and own["reverse"] and rng.random() < 0.5
        else:
            table["direction"] = own["direction"]
        if own["timed"]:
            table["time"] = "time"
        elif timed[source] != timed[target]:
            # Rows are in the order of the nodes' times, and of edge ids where these are equal: only
            # a dataset that stores them can come back in that order.
            table["edge_ids"] = True
        if own["weighted"]:
            table["weight"] = "w"
        if own["columns"] and not own["dedup"]:  # rows of dropped edges do not come back
            table["features"] = ["w"]
        tables[f"r{number}"] = table
    return tables


@settings(max_examples=40, deadline=None)
@given(graphs(), st.sampled_from(FORMATS))
def test_any_dataset_comes_back(facts: dict[str, Any], format: Format) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        gz.import_tables(tables_of(facts), path / "ds", time_unit=facts["unit"])
        gz.export_dataset(path / "ds", path / "out", format=format)
        gz.import_folder(path / "out", path / "again")
        TypedContents(path / "again")
        assert file_bytes(path / "again") == file_bytes(path / "ds")


def test_original_ids_of_an_ordered_dataset_keep_their_description(
    dataset: Path, tmp_path: Path
) -> None:
    """As arrays: tables come back in the order of original ids, as the guide says."""
    gz.generate(tmp_path / "flat", nodes=50, edges=200, dim=2)
    for source in (dataset, tmp_path / "flat"):
        place = tmp_path / f"of-{source.name}"
        gz.reorder(source, place / "ordered", order="degree")
        gz.export_dataset(place / "ordered", place / "out", format="npy")
        gz.import_folder(place / "out", place / "again")
        before, after = open_dataset(place / "ordered"), open_dataset(place / "again")
        found = {key: column.description for key, column in after.columns.items()}
        assert found == {key: column.description for key, column in before.columns.items()}
        assert "degree" in {about.order for about in found.values()}


def test_times_of_nodes_that_no_column_has_come_back(dataset: Path, tmp_path: Path) -> None:
    (dataset / "users/time.gd").unlink()
    for format in FORMATS:
        gz.export_dataset(dataset, tmp_path / f"{format}-out", format=format)
        gz.import_folder(tmp_path / f"{format}-out", tmp_path / format)
        assert file_bytes(tmp_path / format) == file_bytes(dataset)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("ids", [None, "integer", "text"])
def test_times_without_types_come_back(tmp_path: Path, format: Format, ids: str | None) -> None:
    dataset = tmp_path / "ds"
    dataset.mkdir()
    gz.write_graph(
        dataset / "graph.gl",
        [0, 1, 2, 0],
        [1, 2, 0, 2],
        times=[5, -3, 7, 7],
        node_times=np.array(["2020-01-01", "1969-01-01", "2021-01-01"], "datetime64[s]"),
        time_unit="s",
    )
    if ids == "integer":
        gz.write_features(dataset / "original_id.gd", np.array([4, 9, 100]))
    elif ids == "text":
        gz.write_features(
            dataset / "original_id.gd", np.array([b"a", b"b", b"c"], "S1").view("u1").reshape(3, 1)
        )
    gz.export_dataset(dataset, tmp_path / "out", format=format)
    gz.import_folder(tmp_path / "out", tmp_path / "again")
    assert file_bytes(tmp_path / "again") == file_bytes(dataset)


@pytest.mark.parametrize("format", FORMATS)
def test_inverses_and_names_of_weights_come_back(tmp_path: Path, format: Format) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import HeteroData
    from torch_geometric.transforms import ToUndirected

    data = HeteroData()
    data["a"].x = torch.rand(3, 2)
    data["b"].x = torch.rand(2, 2).to(torch.bfloat16)
    data["a", "to", "b"].edge_index = torch.tensor([[0, 2, 1], [1, 0, 0]])
    data["a", "to", "b"].w = torch.rand(3)
    gz.import_pyg(ToUndirected()(data), tmp_path / "ds", weight_attr="w")
    gz.export_dataset(tmp_path / "ds", tmp_path / "out", format=format)
    gz.import_folder(tmp_path / "out", tmp_path / "again")
    assert file_bytes(tmp_path / "again") == file_bytes(tmp_path / "ds")
    assert TypedContents(tmp_path / "again").relation(("a", "to", "b")).inverse == 1


# --- Damage ---


def relation_with(**change: Any) -> Any:
    def apply(manifest: dict[str, Any]) -> None:
        manifest["relations"][-1].update(change)

    return apply


def type_with(**change: Any) -> Any:
    def apply(manifest: dict[str, Any]) -> None:
        manifest["types"][0].update(change)

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda facts: facts.update(format="hdf"), "format is 'hdf', expected parquet or npy"),
        (lambda facts: facts.update(time_unit="h"), "time_unit is 'h', expected D, s, ms, us, ns"),
        (type_with(num_nodes=-1), "types.users.num_nodes is -1, expected a number of nodes"),
        (type_with(name=5), "types.name is 5, expected a name"),
        (type_with(ids="all"), "types.users.ids is 'all', expected one of original, column, none"),
        (type_with(times="when"), "users/nodes.parquet: found no column 'when'"),
        (relation_with(source="nobody"), "relations is 'nobody', expected one of users"),
        (relation_with(symmetric="yes"), "relations.symmetric is 'yes', expected true or false"),
        (relation_with(direction="up"), "relations is 'up', expected in, out or both"),
        (relation_with(edge_id_bound=2), "found edge id 3, expected 0 to 1"),
        (relation_with(edge_id_bound=2**70), "relations.edge_id_bound is"),
        (relation_with(inverse=9), "relations.inverse is 9, expected the number of a relation"),
        (relation_with(times="when"), "edges.parquet: found no column 'when'"),
        (relation_with(columns={"x": {"role": "edge"}}), "not the description of an export"),
        (relation_with(name="likes"), "found no users.likes.movies/edges.parquet, expected it"),
    ],
)
def test_a_description_that_does_not_fit_is_named(
    dataset: Path, tmp_path: Path, change: Any, message: str
) -> None:
    gz.export_dataset(dataset, tmp_path / "out")
    file = tmp_path / "out/graphzero.json"
    facts = json.loads(file.read_text())
    change(facts)
    file.write_text(json.dumps(facts))
    with pytest.raises(InputError) as caught:
        gz.import_folder(tmp_path / "out", tmp_path / "again")
    assert message in str(caught.value)
    assert not (tmp_path / "again").exists()


def test_an_edge_between_unknown_nodes_is_named(dataset: Path, tmp_path: Path) -> None:
    gz.export_dataset(dataset, tmp_path / "out")
    file = tmp_path / "out/users/nodes.parquet"
    parquet.write_table(parquet.read_table(file).slice(1), file)
    with pytest.raises(InputError, match=r"row \d column '\w+': found 'ann', expected a key of"):
        gz.import_folder(tmp_path / "out", tmp_path / "again")


def test_a_node_that_is_there_twice_is_named(dataset: Path, tmp_path: Path) -> None:
    gz.export_dataset(dataset, tmp_path / "out")
    file = tmp_path / "out/users/nodes.parquet"
    table = parquet.read_table(file)
    parquet.write_table(table.take([0, 1, 2, 1]), file)
    with pytest.raises(InputError, match="row 3 column 'id': found key 'bob' again"):
        gz.import_folder(tmp_path / "out", tmp_path / "again")
