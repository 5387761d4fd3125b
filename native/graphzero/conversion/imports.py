"""`graphzero.import_*`: datasets from files, folders and objects of other libraries.

All of them take the source first and the dataset to make second. They write a whole dataset
directory, which appears at `out` complete or not at all, and return a report of what they did. The
options they share:

undirected: store every edge both ways. direction: "in", "out" or "both", of a directed graph.
dedup: keep the first of the edges between two nodes, with times the first at each time.
edge_ids: store the row number of each edge.
dtype: the type of floating columns, such as "float16" or "bfloat16"; "q8" (also "int8") stores
features in one byte each, which are float32 again when they are read; see quantise().
ranges: the lowest and the highest value of q8 columns, by name; other ranges are measured.
order: "community" or "degree" puts the nodes into an order that needs fewer reads, see reorder().
overwrite: replace the dataset at `out`.
memory, threads: limits of the work, memory in bytes or as a text such as "1G"; the result does not
depend on them.
progress: show progress on stderr.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from graphzero.conversion.ordering import ConvertOrder
from graphzero.conversion.plan import (
    ColumnOptions,
    Plan,
    Relabel,
    WorkOptions,
    with_fill,
)
from graphzero.files.column_types import TIME_UNITS, TimeUnit, general_float_type
from graphzero.files.publish import StrPath

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from graphzero.conversion.compile_column import Number
    from graphzero.conversion.typed_plan import RelationKey, TypedConversionReport, TypedSource

__all__ = [
    "import_dgl",
    "import_files",
    "import_folder",
    "import_networkx",
    "import_pyg",
    "import_scipy",
    "import_tables",
]


class ImportOptions(TypedDict, total=False):
    """Options that every import takes, see above."""

    dtype: str | None
    order: ConvertOrder
    ranges: Mapping[str, tuple[float, float]]
    overwrite: bool
    memory: int | str | None
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
    time: str | None = None,
    time_unit: TimeUnit | None = None,
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

    columns, edge_columns: files with a row for each node or edge, by the name of the new column;
    "FILE#AGE,INCOME" takes columns of a table, and a list of names takes columns of `nodes` or of
    the table of edges: {"x": ["age", "income"], "city": ["city"]}.
    splits: files of node ids, or bool masks.
    dtypes: the type of a column, by its name: a type of numbers, "category", or "date[s]" for dates
    as seconds since 1970 (or D, ms, us, ns). Without one, several columns are float32, one of
    integers int64, one of texts a category.
    nodes: a table of nodes. id_column: the column of node ids in it and in other tables.
    source, target, weight: columns of the edges, by their names in a table or in the first line of
    text. Without them text goes by position: source, target and maybe weight.
    time: the column that tells when an edge came to be, for samples by time: integers or dates.
    Implies edge_ids. time_unit: the unit of its integers, which count from 1970 (D, s, ms, us or
    ns), and the unit that dates are rounded down to; None: that of the dates, for text seconds.
    relabel: ids are any integers or texts; number the nodes and store these ids. "integer" or
    "text" states their kind, True detects it.
    separate_ids: sources and targets are different things, such as users and items, also where
    their ids are equal: original ids become "user:7" and "item:7". Implies relabel.
    nan: the value for NaN in integer columns. fill: the value for nodes without a row; or a dict
    with a value, or "mean", by name of a column, for everything that is missing in that column.
    missing: texts that stand for a missing value, beside the empty one.
    on_error: "skip" leaves out bad lines of text, and the report counts them.
    Options: dtype, ranges, order, overwrite, memory, threads, progress.
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
        time_unit=_checked_unit(time_unit) or "",
    )
    if time_unit is not None and time is None:
        raise ValueError(
            f"found time_unit {time_unit!r}, expected time, a column of edges, with it"
        )
    graph = plan.graph_options(
        undirected=undirected, direction=direction, dedup=dedup, edge_ids=edge_ids
    )
    names = EdgeNames(source, target, weight, time)
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


def import_tables(
    tables: StrPath | Mapping[str, Any],
    out: StrPath,
    *,
    time_unit: TimeUnit | None = None,
    missing_texts: Sequence[str] = (),
    inverses: Mapping[RelationKey, RelationKey] | None = None,
    **options: Unpack[ImportOptions],
) -> TypedConversionReport:
    """From tables whose rows refer to each other: a dataset with types.

    tables: the path of a TOML file, or a dict of tables by name, each as the TOML file would have
    it: {"flights": {"file": "flights.csv", "time": "time_hour", "references": {"origin":
    "airports"}}, "airports": {"data": frame, "key": "faa", "features": ["lat", "lon"]}}. `data` is
    a table of pyarrow, pandas or Polars, or a dict of arrays.
    time_unit: the unit of all times, D, s, ms, us or ns since 1970; None: the finest unit that the
    tables have.
    missing_texts: texts that stand for a missing value, beside the empty one.
    inverses: as in import_pyg(): relations of two tables that have each other's edges in reverse.
    Options: dtype, ranges, order, overwrite, memory, threads, progress.
    """
    from graphzero.conversion.tables.describe import (
        as_description,
        describe_tables,
        read_description,
    )
    from graphzero.conversion.tables.source import TablesSource

    if isinstance(tables, str | os.PathLike):
        check_paths("import_tables(tables, out)", tables, out)
        description = read_description(tables)
    else:
        if not isinstance(out, str | os.PathLike):
            raise TypeError(
                f"import_tables(tables, out): found {type(out).__name__}, expected the path of the "
                "dataset to make"
            )
        description = describe_tables(as_description(tables), name="import_tables()")
    if time_unit is not None:
        description = replace(description, time_unit=_checked_unit(time_unit))
    if inverses is not None:
        description = replace(description, inverses=inverses)
    work = WorkOptions(missing=checked_texts("missing_texts", missing_texts))
    return _run_typed("import_tables", TablesSource(description), out, options, work)


def _checked_unit(unit: TimeUnit | None) -> TimeUnit | None:
    if unit is not None and unit not in TIME_UNITS:
        known = ", ".join(TIME_UNITS)
        raise ValueError(f"time_unit: found {unit!r}, expected one of {known}")
    return unit


def import_folder(
    folder: StrPath,
    out: StrPath,
    *,
    undirected: bool = False,
    direction: StoredDirection | None = None,
    dedup: bool = False,
    edge_ids: bool = False,
    reverse: bool = True,
    time: str | None = None,
    **options: Unpack[ImportOptions],
) -> ConversionReport | TypedConversionReport:
    """From a folder in a known layout: what `export_dataset` wrote, an OGB node property dataset
    (its CSV files, or the archives of ogbn-papers100M), with types or without, the tables of a
    RelBench dataset, or plain .npy files, flat or as MAG240M and IGB ship them.

    Features become `x`, labels `y` (NaN becomes -1, and the report counts it), edge features
    `edge_attr`; splits keep their names. An export becomes the dataset that it came from.
    reverse: of datasets with types, relations get a reverse, and one within a type becomes
    symmetric. time: the column of nodes of an OGB dataset with types that has their times, such as
    "node_year".
    Options: dtype, ranges, order, overwrite, memory, threads, progress.
    """
    check_paths("import_folder(folder, out)", folder, out)
    from graphzero.conversion.inputs.layouts import plan_folder, typed_folder

    typed = typed_folder(str(folder), reverse=reverse, time=time)
    if typed is not None:
        if undirected or direction or dedup or edge_ids:
            raise ValueError(
                "undirected, direction, dedup and edge_ids are for datasets of one type, found "
                f"{os.fspath(folder)} with several"
            )
        return _run_typed("import_folder", typed, out, options)
    if time is not None:
        raise ValueError(f"time is {time!r}, which is for datasets with types")
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
    time: str | None = None,
    direction: StoredDirection | None = None,
    inverses: Mapping[RelationKey, RelationKey] | None = None,
    **options: Unpack[ImportOptions],
) -> ConversionReport | TypedConversionReport:
    """From a torch_geometric Data or HeteroData, or a dataset of one.

    Node and edge tensors become columns of their names, of any shape. A mask such as `train_mask`
    becomes a column, so that batches have it, and the split `train`: both "train" and "train_mask"
    name the seeds of a loader. e_id of a batch is the column of edge_index. A warning names what
    cannot be kept, with the reason.
    weight_attr: the weights that samples can draw edges by, in float32; None for none. They are
    also a column if their type is not float32 or their name is not edge_weight.
    time: the attribute with the times of nodes and edges, for sampling by time; for edges also the
    attribute with `edge_` before that name. It stays a column.
    inverses: {relation: relation}, of HeteroData: relations that have each other's edges in
    reverse, so that loaders leave out the edges of links in both. Relations whose edges are the
    same are found without it, whatever their names and their order; a pair that is named here and
    does not have the same edges is an error. A warning names relations that share edges but are no
    inverses.
    Options: dtype, ranges, order, overwrite, memory, threads, progress.
    """
    check_object("import_pyg(data, out)", data, out)
    from graphzero.conversion.inputs.objects import is_hetero_data, plan_pyg, pyg_graph

    data = pyg_graph(data)
    if is_hetero_data(data):
        from graphzero.conversion.inputs.typed_objects import plan_hetero_data

        if direction is not None:
            raise ValueError("direction is for graphs of one type, expected none for HeteroData")
        source = plan_hetero_data(data, weight_attr, time, inverses)
        return _run_typed("import_pyg", source, out, options)
    _refuse_inverses(inverses, "HeteroData")
    plan = plan_pyg(data, weight_attr, time)
    return _run(
        "import_pyg", plan, out, plan.graph_options(direction=direction, edge_ids=True), options
    )


def import_dgl(
    graph: Any,
    out: StrPath,
    *,
    time: str | None = None,
    direction: StoredDirection | None = None,
    inverses: Mapping[RelationKey, RelationKey] | None = None,
    **options: Unpack[ImportOptions],
) -> ConversionReport | TypedConversionReport:
    """From a DGL graph: ndata and edata become columns, `feat` and `label` become `x` and `y`,
    `train_mask` also the split `train`. Edges keep their ids.

    time: what ndata and edata call the times of nodes and edges, for sampling by time.
    inverses: of heterographs, as in import_pyg(): relations that have each other's edges in
    reverse. Those whose edges are the same are found without it.
    Options: dtype, ranges, order, overwrite, memory, threads, progress.
    """
    check_object("import_dgl(graph, out)", graph, out)
    from graphzero.base.extras import import_extra
    from graphzero.conversion.inputs.objects import plan_dgl

    import_extra("dgl", "dgl", "a DGL graph needs DGL")
    if not graph.is_homogeneous:
        from graphzero.conversion.inputs.typed_objects import plan_heterograph

        if direction is not None:
            raise ValueError("direction is for graphs of one type, expected none for several")
        source = plan_heterograph(graph, time, inverses)
        return _run_typed("import_dgl", source, out, options)
    _refuse_inverses(inverses, "a heterograph")
    plan = plan_dgl(graph, time)
    return _run(
        "import_dgl", plan, out, plan.graph_options(direction=direction, edge_ids=True), options
    )


def _refuse_inverses(inverses: Any, expected: str) -> None:
    if inverses is not None:
        raise ValueError(
            f"inverses: found a graph of one type, expected {expected}: a graph without types has "
            "no relations"
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
    them is not 1. Options: dtype, ranges, order, overwrite, memory, threads, progress.
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

    columns: the node attributes to import, which must be numbers; others are left out. Python's
    floats become float64, which torch's layers do not take: dtype="float32" is what most models
    want.
    weight: the edge attribute that is the weight; an edge without it weighs 1, as in networkx.
    Nodes that are not 0 to N - 1 are numbered in sorted order, and their names stored as original
    ids. Options: dtype, ranges, order, overwrite, memory, threads, progress.
    """
    check_object("import_networkx(graph, out)", graph, out)
    from graphzero.conversion.inputs.networkx_graph import plan_networkx

    plan = plan_networkx(graph, columns, weight)
    return _run("import_networkx", plan, out, plan.graph_options(direction=direction), options)


