"""`graphzero.json` of an export with types: facts that the files of its directories cannot
express."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphzero.base.errors import InputError
from graphzero.exporting.manifest import (
    ExportedColumn,
    NodeIds,
    check_columns,
    check_time_unit,
    columns_from,
    is_count,
    read_facts,
    require,
    said,
    write_facts,
)
from graphzero.exporting.writers import Writer
from graphzero.files.dataset import Dataset

TYPED_VERSION = 2


class ExportedType(NamedTuple):
    """A type of nodes, whose files lie in the directory of its name."""

    name: str
    num_nodes: int
    ids: NodeIds
    columns: dict[str, ExportedColumn]
    times: str | None = None  # name of the nodes' times in the export, if there are any


class ExportedRelation(NamedTuple):
    """A stored relation (not a view)."""

    source: str
    name: str
    target: str
    symmetric: bool
    direction: str
    dedup: bool
    columns: dict[str, ExportedColumn]
    edge_id_bound: int
    # Names of edge ids, weights and times in the export, if there are any.
    edge_ids: str | None = None
    weights: str | None = None
    times: str | None = None
    weight_name: str | None = None  # name of the weights in the dataset
    view: str | None = None  # name of its view, which has the edges in reverse
    inverse: int | None = None  # number of the stored relation that has the same edges in reverse

    @property
    def triple(self) -> tuple[str, str, str]:
        return self.source, self.name, self.target


class TypedManifest(NamedTuple):
    """Manifest of the export of a dataset with types."""

    format: str  # "parquet" or "npy"
    types: list[ExportedType]
    relations: list[ExportedRelation]
    time_unit: str | None = None

    def write(self, directory: Path) -> None:
        facts = said(self)
        facts["types"] = [said(own) for own in self.types]
        facts["relations"] = [said(own) for own in self.relations]
        write_facts(directory, TYPED_VERSION, facts)


def typed_manifest(dataset: Dataset, format: str, writers: Sequence[Writer]) -> TypedManifest:
    return TypedManifest(
        format,
        [_type(writer) for writer in writers if writer.part.type_number is not None],
        [_relation(dataset, writer) for writer in writers if writer.part.type_number is None],
        dataset.schema.time_unit or None,
    )


def _type(writer: Writer) -> ExportedType:
    part = writer.part
    assert part.type_number is not None
    return ExportedType(
        part.dataset.schema.types[part.type_number].name,
        part.num_nodes,
        part.node_names.kind,
        {name: ExportedColumn.of(column) for name, column in part.columns.items()},
        writer.node_times,
    )


def _relation(dataset: Dataset, writer: Writer) -> ExportedRelation:
    part, number = writer.part, writer.part.relation_number
    assert number is not None
    schema, stored = dataset.schema, part.relation
    own = schema.relations[number]
    views = [each.name for each in schema.relations if each.is_view and each.base == number]
    if len(views) > 1:
        raise InputError(
            f"{dataset.path}: found {len(views)} views of {' '.join(own.triple)}, expected one at "
            "most, which an export can name"
        )
    both = own.symmetric or (own.has_out and own.has_in)
    left_out = () if own.has_edge_ids else ("edge",)
    return ExportedRelation(
        *own.triple,
        symmetric=own.symmetric,
        direction="both" if both else "out" if own.has_out else "in",
        dedup=stored.multi_edges_dropped,
        columns={
            name: ExportedColumn.of(column)
            for name, column in part.columns.items()
            if column.role not in left_out
        },
        edge_id_bound=own.edge_id_bound,
        edge_ids=writer.id_name if part.writes_edge_ids else None,
        weights=writer.weight_name if part.has_weights else None,
        times=writer.time_name if part.has_times else None,
        weight_name=stored.weight_name or None,
        view=views[0] if views else None,
        inverse=own.inverse,
    )


def read_typed_manifest(folder: Path) -> TypedManifest:
    return read_facts(folder, TYPED_VERSION, _from_facts)


def _from_facts(facts: dict[str, Any]) -> TypedManifest:
    types = [ExportedType(**{**own, "columns": columns_from(own)}) for own in facts["types"]]
    relations = [
        ExportedRelation(**{**own, "columns": columns_from(own)}) for own in facts["relations"]
    ]
    manifest = TypedManifest(**{**facts, "types": types, "relations": relations})
    _check(manifest)
    return manifest


def _check(manifest: TypedManifest) -> None:
    """Raises ValueError for the first value that no export would have written."""
    require(manifest.format in ("parquet", "npy"), "format", manifest.format, "parquet or npy")
    check_time_unit(manifest.time_unit)
    for own in manifest.types:
        _require_text("types.name", own.name)
        _require_name(f"types.{own.name}.times", own.times)
        count = own.num_nodes
        require(is_count(count), f"types.{own.name}.num_nodes", count, "a number of nodes")
        kinds = ("original", "column", "none")
        require(own.ids in kinds, f"types.{own.name}.ids", own.ids, f"one of {', '.join(kinds)}")
        check_columns(own.columns)
    names = [own.name for own in manifest.types]
    for relation in manifest.relations:
        place = "relations"
        for end in (relation.source, relation.target):
            require(end in names, place, end, f"one of {', '.join(map(str, names))}")
        _require_text(f"{place}.name", relation.name)
        for key in ("symmetric", "dedup"):
            value = getattr(relation, key)
            require(isinstance(value, bool), f"{place}.{key}", value, "true or false")
        directions = ("in", "out", "both")
        require(relation.direction in directions, place, relation.direction, "in, out or both")
        bound = relation.edge_id_bound
        require(is_count(bound), f"{place}.edge_id_bound", bound, "a number of edge ids")
        for key in ("edge_ids", "weights", "times", "weight_name", "view"):
            _require_name(f"{place}.{key}", getattr(relation, key))
        inverse = relation.inverse
        known = inverse is None or (is_count(inverse) and inverse < len(manifest.relations))
        require(known, f"{place}.inverse", inverse, "the number of a relation")
        check_columns(relation.columns)


def _require_text(name: str, value: Any) -> None:
    require(isinstance(value, str) and bool(value), name, value, "a name")


def _require_name(name: str, value: Any) -> None:
    require(value is None or isinstance(value, str), name, value, "a name")
