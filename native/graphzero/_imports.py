"""`graphzero.import_*`: datasets from files, folders and objects of other libraries.

All of them write a whole dataset directory, which appears at `out` complete or not at all, and
return a report of what they did. The options they share:

undirected: store every edge both ways. direction: "in", "out" or "both", of a directed graph.
dedup: keep the first of the edges between two nodes. edge_ids: store the row number of each edge.
dtype: what floating columns become, such as "float16" or "bfloat16".
overwrite: replace the dataset at `out`.
memory, threads: limits of the work; the result does not depend on them.
progress: show progress on stderr.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphzero._compile_graph import Direction, GraphOptions
from graphzero._convert import (
    ColumnOptions,
    ColumnSource,
    ConversionReport,
    Plan,
    Relabel,
    Role,
    Work,
    convert,
    no_progress,
)
from graphzero._publish import StrPath

__all__ = [
    "import_dgl",
    "import_files",
    "import_folder",
    "import_networkx",
    "import_pyg",
    "import_scipy",
]


def import_files(
    out: StrPath,
    edges: StrPath,
    *,
    columns: Mapping[str, StrPath] | None = None,
    edge_columns: Mapping[str, StrPath] | None = None,
    splits: Mapping[str, StrPath] | None = None,
    dtypes: Mapping[str, str] | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    relabel: Relabel | bool = False,
    num_nodes: int | None = None,
    undirected: bool = False,
    direction: Direction = "both",
    dedup: bool = False,
    edge_ids: bool = False,
    dtype: str | None = None,
    nan: float | None = None,
    fill: float | None = None,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> ConversionReport:
    """From files: text (also gzip or Zstandard), Parquet, Arrow, .npy and .npz, as for
    `graphzero convert`.

    columns, edge_columns: files with a row for each node or edge, by the name they get.
    splits: files of node ids, or bool masks. dtypes: the type of a column, by its name.
    source, target, weight: columns of a table of edges.
    relabel: ids are any integers or texts; number the nodes and store these.
    nan, fill: what NaN becomes in integer columns; what nodes without a row get.
    """
    from graphzero._inputs.edges import EdgeNames

    roles: list[tuple[Role, Mapping[str, StrPath] | None]] = [
        ("node", columns), ("edge", edge_columns), ("ids", splits),
    ]  # fmt: skip
    sources = [
        ColumnSource(name, str(file), (dtypes or {}).get(name), role)
        for role, files in roles
        for name, file in (files or {}).items()
    ]
    names = EdgeNames(source, target, weight)
    return convert(
        edges,
        sources,
        out,
        graph_options=GraphOptions(undirected, direction, num_nodes, dedup, edge_ids),
        column_options=ColumnOptions(nan=nan, fill=fill, dtype=dtype),
        work=Work(memory, threads, "stop", overwrite),
        edge_names=names if names.given else None,
        relabel="auto" if relabel is True else relabel or None,
        show_progress=_progress(progress),
    )


def import_folder(
    folder: StrPath,
    out: StrPath,
    *,
    undirected: bool = False,
    direction: Direction = "both",
    dedup: bool = False,
    edge_ids: bool = False,
    dtype: str | None = None,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> ConversionReport:
    """From a folder in a known layout: an OGB node property dataset (its CSV files, or the archives
    of ogbn-papers100M), or plain .npy files, flat or as MAG240M and IGB ship them.

    Features become `x`, labels `y` (NaN becomes -1, and the report counts it), edge features
    `edge_attr`; splits keep their names.
    """
    from graphzero._inputs.layouts import plan_folder

    options = GraphOptions(undirected, direction, None, dedup, edge_ids)
    work = Work(memory, threads, "stop", overwrite)
    return _run(plan_folder(str(folder)), out, options, dtype, work, progress)


def import_pyg(
    data: Any,
    out: StrPath,
    *,
    direction: Direction = "both",
    dtype: str | None = None,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> ConversionReport:
    """From a torch_geometric Data, or a dataset of one.

    Node and edge tensors become columns of their names, `edge_weight` the weights of the edges, and
    `train_mask` the split `train`. e_id of a batch is the column of edge_index.
    """
    from graphzero._inputs.objects import plan_pyg

    options = GraphOptions(direction=direction, edge_ids=True)
    work = Work(memory, threads, "stop", overwrite)
    return _run(plan_pyg(data), out, options, dtype, work, progress)


def import_dgl(
    graph: Any,
    out: StrPath,
    *,
    direction: Direction = "both",
    dtype: str | None = None,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> ConversionReport:
    """From a homogeneous DGL graph: ndata and edata become columns, `feat` and `label` become `x`
    and `y`, `train_mask` the split `train`. Edges keep their ids."""
    from graphzero._inputs.objects import plan_dgl

    options = GraphOptions(direction=direction, edge_ids=True)
    work = Work(memory, threads, "stop", overwrite)
    return _run(plan_dgl(graph), out, options, dtype, work, progress)


def import_scipy(
    matrix: Any,
    out: StrPath,
    *,
    columns: Mapping[str, Any] | None = None,
    weights: bool | None = None,
    undirected: bool = False,
    direction: Direction = "both",
    dtype: str | None = None,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> ConversionReport:
    """From a square scipy sparse matrix: entry (i, j) is an edge from i to j.

    columns: arrays with a row for each node. weights: whether values are weights; None: if any of
    them is not 1.
    """
    from graphzero._inputs.objects import plan_scipy
    from graphzero._inputs.streams import array_rows

    plan = plan_scipy(matrix, weights)
    arrays = [ColumnSource(n, array_rows(n, values)) for n, values in (columns or {}).items()]
    options = GraphOptions(undirected, direction)
    work = Work(memory, threads, "stop", overwrite)
    return _run(plan._replace(columns=arrays), out, options, dtype, work, progress)


def import_networkx(
    graph: Any,
    out: StrPath,
    *,
    columns: Sequence[str] = (),
    weight: str | None = None,
    direction: Direction = "both",
    dtype: str | None = None,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> ConversionReport:
    """From a networkx graph, directed or not, whose nodes are int or str.

    columns: node attributes to take along. weight: the edge attribute that is the weight. Nodes
    that are not 0 to N - 1 are numbered in sorted order, and their names stored as original ids.
    """
    from graphzero._inputs.objects import plan_networkx

    options = GraphOptions(undirected=not graph.is_directed(), direction=direction)
    work = Work(memory, threads, "stop", overwrite)
    return _run(plan_networkx(graph, columns, weight), out, options, dtype, work, progress)


def _run(
    plan: Plan,
    out: StrPath,
    options: GraphOptions,
    dtype: str | None,
    work: Work,
    progress: bool,
) -> ConversionReport:
    return convert(
        plan.edges,
        plan.columns,
        out,
        graph_options=options._replace(num_nodes=plan.num_nodes),
        column_options=ColumnOptions(dtype=dtype),
        work=work,
        original_ids=plan.original_ids,
        show_progress=_progress(progress),
        notes=plan.notes,
    )


def _progress(shown: bool) -> Any:
    if not shown:
        return no_progress
    from graphzero._progress import JobProgress

    return JobProgress
