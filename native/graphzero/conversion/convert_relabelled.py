"""The relabelling step of a conversion: everything that has ids gets new ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.edges import stream_edges, table_edges
from graphzero.conversion.inputs.locations import has_stream
from graphzero.conversion.inputs.names import EdgeNames
from graphzero.conversion.inputs.opening import edge_table, open_table
from graphzero.conversion.inputs.options import ReadOptions
from graphzero.conversion.inputs.relabel import ids_of_rows, write_original_ids
from graphzero.conversion.inputs.rows import id_column_of, open_rows, split_with_ids, table_ids
from graphzero.conversion.inputs.sides import Sides, overlap_note
from graphzero.conversion.inputs.streams import EdgeStream, RowStream
from graphzero.conversion.plan import ColumnOptions, ColumnSource, Plan, Relabel
from graphzero.files.paths import COLUMN_SUFFIX, ORIGINAL_IDS
from graphzero.files.publish import StrPath

if TYPE_CHECKING:
    from graphzero import _engine
    from graphzero.base.progress import Report
    from graphzero.conversion.compile_graph import GraphOptions
    from graphzero.conversion.inputs.tables import Wanted


class Relabelled(NamedTuple):
    """Edges and columns with new ids."""

    edges: EdgeStream
    columns: list[ColumnSource]
    num_nodes: int
    name_node: Callable[[int], str]  # what messages call a node
    notes: tuple[str, ...]
    node_times: RowStream | None


def with_new_ids(
    plan: Plan,
    graph_options: GraphOptions,
    column_options: ColumnOptions,
    directory: Path,
    resources: _engine.Resources,
    names: EdgeNames | None,
    reading: ReadOptions,
    checked: Sequence[Wanted],
    report: Report | None,
) -> Relabelled:
    """Gives everything new ids, and writes the original ones. `checked` are values that are read
    with the edges of a text; a line with a bad one is skipped."""
    if graph_options.num_nodes is not None:
        raise InputError("--num-nodes and --relabel exclude each other: the ids tell the number")
    assert plan.relabel is not None
    edges, ends, notes = _edges_with_ids(plan, plan.relabel, names, reading, checked)
    # With separate ids, all ids become texts such as "user:7", and lists of ids name the side
    # themselves.
    texts = edges.texts or plan.separate_ids
    sides = Sides(*ends) if plan.separate_ids else None
    if sides is not None:
        reading = reading._replace(ends=ends)
    rows = {
        column.name: _rows_with_ids(
            column.with_general(column_options), texts, column_options.dtype, reading
        )
        for column in plan.columns
        if column.role != "edge"
    }
    node_ids = plan.node_ids
    if plan.nodes is not None and not any(column.source == plan.nodes for column in plan.columns):
        node_ids = _ids_of_nodes(plan, texts, reading)
    if sides is not None:
        edges = sides.edges(edges)
        rows = {name: sides.rows(stream, stream.id_column) for name, stream in rows.items()}
        node_ids = None if node_ids is None else sides.rows(node_ids, node_ids.id_column)

    def side_of(stream: RowStream) -> int:
        return 0 if sides is None else sides.side_of(stream.id_column)

    own = [rows[column.name] for column in plan.columns if column.role == "node"]
    own += [] if node_ids is None else [node_ids]
    ids_file = directory / f"{ORIGINAL_IDS}{COLUMN_SUFFIX}"
    mapping = write_original_ids(
        ids_file,
        edges,
        [ids_of_rows(stream, side_of(stream)) for stream in own],
        resources,
        report,
    )
    notes += tuple(
        f"{Path(edges.name).name}: {word!r} is a node; if it stands for a missing id, --missing "
        f"{word} --on-error skip leaves out its lines"
        for word in mapping.words_for_nothing
    )
    if sides is not None:
        notes += (sides.note(mapping.counts),)
    else:
        notes += overlap_note(Path(edges.name).name, ends, mapping.counts)
    mapped = [
        column if column.role == "edge" else column._replace(source=mapping.rows(rows[column.name]))
        for column in plan.columns
    ]
    times = None if plan.node_times is None else mapping.rows(plan.node_times)
    relabelled = mapping.edges(edges)
    return Relabelled(relabelled, mapped, mapping.num_nodes, mapping.name_of, notes, times)


def _edges_with_ids(
    plan: Plan,
    relabel: Relabel,
    names: EdgeNames | None,
    reading: ReadOptions,
    checked: Sequence[Wanted],
) -> tuple[EdgeStream, tuple[str, str], tuple[str, ...]]:
    """The edges, what their two ends are called, and notes for the user."""
    edges: StrPath | EdgeStream = plan.edges
    notes: tuple[str, ...] = ()
    ends = ("source", "target")
    if not isinstance(edges, str | os.PathLike):
        found = edges
    elif Path(edges).suffix == ".gl":
        raise InputError(f"{edges}: its ids are 0 to N - 1 already; leave --relabel out")
    elif has_stream(os.fspath(edges)):
        found = stream_edges(
            os.fspath(edges), names or EdgeNames(), reading, same_kind=not plan.separate_ids
        )
        ends = found.ends or ends
    else:
        texts = None if relabel == "auto" else relabel == "text"
        table = edge_table(os.fspath(edges), names or EdgeNames(), reading, texts)
        if plan.separate_ids:  # all ids become texts, and the two sides may differ in kind
            table = table._replace(texts=True)
        found = table_edges(table, checked=checked)
        ends = found.ends or ends
        label = Path(edges).name
        # One id that is no integer makes all ids texts, which the user may not have meant.
        if found.texts and relabel == "auto" and not plan.separate_ids:
            notes += (f"{label}: ids are text",)
        if table.first_line:
            notes += (
                f"{label}: a first line ({table.first_line}) counts as an edge; if it names the "
                "columns, say so with --source and --target",
            )
    if relabel == "integer" and found.texts:
        raise InputError(f"{found.name}: found texts as ids, expected integers (--relabel integer)")
    if relabel == "text" and not found.texts:
        raise InputError(f"{found.name}: found integers as ids, expected texts (--relabel text)")
    return found, ends, notes


def _ids_of_nodes(plan: Plan, texts: bool, reading: ReadOptions) -> RowStream:
    """The ids of a table of nodes from which nothing else is taken."""
    table = open_table(str(plan.nodes), reading)
    column = id_column_of(table, plan.id_column, reading)
    if column is None:
        raise InputError(
            f"{table.name}: found no column of ids, expected one; --id-column names it"
        )
    return table_ids(table, column, None if table.says_kinds else texts)


def _rows_with_ids(
    column: ColumnSource, texts: bool, float_dtype: str | None, reading: ReadOptions
) -> RowStream:
    source = column.source
    if isinstance(source, str):
        rows = open_rows(column, reading, float_dtype=float_dtype, texts=texts).rows
        assert isinstance(rows, RowStream)
        source = rows
    assert isinstance(source, RowStream)
    return split_with_ids(source) if column.role == "ids" else source
