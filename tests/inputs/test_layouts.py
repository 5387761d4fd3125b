"""Folders as OGB, MAG240M and IGB ship them, written here in small."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from contents import column
from graphzero import InputError
from input_graphs import SmallGraph, convert


def write_lines(path: Path, rows: Any) -> None:
    """OGB's text: no header, no ids."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = np.asarray(rows)
    rows = rows.reshape(len(rows), -1)
    text = "".join(",".join(map(str, row)) + "\n" for row in rows.tolist())
    path.write_bytes(gzip.compress(text.encode()))


def write_splits(folder: Path, scheme: str = "time") -> dict[str, list[int]]:
    splits = {"train": [0, 5, 7], "valid": [1], "test": [499, 2]}
    for name, ids in splits.items():
        write_lines(folder / f"split/{scheme}/{name}.csv.gz", ids)
    return splits


def labels_with_gaps(small: SmallGraph) -> Any:
    labels = small.y.astype(np.float32)
    labels[[0, 3, 400]] = np.nan
    return labels


def check(dataset: Path, small: SmallGraph, splits: dict[str, list[int]]) -> None:
    graph = gz.Graph(dataset, verify=True)
    assert graph.num_nodes == small.num_nodes
    assert graph.num_edges == len(small.src)
    np.testing.assert_allclose(column(dataset, "x"), small.x, rtol=1e-6)
    expected = small.y.copy()
    expected[[0, 3, 400]] = -1
    assert column(dataset, "y").tolist() == expected.tolist()
    for name, ids in splits.items():
        assert column(dataset, name).tolist() == ids
        assert gz.FeatureStore(dataset / f"{name}.gd").role == "ids"


@pytest.fixture
def ogb_text(tmp_path: Path, small: SmallGraph) -> Path:
    raw = tmp_path / "ogbn_small/raw"
    write_lines(raw / "edge.csv.gz", np.stack([small.src, small.dst], 1))
    write_lines(raw / "node-feat.csv.gz", small.x)
    write_lines(raw / "node-label.csv.gz", labels_with_gaps(small))
    write_lines(raw / "num-node-list.csv.gz", [small.num_nodes])
    write_lines(raw / "num-edge-list.csv.gz", [len(small.src)])
    write_lines(raw / "node_year.csv.gz", np.arange(small.num_nodes) + 1500.0)
    write_lines(raw / "edge-feat.csv.gz", np.stack([small.weight, -small.weight], 1))
    return raw.parent


def test_the_text_layout_of_ogb(tmp_path: Path, ogb_text: Path, small: SmallGraph) -> None:
    splits = write_splits(ogb_text)
    done = convert(ogb_text, "--out", tmp_path / "ds")
    assert (done.returncode, done.stderr) == (0, "")
    assert "y: 500 int64, missing 3 (replaced)" in done.stdout
    check(tmp_path / "ds", small, splits)
    assert column(tmp_path / "ds", "node_year")[9] == 1509
    edge_attr = gz.FeatureStore(tmp_path / "ds/edge_attr.gd")
    assert (edge_attr.role, edge_attr.shape) == ("edge", (len(small.src), 2))
    np.testing.assert_allclose(edge_attr.get_tensor()[:, 0], small.weight, rtol=1e-6)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_binary_layout_of_ogb(tmp_path: Path, small: SmallGraph, save: Any) -> None:
    folder = tmp_path / "ogbn_papers_small"
    (folder / "raw").mkdir(parents=True)
    save(
        folder / "raw/data.npz",
        edge_index=np.stack([small.src, small.dst]),
        node_feat=small.x,
        num_nodes_list=np.array([small.num_nodes]),
        num_edges_list=np.array([len(small.src)]),
        node_year=np.arange(small.num_nodes).reshape(-1, 1),
    )
    save(folder / "raw/node-label.npz", node_label=labels_with_gaps(small).reshape(-1, 1))
    splits = write_splits(folder)
    report = gz.import_folder(folder, tmp_path / "ds")
    check(tmp_path / "ds", small, splits)
    assert report.columns["y"].nans == 3
    assert column(tmp_path / "ds", "node_year").tolist() == list(range(small.num_nodes))


def test_a_label_that_begins_with_nan_is_no_header(tmp_path: Path, ogb_text: Path) -> None:
    lines = gzip.decompress((ogb_text / "raw/node-label.csv.gz").read_bytes()).splitlines()
    assert lines[0] == b"nan"
    report = gz.import_folder(ogb_text, tmp_path / "ds")
    assert report.columns["y"].rows == len(lines)


