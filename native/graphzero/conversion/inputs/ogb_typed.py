"""OGB's layout of graphs with types, as ogbn-mag has it after unpacking.

raw/num-node-dict.csv.gz                  names of types, and how many nodes they have
raw/triplet-type-list.csv.gz              lines "source,relation,target"
raw/relations/A___REL___B/edge.csv.gz     lines "source,target"
raw/relations/A___REL___B/edge_*.csv.gz   a line for each edge
raw/node-feat/TYPE/node-feat.csv.gz       a line of values for each node, in order
raw/node-feat/TYPE/node_*.csv.gz          others, such as node_year
raw/node-label/TYPE/node-label.csv.gz
split/SCHEME/TYPE/train.csv.gz, ...       a node id on each line
"""

from __future__ import annotations

from pathlib import Path

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.edges import table_edges
from graphzero.conversion.inputs.names import EdgeNames
from graphzero.conversion.inputs.ogb import NO_LABEL, column_name, read_small_text
from graphzero.conversion.inputs.opening import edge_table
from graphzero.conversion.inputs.options import ReadOptions
from graphzero.conversion.plan import ColumnSource
from graphzero.conversion.tables.description import REVERSE_PREFIX
from graphzero.conversion.typed_plan import (
    PlannedSource,
    RelationName,
    RelationPlan,
    TypedPlan,
    TypePlan,
)

_TEXT = ".csv.gz"
_COUNTS = f"num-node-dict{_TEXT}"
_TRIPLETS = f"triplet-type-list{_TEXT}"
# About the relation, not about its edges.
_NOT_COLUMNS = ("edge", "num-edge-list")


def is_typed_ogb(folder: Path) -> bool:
    return (folder / "raw" / _TRIPLETS).is_file()


def plan_typed_ogb(folder: Path, *, reverse: bool, time: str | None) -> PlannedSource:
    """`time`: the column, such as node_year, that has the times of nodes."""
    raw = folder / "raw"
    files = [raw / _COUNTS, raw / _TRIPLETS]
    counts = _counts(raw / _COUNTS)
    types = [_type(folder, name, count, time, files) for name, count in counts.items()]
    if time is not None and not any(own.time for own in types):
        raise InputError(f"{folder}: found no {time}{_TEXT} of any type, expected times there")
    relations = [_relation(raw, triple, counts, reverse, files) for triple in _triples(raw)]
    plan = TypedPlan(types, relations)
    return PlannedSource(str(folder), plan, tuple(map(str, files)))


def _counts(file: Path) -> dict[str, int]:
    lines = read_small_text(file).splitlines()
    names = lines[0].split(",") if lines else []
    numbers = lines[1].split(",") if len(lines) == 2 else []
    if len(names) != len(numbers) or not all(number.isdigit() for number in numbers):
        raise InputError(
            f"{file}: found {len(lines)} lines, expected the names of types and a number for each: "
            "a dataset of one graph"
        )
    return {name: int(number) for name, number in zip(names, numbers, strict=True)}


def _triples(raw: Path) -> list[RelationName]:
    file = raw / _TRIPLETS
    found = []
    for line in read_small_text(file).splitlines():
        parts = line.split(",")
        if len(parts) != 3:
            raise InputError(f"{file}: found {line!r}, expected lines of source,relation,target")
        found.append((parts[0], parts[1], parts[2]))
    return found


def _type(folder: Path, name: str, count: int, time: str | None, files: list[Path]) -> TypePlan:
    columns = []
    for directory in ("node-feat", "node-label"):
        for file in sorted((folder / "raw" / directory / name).glob(f"*{_TEXT}")):
            stem = file.name.removesuffix(_TEXT)
            column = ColumnSource(column_name(stem), str(file), text_has_ids=False)
            if stem == "node-label":
                column = column._replace(name="y", dtype="int64", nan=NO_LABEL)
            columns.append(column)
            files.append(file)
    schemes = sorted(path for path in (folder / "split").glob("*") if path.is_dir())
    for scheme in schemes:
        for file in sorted((scheme / name).glob(f"*{_TEXT}")):
            own = file.name.removesuffix(_TEXT).replace("-", "_")
            if len(schemes) > 1:
                own = f"{scheme.name}_{own}"
            columns.append(ColumnSource(own, str(file), role="ids"))
            files.append(file)
    own_time = time if any(column.name == time for column in columns) else None
    return TypePlan(name, count, columns, own_time)


def _relation(
    raw: Path, triple: RelationName, counts: dict[str, int], reverse: bool, files: list[Path]
) -> RelationPlan:
    directory = raw / "relations" / "___".join(triple)
    for end in (triple[0], triple[2]):
        if end not in counts:
            raise InputError(f"{raw / _TRIPLETS}: found type {end!r}, expected those of {_COUNTS}")
    file = directory / f"edge{_TEXT}"
    if not file.is_file():
        raise InputError(f"{raw / _TRIPLETS}: names {' '.join(triple)}, found no {file}")
    files.append(file)
    table = edge_table(str(file), EdgeNames(), ReadOptions(), texts=False)
    columns = []
    for other in sorted(directory.glob(f"*{_TEXT}")):
        stem = other.name.removesuffix(_TEXT)
        if stem not in _NOT_COLUMNS:
            columns.append(
                ColumnSource(column_name(stem), str(other), role="edge", text_has_ids=False)
            )
            files.append(other)
    within = triple[0] == triple[2]
    return RelationPlan(
        triple,
        table_edges(table, node_limit=2**63),
        columns,
        view=f"{REVERSE_PREFIX}{triple[1]}" if reverse and not within else None,
        symmetric=reverse and within,
    )
