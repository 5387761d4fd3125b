"""Folders of plain .npy files.

Flat:

    edge_index.npy (or edges.npy), x.npy, y.npy, train.npy, ...

or by type, as MAG240M and IGB ship, also below processed/:

    paper/node_feat.npy, paper/node_label.npy   (IGB: node_label_19.npy and node_label_2K.npy)
    paper__cites__paper/edge_index.npy          (MAG240M has three underscores)

A dataset has one type of nodes here: that of the relation between nodes of one type. What belongs
to other types is left out, and the report says so. IGB's large and full sizes have .npy files that
are plain float32 values without NumPy's header, 1024 in a row of features.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.edges import npy_edge_pairs
from graphzero.conversion.inputs.file_array import FileArray, NpyHeader, open_npy
from graphzero.conversion.inputs.streams import EdgeStream, RowStream, array_rows, pair_edges
from graphzero.conversion.plan import ColumnSource, Plan
from graphzero.files.column_names import RESERVED
from graphzero.files.paths import ORIGINAL_IDS

EDGE_FILES = ("edge_index.npy", "edges.npy")
NUM_NODES = "num_nodes"
WEIGHTS = "edge_weight"
_NAMES = {"node_feat": "x", "feat": "x", "features": "x", "node_label": "y", "label": "y", "labels": "y"}  # fmt: skip  # noqa: E501
# Label files of IGB, named by the number of classes. IGB's loader takes 19 by default.
_IGB_LABELS = ("node_label_19", "node_label_2K")
_IGB_WIDTH = 1024
_NO_LABEL = -1
_NPY_MAGIC = b"\x93NUMPY"
_SPLIT = re.compile(r"(train|val|valid|validation|test)(_idx|_index|_ids|_mask)?")
_RELATION = re.compile(r"(.+?)_{2,3}(.+?)_{2,3}(.+)")


def find_npy_edges(folder: Path) -> bool:
    return bool(_edge_files(folder))


def plan_npy_folder(folder: Path) -> Plan:
    edges = _choose_edges(folder)
    nodes = _node_folder(edges)
    columns: list[ColumnSource] = []
    notes: list[str] = []
    num_nodes = _count_nodes(nodes)
    num_edges = len(npy_edge_pairs(str(edges)))
    for file in sorted({*nodes.glob("*.npy"), *edges.parent.glob("*.npy")}):
        if file.name in EDGE_FILES or file.stem in (NUM_NODES, ORIGINAL_IDS, WEIGHTS):
            continue
        column = _column_or_note(file, num_nodes, num_edges)
        if isinstance(column, str):
            notes.append(column)
            continue
        columns.append(column)
        if not _has_header(file):
            notes.append(f"{file.name}: read as float32 without a header, as IGB ships its largest")
    notes += _left_out(folder, edges, nodes)
    return Plan(
        _edges(edges), _with_unique_names(columns), num_nodes, _original_ids(nodes), tuple(notes)
    )


def _column_or_note(file: Path, num_nodes: int | None, num_edges: int) -> ColumnSource | str:
    try:
        values = _load(file)
    except InputError as error:  # such as a pickled dictionary, which IGB ships
        return f"{file.name}: left out, {error}"
    if file.stem in _IGB_LABELS and values.ndim == 1 and values.dtype.kind in "biuf":
        return _igb_label(file, values)
    return _column(file, values, num_nodes, num_edges)


def _load(file: Path) -> FileArray:
    """The array of a file, or the plain values of one of IGB's."""
    if _has_header(file) or file.stem not in ("node_feat", *_IGB_LABELS):
        return open_npy(str(file))
    size = file.stat().st_size
    width = _IGB_WIDTH if file.stem == "node_feat" else 1
    if size == 0 or size % (4 * width):
        raise InputError(
            f"{file}: found {size} bytes without the header of a .npy file, expected rows of "
            f"{width} float32 values, as IGB ships its largest sizes"
        )
    shape = (size // 4,) if width == 1 else (size // 4 // width, width)
    header = NpyHeader(shape, fortran_order=False, dtype=np.dtype(np.float32))
    return FileArray.open(str(file), str(file), 0, header)


def _has_header(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_NPY_MAGIC)) == _NPY_MAGIC


def _igb_label(file: Path, labels: FileArray) -> ColumnSource:
    """If both label files are there, the one with few classes is `y`. Nodes beyond the last label
    have no label."""
    others = [file.with_name(f"{stem}.npy") for stem in _IGB_LABELS if stem != file.stem]
    is_y = file.stem == _IGB_LABELS[0] or not others[0].is_file()
    return ColumnSource(
        "y" if is_y else file.stem,
        array_rows(str(file), labels),
        "int64",
        nan=_NO_LABEL,
        fill=_NO_LABEL,
    )


def _edge_files(folder: Path) -> list[Path]:
    found = [base / name for base in (folder, folder / "processed") for name in EDGE_FILES]
    found = [file for file in found if file.is_file()]
    for base in (folder, folder / "processed"):
        found += sorted(file for name in EDGE_FILES for file in base.glob(f"*__*__*/{name}"))
    return found