@pytest.mark.parametrize("first", ["1", '""', "nan"])
def test_an_empty_label_is_missing(tmp_path: Path, ogb_text: Path, first: str) -> None:
    """pandas writes "" for a missing value that is alone on its line."""
    labels = [first, '""', "3.0", *["2"] * 497]
    (ogb_text / "raw/node-label.csv.gz").write_bytes(gzip.compress("\n".join(labels).encode()))
    report = gz.import_folder(ogb_text, tmp_path / "ds")
    expected = [1 if first == "1" else -1, -1, 3, 2]
    assert column(tmp_path / "ds", "y")[:4].tolist() == expected
    assert report.columns["y"].missing == {"": expected.count(-1)}


def test_several_schemes_of_splits_keep_apart(tmp_path: Path, ogb_text: Path) -> None:
    write_splits(ogb_text, "time")
    write_splits(ogb_text, "species-random")
    gz.import_folder(ogb_text, tmp_path / "ds")
    assert column(tmp_path / "ds", "time_train").tolist() == [0, 5, 7]
    assert column(tmp_path / "ds", "species_random_valid").tolist() == [1]


@pytest.mark.parametrize(
    ("file", "rows", "message"),
    [
        ("node-feat", 499, r"node-feat\.csv\.gz: found 499 rows, expected 500"),
        ("node-feat", 501, r"node-feat\.csv\.gz line 501: found another row, expected 500"),
        ("edge-feat", 17, r"edge-feat\.csv\.gz: found 17 rows, expected 6000, one for each edge"),
    ],
)
def test_a_file_of_another_length_is_named(
    tmp_path: Path, ogb_text: Path, file: str, rows: int, message: str
) -> None:
    write_lines(ogb_text / f"raw/{file}.csv.gz", np.zeros((rows, 2)))
    with pytest.raises(InputError, match=message):
        gz.import_folder(ogb_text, tmp_path / "ds")
    assert not (tmp_path / "ds").exists()


def test_a_bad_value_is_named_by_line_and_column(tmp_path: Path, ogb_text: Path) -> None:
    write_lines(ogb_text / "raw/node-feat.csv.gz", [["1", "2"], ["3", "oops"]])
    with pytest.raises(InputError, match=r"line 2: column 2: found \"oops\", expected a number"):
        gz.import_folder(ogb_text, tmp_path / "ds")