def _run_typed(
    function: str,
    source: TypedSource,
    out: StrPath,
    options: ImportOptions,
    work: WorkOptions | None = None,
) -> TypedConversionReport:
    from graphzero.conversion.convert_typed import convert_typed
    from graphzero.conversion.typed_plan import PlannedSource

    _check_options(function, options)
    planned = source.planned if isinstance(source, PlannedSource) else None
    if planned is not None and (planned.notes or planned.cautions):
        told = "; ".join((*planned.notes, *planned.cautions))
        warnings.warn(f"{function}(): {told}", stacklevel=3)
    report = convert_typed(
        source,
        out,
        column_options=_column_options(ColumnOptions(), options),
        work=_work(work, options),
        order=options.get("order", "none"),
        show_progress=_progress(options),
    )
    if planned is None and report.cautions:
        warnings.warn(f"{function}(): {'; '.join(report.cautions)}", stacklevel=3)
    return report


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
    _check_options(function, options)
    return convert(
        plan,
        out,
        graph_options=graph_options,
        column_options=_column_options(column_options or ColumnOptions(), options),
        work=_work(work, options),
        edge_names=names,
        order=options.get("order", "none"),
        show_progress=_progress(options),
    )


def _check_options(function: str, options: ImportOptions) -> None:
    for option in options:
        if option not in ImportOptions.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {option!r}")


def _column_options(own: ColumnOptions, options: ImportOptions) -> ColumnOptions:
    dtype = options.get("dtype")
    try:
        asked = None if dtype is None else general_float_type(dtype)
    except ValueError as error:
        raise ValueError(f"dtype: {error}") from None
    return own._replace(dtype=asked, ranges=dict(options.get("ranges", {})))


def _work(work: WorkOptions | None, options: ImportOptions) -> WorkOptions:
    return (work or WorkOptions())._replace(
        memory=options.get("memory"),
        threads=options.get("threads"),
        overwrite=options.get("overwrite", False),
    )


def _progress(options: ImportOptions) -> ShowProgress:
    return JobProgress if options.get("progress", False) else no_progress
