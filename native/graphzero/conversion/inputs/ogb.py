"""The two layouts of OGB's node property datasets, as they are after unpacking.

    raw/edge.csv.gz            lines "source,target"
    raw/node-feat.csv.gz       a line of values for each node, in order
    raw/node-label.csv.gz      a line for each node, nan or "" where there is none
    raw/num-node-list.csv.gz   the number of nodes
    raw/edge-feat.csv.gz, raw/node_year.csv.gz and others with a line for each edge or node

or, as ogbn-papers100M has it:

    raw/data.npz               edge_index, node_feat, num_nodes_list, node_year, ...
    raw/node-label.npz         node_label

and in both

    split/SCHEME/train.csv.gz, valid.csv.gz, test.csv.gz: a node id on each line
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.streams import RowChunk, RowStream
from graphzero.conversion.plan import ColumnSource, Plan, Role

# The value of a missing label; no class has this number.
NO_LABEL = -1
_NAMES = {"node-feat": "x", "node_feat": "x", "edge-feat": "edge_attr", "edge_feat": "edge_attr"}
_LABELS = ("node-label", "node_label")
# About the dataset, not about its nodes or edges; edges themselves are read elsewhere.
_NOT_COLUMNS = ("edge", "edge_index", "num-node-list", "num-edge-list", "num_nodes_list", "num_edges_list")  # fmt: skip  # noqa: E501
_TEXT = ".csv.gz"


def is_ogb(folder: Path) -> bool:
    raw = folder / "raw"
    return (raw / "edge.csv.gz").is_file() or (raw / "data.npz").is_file()


def plan_ogb(folder: Path) -> Plan:
    plan = _plan_binary(folder) if (folder / "raw/data.npz").is_file() else _plan_text(folder)
    return plan._replace(columns=[*plan.columns, *_splits(folder)])


def _plan_text(folder: Path) -> Plan:
    raw = folder / "raw"
    columns = []
    for file in sorted(raw.glob(f"*{_TEXT}")):
        stem = file.name.removesuffix(_TEXT)
        if stem in _NOT_COLUMNS:
            continue
        column = ColumnSource(column_name(stem), str(file), role=_role(stem), text_has_ids=False)
        columns.append(_as_label(column) if stem in _LABELS else column)
    return Plan(str(raw / f"edge{_TEXT}"), columns, _text_node_count(raw))


def _plan_binary(folder: Path) -> Plan:
    from graphzero.conversion.inputs.npz import NpzArray, members

    raw = folder / "raw"
    data = str(raw / "data.npz")
    names = members(data)
    if "edge_index" not in names:
        raise InputError(f"{data}: found {', '.join(names)}, expected edge_index among them")
    num_nodes = None
    if "num_nodes_list" in names:
        num_nodes = int(NpzArray(data, "num_nodes_list").whole().sum())
    columns = []
    for name in names:
        if name in _NOT_COLUMNS:
            continue
        rows = flattened(NpzArray(data, name).rows())
        columns.append(ColumnSource(column_name(name), rows, role=_role(name)))
    labels = raw / "node-label.npz"
    if labels.is_file():
        rows = flattened(NpzArray(str(labels), "node_label").rows())
        columns.append(_as_label(ColumnSource("y", rows)))
    return Plan(f"{data}#edge_index", columns, num_nodes)


def _role(stem: str) -> Role:
    return "edge" if stem.startswith("edge") else "node"


def _as_label(column: ColumnSource) -> ColumnSource:
    return column._replace(name="y", dtype="int64", nan=NO_LABEL)


def column_name(stem: str) -> str:
    return _NAMES.get(stem, stem.replace("-", "_"))


def _text_node_count(raw: Path) -> int | None:
    file = raw / "num-node-list.csv.gz"
    if not file.is_file():
        return None
    text = read_small_text(file).split()
    if len(text) != 1 or not text[0].isdigit():
        raise InputError(
            f"{file}: found {len(text)} lines, expected one number: a dataset of one graph"
        )
    return int(text[0])


def read_small_text(file: Path) -> str:
    """The text of a compressed file that has a few lines."""
    import gzip
    import zlib

    try:
        with gzip.open(file, "rt") as lines:
            return lines.read()
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{file}: damaged gzip data ({error}); copy the file again") from error


def _splits(folder: Path) -> list[ColumnSource]:
    schemes = sorted(path for path in (folder / "split").glob("*") if path.is_dir())
    splits = []
    for scheme in schemes:
        for file in sorted(scheme.glob(f"*{_TEXT}")):
            name = file.name.removesuffix(_TEXT)
            if len(schemes) > 1:
                name = f"{scheme.name}_{name}"
            splits.append(ColumnSource(name.replace("-", "_"), str(file), role="ids"))
    return splits


def flattened(rows: RowStream) -> RowStream:
    """One value in each row makes one dimension: labels come as (n, 1)."""
    if rows.row_shape != (1,):
        return rows

    def chunks() -> Iterator[RowChunk]:
        for chunk in rows.open():
            yield chunk._replace(rows=chunk.rows.reshape(-1))

    return replace(rows, open=chunks, row_shape=())