def save_all(folder: Path, **arrays: Any) -> None:
    folder.mkdir(parents=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def test_a_flat_folder(tmp_path: Path, small: SmallGraph) -> None:
    mask = np.arange(small.num_nodes) % 50 == 0
    save_all(
        tmp_path / "flat",
        edge_index=np.stack([small.src, small.dst]),
        features=small.x.astype(np.float16),
        labels=labels_with_gaps(small),
        train_mask=mask,
        val_idx=np.array([3, 1]),
        edge_time=np.arange(len(small.src)),
        cube=np.zeros((small.num_nodes, 2, 2)),
        none=np.zeros((2, 0)),
    )
    with pytest.warns(UserWarning, match=r"import_folder\(\): none.npy: left out, found float64"):
        report = gz.import_folder(tmp_path / "flat", tmp_path / "ds")
    np.testing.assert_array_equal(column(tmp_path / "ds", "x"), small.x.astype(np.float16))
    assert column(tmp_path / "ds", "y")[3] == -1
    assert column(tmp_path / "ds", "train").tolist() == np.flatnonzero(mask).tolist()
    assert column(tmp_path / "ds", "val").tolist() == [3, 1]
    assert gz.FeatureStore(tmp_path / "ds/edge_time.gd").role == "edge"
    assert column(tmp_path / "ds", "cube").shape == (small.num_nodes, 2, 2)
    assert report.notes == ("none.npy: left out, found float64 of shape (2, 0)",)


def test_the_layout_of_mag240m(tmp_path: Path, small: SmallGraph) -> None:
    base = tmp_path / "mag240m_kddcup2021"
    processed = base / "processed"
    save_all(
        processed / "paper",
        node_feat=small.x.astype(np.float16),
        node_label=labels_with_gaps(small),
        node_year=np.arange(small.num_nodes) + 1500,
    )
    save_all(processed / "author", node_feat=small.x[:5])
    ends = np.stack([small.src, small.dst])
    save_all(processed / "paper___cites___paper", edge_index=ends)
    save_all(processed / "author___writes___paper", edge_index=ends[:, :9])
    (base / "split_dict.pt").write_bytes(b"pickle")
    report = gz.import_folder(base, tmp_path / "ds", undirected=True)
    graph = gz.Graph(tmp_path / "ds")
    assert graph.num_nodes == small.num_nodes
    assert graph.is_symmetric
    assert gz.FeatureStore(tmp_path / "ds/x.gd").dtype.label == "float16"
    assert column(tmp_path / "ds", "y")[:4].tolist() == [-1, *small.y[1:3].tolist(), -1]
    assert report.columns["y"].nans == 3
    assert column(tmp_path / "ds", "node_year")[9] == 1509
    assert [note.split(":")[0] for note in report.notes] == [
        "author", "author___writes___paper", "split_dict.pt",
    ]  # fmt: skip


def write_igb(folder: Path, small: SmallGraph, **labels: Any) -> Path:
    """Pairs in rows, labels of one or two granularities, and a pickle."""
    processed = folder / "processed"
    save_all(processed / "paper", node_feat=small.x, **labels)
    pairs = np.stack([small.src, small.dst], 1)
    save_all(processed / "paper__cites__paper", edge_index=pairs)
    np.save(processed / "paper/paper_id_index_mapping.npy", {"a paper": 0}, allow_pickle=True)
    return folder


def test_the_layout_of_igb(tmp_path: Path, small: SmallGraph) -> None:
    labels = labels_with_gaps(small)
    folder = write_igb(tmp_path / "tiny", small, node_label_19=labels, node_label_2K=labels * 7)
    report = gz.import_folder(folder, tmp_path / "ds")
    assert [note.split(":")[0] for note in report.notes] == ["paper_id_index_mapping.npy"]
    expected = small.write(tmp_path / "expected")
    assert (tmp_path / "ds/graph.gl").read_bytes() == expected.read_bytes()
    y = np.where(np.isnan(labels), -1, labels).astype(np.int64)
    assert column(tmp_path / "ds", "y").tolist() == y.tolist()
    assert column(tmp_path / "ds", "node_label_2K").tolist() == np.where(y < 0, -1, y * 7).tolist()
    assert [report.columns[name].nans for name in ("y", "node_label_2K")] == [3, 3]


def test_labels_of_igb_that_are_alone_or_few(tmp_path: Path, small: SmallGraph) -> None:
    """The full size has labels for its first nodes alone."""
    folder = write_igb(tmp_path / "tiny", small, node_label_2K=small.y[:300].astype(np.float32))
    report = gz.import_folder(folder, tmp_path / "ds")
    assert column(tmp_path / "ds", "y").tolist() == [*small.y[:300].tolist(), *[-1] * 200]
    assert report.columns["y"].filled == 200


def test_files_of_igb_without_a_header(tmp_path: Path, small: SmallGraph) -> None:
    """As the large and full sizes have them."""
    folder = write_igb(tmp_path / "full", small)
    x = np.random.default_rng(0).random((small.num_nodes, 1024), np.float32)
    x.tofile(folder / "processed/paper/node_feat.npy")
    labels_with_gaps(small).tofile(folder / "processed/paper/node_label_19.npy")
    report = gz.import_folder(folder, tmp_path / "ds")
    np.testing.assert_array_equal(column(tmp_path / "ds", "x"), x)
    assert column(tmp_path / "ds", "y")[:4].tolist() == [-1, *small.y[1:3].tolist(), -1]
    assert [note.split(":")[0] for note in report.notes] == [
        "node_feat.npy", "node_label_19.npy", "paper_id_index_mapping.npy",
    ]  # fmt: skip
    with (folder / "processed/paper/node_feat.npy").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match=r"node_feat\.npy: found \d+ bytes without the header"):
        gz.import_folder(folder, tmp_path / "other")


def test_two_relations_of_one_type_ask_for_a_choice(tmp_path: Path) -> None:
    for name in ("a__x__a", "a__y__a"):
        save_all(tmp_path / "f" / name, edge_index=np.zeros((2, 3), int))
    with pytest.raises(InputError, match=r"found a__x__a/edge_index\.npy, a__y__a/edge_index\.npy"):
        gz.import_folder(tmp_path / "f", tmp_path / "ds")


def test_a_folder_of_nothing_known_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    done = convert(tmp_path / "f", "--out", tmp_path / "ds")
    assert done.returncode == 1
    assert "found neither an OGB dataset" in done.stderr