def _choose_edges(folder: Path) -> Path:
    """The one relation between nodes of one type."""
    files = _edge_files(folder)
    own = [file for file in files if _is_within_type(file)]
    if len(own) == 1:
        return own[0]
    found = ", ".join(str(file.relative_to(folder)) for file in files)
    raise InputError(
        f"{folder}: found {found}, expected one relation between nodes of one type; choose files "
        "with --edges and --column"
    )


def _is_within_type(edges: Path) -> bool:
    relation = _RELATION.fullmatch(edges.parent.name)
    return relation is None or relation[1] == relation[3]


def _node_folder(edges: Path) -> Path:
    relation = _RELATION.fullmatch(edges.parent.name)
    return edges.parent if relation is None else edges.parent.parent / relation[1]


def _edges(file: Path) -> str | EdgeStream:
    weights = file.with_name(f"{WEIGHTS}.npy")
    if not weights.is_file():
        return str(file)
    pairs = npy_edge_pairs(str(file))
    values = open_npy(str(weights))
    if values.shape != pairs.shape[:1] or values.dtype.kind not in "iuf":
        raise InputError(
            f"{weights}: found {values.dtype} of shape {values.shape}, expected a number for each "
            f"of {len(pairs)} edges"
        )
    return pair_edges(str(file), pairs, values)


def _original_ids(nodes: Path) -> RowStream | None:
    """Original ids, as an export of a relabelled dataset has them: integers, or bytes of one
    length."""
    file = nodes / f"{ORIGINAL_IDS}.npy"
    if not file.is_file():
        return None
    return array_rows(str(file), open_npy(str(file)).texts_as_bytes())


def _count_nodes(nodes: Path) -> int | None:
    """The number that a file states, or the rows of the features: nodes without an edge count
    too."""
    told = nodes / f"{NUM_NODES}.npy"
    if told.is_file():
        return int(open_npy(str(told)).whole())
    for name in ("node_feat", "x", "feat", "features"):
        file = nodes / f"{name}.npy"
        if file.is_file():
            return int(_load(file).shape[0])
    return None


def _column(
    file: Path, array: FileArray, num_nodes: int | None, num_edges: int
) -> ColumnSource | str:
    """The column of a file, by its name and length; or a note on why the file is left out."""
    stem = file.stem
    split = _SPLIT.fullmatch(stem)
    if split is not None and array.ndim == 1 and array.dtype.kind in "iub":
        return ColumnSource(split[1], array_rows(str(file), array), role="ids")
    if array.ndim == 0 or 0 in array.shape[1:] or array.dtype.kind not in "biuf":
        return f"{file.name}: left out, found {array.dtype} of shape {array.shape}"
    name = re.sub(r"\W", "_", _NAMES.get(stem, stem), flags=re.ASCII)
    if stem.startswith("edge") and array.shape[0] == num_edges:
        return ColumnSource(name, array_rows(str(file), array), role="edge")
    if num_nodes is not None and array.shape[0] != num_nodes:
        return f"{file.name}: left out, found {array.shape[0]} rows for {num_nodes} nodes"
    rows = array_rows(str(file), array)
    is_label = stem in ("node_label", "label", "labels", "y")
    if is_label and array.dtype.kind == "f" and array.ndim == 1 and _are_classes(array):
        return ColumnSource(name, rows, dtype="int64", nan=_NO_LABEL)
    return ColumnSource(name if name not in RESERVED else f"node_{name}", rows)


def _are_classes(labels: FileArray) -> bool:
    """Whether floating labels are whole numbers or NaN; else they are values to predict."""
    return all(
        bool(np.all(np.isnan(piece) | (np.isfinite(piece) & (np.floor(piece) == piece))))
        for piece in labels.pieces()
    )


def _with_unique_names(columns: list[ColumnSource]) -> list[ColumnSource]:
    """If a renamed column clashes with a file of that name, it keeps the name of its own file."""
    seen: set[str] = set()
    result = []
    for column in sorted(columns, key=lambda c: _stem(c) != c.name):
        name = column.name if column.name not in seen else _stem(column)
        seen.add(name)
        result.append(column._replace(name=name))
    return sorted(result, key=lambda column: column.name)


def _stem(column: ColumnSource) -> str:
    assert isinstance(column.source, RowStream)
    return Path(column.source.name).stem


def _left_out(folder: Path, edges: Path, nodes: Path) -> list[str]:
    base = nodes.parent if nodes != edges.parent else nodes
    taken = {edges.parent, nodes}
    others = sorted(path for path in base.glob("*") if path.is_dir() and path not in taken)
    notes = [f"{path.name}: left out, a dataset has one type of nodes" for path in others]
    for file in sorted({*folder.glob("*.pt"), *base.glob("*.pt")}):
        notes.append(f"{file.name}: left out, a pickle; save its lists as train.npy, ... instead")
    return notes
