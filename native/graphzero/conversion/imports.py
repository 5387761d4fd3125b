"""`graphzero.import_*`: datasets from files, folders and objects of other libraries.

All of them take the source first and the dataset to make second. They write a whole dataset
directory, which appears at `out` complete or not at all, and return a report of what they did. The
options they share:

undirected: store every edge both ways. direction: "in", "out" or "both", of a directed graph.
dedup: keep the first of the edges between two nodes. edge_ids: store the row number of each edge.
dtype: what floating columns become, such as "float16" or "bfloat16".
overwrite: replace the dataset at `out`.
memory, threads: limits of the work; the result does not depend on them.
progress: show progress on stderr.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from graphzero.base.progress import JobProgress, ShowProgress, no_progress
from graphzero.conversion.compile_graph import GraphOptions, StoredDirection
from graphzero.conversion.convert import ConversionReport, convert
from graphzero.conversion.import_arguments import (
    ColumnInput,
    check_object,
    check_paths,
    checked_texts,
    column_sources,
    relabel_kind,
)
from graphzero.conversion.inputs.names import EdgeNames
from graphzero.conversion.plan import (
    ColumnOptions,
    Plan,
    Relabel,
    WorkOptions,
    with_fill,
)
from graphzero.files.publish import StrPath

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from graphzero.conversion.compile_column import Number

__all__ = [
    "import_dgl",
    "import_files",
    "import_folder",
    "import_networkx",
    "import_pyg",
    "import_scipy",
]


class ImportOptions(TypedDict, total=False):
    """Options that every import takes, see above."""

    dtype: str | None
    overwrite: bool
    memory: int | None
    threads: int | None
    progress: bool


def import_files(
    edges: StrPath,
    out: StrPath,
    *,
    columns: Mapping[str, ColumnInput] | None = None,
    edge_columns: Mapping[str, ColumnInput] | None = None,
    splits: Mapping[str, StrPath] | None = None,
    dtypes: Mapping[str, str] | None = None,
    nodes: StrPath | None = None,
    id_column: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    relabel: Relabel | bool = False,
    separate_ids: bool = False,
    num_nodes: int | None = None,
    undirected: bool = False,
    direction: StoredDirection | None = None,
    dedup: bool = False,
    edge_ids: bool = False,
    nan: float | None = None,
    fill: Number | Mapping[str, Number] | None = None,
    missing: Sequence[str] = (),
    on_error: Literal["stop", "skip"] = "stop",
    **options: Unpack[ImportOptions],
) -> ConversionReport:
    """From files: text (also gzip or Zstandard), Parquet, Arrow, .npy and .npz, as for
    `graphzero convert`.

    columns, edge_columns: files with a row for each node or edge, by the name they get;
    "FILE#AGE,INCOME" takes columns of a table, and a list of names columns of `nodes` or of the
    table of edges: {"x": ["age", "income"], "city": ["city"]}.
    splits: files of node ids, or bool masks.
    dtypes: the type of a column, by its name: a type of numbers, "category", or "date[s]" for dates
    as seconds since 1970 (or D, ms, us, ns). Without one, several columns are float32, one of
    integers int64, one of texts a category.
    nodes: a table of nodes. id_column: the column of node ids in it and in other tables.
    source, target, weight: columns of the edges, by their names in a table or in the first line of
    text. Without them text goes by position: source, target and maybe weight.
    relabel: ids are any integers or texts; number the nodes and store these. "integer" or "text"
    says which, True looks at them.
    separate_ids: sources and targets are different things, such as users and items, also where
    their ids are equal: original ids become "user:7" and "item:7". Implies relabel.
    nan, fill: what NaN becomes in integer columns; what nodes without a row get. A dict of names
    says what everything becomes that is missing in a column, "mean" too.
    missing: texts that stand for a missing value, beside the empty one.
    on_error: "skip" leaves out bad lines of text, and the report counts them.
    Options: dtype, overwrite, memory, threads, progress.
    """
    check_paths("import_files(edges, out)", edges, out)
    found = column_sources(columns, edge_columns, splits, dtypes, {"node": nodes, "edge": edges})
    own_fill = fill if isinstance(fill, Mapping) else {}
    plan = Plan(
        edges,
        with_fill(
            [
                column if column.role == "edge" else column._replace(id_column=id_column)
                for column in found
            ],
            own_fill,
        ),
        num_nodes,
        relabel=relabel_kind(relabel) or ("auto" if separate_ids else None),
        separate_ids=separate_ids,
        nodes=None if nodes is None else os.fspath(nodes),
        id_column=id_column,
    )
    graph = plan.graph_options(
        undirected=undirected, direction=direction, dedup=dedup, edge_ids=edge_ids
    )
    names = EdgeNames(source, target, weight)
    general = None if isinstance(fill, Mapping) else fill
    return _run(
        "import_files",
        plan,
        out,
        graph,
        options,
        names,
        ColumnOptions(nan=nan, fill=general),
        WorkOptions(on_error=on_error, missing=checked_texts("missing", missing)),
    )


def import_folder(
    folder: StrPath,
    out: StrPath,
    *,
    undirected: bool = False,
    direction: StoredDirection | None = None,
    dedup: bool = False,
    edge_ids: bool = False,
    **options: Unpack[ImportOptions],
) -> ConversionReport:
    """From a folder in a known layout: what `export_dataset` wrote, an OGB node property dataset
    (its CSV files, or the archives of ogbn-papers100M), or plain .npy files, flat or as MAG240M and
    IGB ship them.

    Features become `x`, labels `y` (NaN becomes -1, and the report counts it), edge features
    `edge_attr`; splits keep their names. An export becomes the dataset that it came from.
    Options: dtype, overwrite, memory, threads, progress.
    """
    check_paths("import_folder(folder, out)", folder, out)
    from graphzero.conversion.inputs.layouts import plan_folder

    plan = plan_folder(str(folder))
    graph = plan.graph_options(
        undirected=undirected, direction=direction, dedup=dedup, edge_ids=edge_ids
    )
    return _run("import_folder", plan, out, graph, options)


def import_pyg(
    data: Any,
    out: StrPath,
    *,
    weight_attr: str | None = "edge_weight",
    direction: StoredDirection | None = None,
    **options: Unpack[ImportOptions],
) -> ConversionReport:
    """From a torch_geometric Data, or a dataset of one.

    Node and edge tensors become columns of their names, of any shape. A mask such as `train_mask`
    becomes a column, so that batches have it, and the split `train`: both "train" and "train_mask"
    name the seeds of a loader. e_id of a batch is the column of edge_index. What cannot be kept is
    told by a warning, by name and with the reason.
    weight_attr: the weights that samples can draw edges by, in float32; None for none. They are a
    column too where that has more: another type, another name.
    Options: dtype, overwrite, memory, threads, progress.
    """
    check_object("import_pyg(data, out)", data, out)
    from graphzero.conversion.inputs.objects import plan_pyg

    plan = plan_pyg(data, weight_attr)
    return _run(
        "import_pyg", plan, out, plan.graph_options(direction=direction, edge_ids=True), options
    )


def import_dgl(
    graph: Any,
    out: StrPath,
    *,
    direction: StoredDirection | None = None,
    **options: Unpack[ImportOptions],
) -> ConversionReport:
    """From a homogeneous DGL graph: ndata and edata become columns, `feat` and `label` become `x`
    and `y`, `train_mask` also the split `train`. Edges keep their ids.

    Options: dtype, overwrite, memory, threads, progress.
    """
    check_object("import_dgl(graph, out)", graph, out)
    from graphzero.conversion.inputs.objects import plan_dgl

    plan = plan_dgl(graph)
    return _run(
        "import_dgl", plan, out, plan.graph_options(direction=direction, edge_ids=True), options
    )


def import_scipy(
    matrix: Any,
    out: StrPath,
    *,
    columns: Mapping[str, Any] | None = None,
    weights: bool | None = None,
    undirected: bool = False,
    direction: StoredDirection | None = None,
    **options: Unpack[ImportOptions],
) -> ConversionReport:
    """From a square scipy sparse matrix: entry (i, j) is an edge from i to j.

    columns: arrays with a row for each node. weights: whether values are weights; None: if any of
    them is not 1. Options: dtype, overwrite, memory, threads, progress.
    """
    check_object("import_scipy(matrix, out)", matrix, out)
    from graphzero.conversion.inputs.objects import plan_scipy

    plan = plan_scipy(matrix, columns or {}, weights)
    graph = plan.graph_options(undirected=undirected, direction=direction)
    return _run("import_scipy", plan, out, graph, options)


def import_networkx(
    graph: Any,
    out: StrPath,
    *,
    columns: Sequence[str] = (),
    weight: str | None = None,
    direction: StoredDirection | None = None,
    **options: Unpack[ImportOptions],
) -> ConversionReport:
    """From a networkx graph, directed or not, also with parallel edges, whose nodes are int or str.

    columns: node attributes to take along, of numbers; no other is taken. Python's floats become
    float64, which torch's layers do not take: dtype="float32" is what most models want.
    weight: the edge attribute that is the weight; an edge without it weighs 1, as in networkx.
    Nodes that are not 0 to N - 1 are numbered in sorted order, and their names stored as original
    ids. Options: dtype, overwrite, memory, threads, progress.
    """
    check_object("import_networkx(graph, out)", graph, out)
    from graphzero.conversion.inputs.networkx_graph import plan_networkx

    plan = plan_networkx(graph, columns, weight)
    return _run("import_networkx", plan, out, plan.graph_options(direction=direction), options)


def _run(
    function: str,
    plan: Plan,
    out: StrPath,
    graph_options: GraphOptions,
    options: ImportOptions,
    names: EdgeNames | None = None,
    column_options: ColumnOptions | None = None,
    work: WorkOptions | None = None,
) -> ConversionReport:
    if plan.notes:
        warnings.warn(f"{function}(): " + "; ".join(plan.notes), stacklevel=3)
    for option in options:
        if option not in ImportOptions.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {option!r}")
    show_progress: ShowProgress = JobProgress if options.get("progress", False) else no_progress
    return convert(
        plan,
        out,
        graph_options=graph_options,
        column_options=(column_options or ColumnOptions())._replace(dtype=options.get("dtype")),
        work=(work or WorkOptions())._replace(
            memory=options.get("memory"),
            threads=options.get("threads"),
            overwrite=options.get("overwrite", False),
        ),
        edge_names=names,
        show_progress=show_progress,
    )
