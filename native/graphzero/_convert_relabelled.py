"""The relabelling step of a conversion: everything that has ids gets new ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from graphzero._errors import InputError
from graphzero._files import COLUMN_SUFFIX, ORIGINAL_IDS
from graphzero._inputs.edges import stream_edges
from graphzero._inputs.locations import has_stream
from graphzero._inputs.names import EdgeNames
from graphzero._inputs.relabel import Relabelling, ids_of_edges, ids_of_rows, write_original_ids
from graphzero._inputs.rows import split_with_ids, stream_rows
from graphzero._inputs.streams import EdgeStream, RowStream
from graphzero._inputs.texts import IdText, TextInput, edge_text, node_text, split_text
from graphzero._plan import ColumnOptions, ColumnSource, Plan, Relabel
from graphzero._publish import StrPath

if TYPE_CHECKING:
    from graphzero import _engine
    from graphzero._compile_graph import GraphOptions, Report


class Relabelled(NamedTuple):
    """Edges and columns with new ids."""

    edges: EdgeStream | TextInput
    columns: list[ColumnSource]
    num_nodes: int
    notes: tuple[str, ...]


def with_new_ids(
    plan: Plan,
    graph_options: GraphOptions,
    column_options: ColumnOptions,
    directory: Path,
    resources: _engine.Resources,
    names: EdgeNames | None,
    report: Report | None,
) -> Relabelled:
    """Gives everything new ids, and writes the original ones."""
    if graph_options.num_nodes is not None:
        raise InputError("--num-nodes and --relabel exclude each other: the ids tell the number")
    assert plan.relabel is not None
    edges = _edges_with_ids(plan.edges, plan.relabel, names)
    rows = {
        column.name: _rows_with_ids(column.with_general(column_options), edges.texts)
        for column in plan.columns
        if column.role != "edge"
    }
    own = [ids_of_rows(rows[column.name]) for column in plan.columns if column.role == "node"]
    if plan.node_ids is not None:
        own.append(ids_of_rows(plan.node_ids))
    ids_file = directory / f"{ORIGINAL_IDS}{COLUMN_SUFFIX}"
    mapping = write_original_ids(ids_file, ids_of_edges(edges), own, resources, report)
    mapped = [_with_new_ids(column, rows, mapping) for column in plan.columns]
    # Where one id that is no integer makes all of them texts, the user may not have meant it.
    told = isinstance(edges, IdText) and edges.texts and plan.relabel == "auto"
    notes = (f"{Path(edges.name).name}: its ids are texts",) if told else ()
    return Relabelled(mapping.edges(edges), mapped, mapping.num_nodes, notes)


def _edges_with_ids(
    edges: StrPath | EdgeStream, relabel: Relabel, names: EdgeNames | None
) -> EdgeStream | IdText:
    found: EdgeStream | IdText
    if not isinstance(edges, str | os.PathLike):
        found = edges
    elif Path(edges).suffix == ".gl":
        raise InputError(f"{edges}: its ids are 0 to N - 1 already; leave --relabel out")
    elif has_stream(os.fspath(edges)):
        found = stream_edges(os.fspath(edges), names or EdgeNames())
    else:
        texts = None if relabel == "auto" else relabel == "text"
        found = edge_text(os.fspath(edges), names or EdgeNames(), texts)
    if relabel == "integer" and found.texts:
        raise InputError(f"{found.name}: found texts as ids, expected integers (--relabel integer)")
    if relabel == "text" and not found.texts:
        raise InputError(f"{found.name}: found integers as ids, expected texts (--relabel text)")
    return found


def _rows_with_ids(column: ColumnSource, texts: bool) -> RowStream | IdText:
    source = column.source
    if isinstance(source, str) and not has_stream(source):
        if column.role == "ids":
            return split_text(source, texts)
        if not column.text_has_ids:
            raise InputError(
                f"{source}: found lines without ids (--rows-in-order), expected them: with "
                "--relabel a line's place does not tell its node"
            )
        return node_text(source, texts)
    if isinstance(source, str):
        source = stream_rows(source, role=column.role, nan=column.nan)
    assert isinstance(source, RowStream)
    return split_with_ids(source) if column.role == "ids" else source


def _with_new_ids(
    column: ColumnSource, rows: dict[str, RowStream | IdText], mapping: Relabelling
) -> ColumnSource:
    if column.role == "edge":
        return column
    return column._replace(source=mapping.rows(rows[column.name]))
