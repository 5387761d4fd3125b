"""Edges -> a topology file: `write_graph`, `convert_csv_to_gl`, and what `graphzero convert` uses.

This module imports little, because small conversions spend most of their time starting: NumPy is
imported only for arrays, and records are NamedTuples since dataclasses imports half of the standard
library.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.progress import Report
from graphzero.base.resources import make_resources
from graphzero.files.publish import StrPath, new_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from graphzero.conversion.inputs.names import EdgeNames
    from graphzero.conversion.inputs.streams import EdgeStream
    from graphzero.conversion.inputs.tables import Wanted
    from graphzero.conversion.inputs.texts import TextInput
    from graphzero.files.column_types import TimeUnit

StoredDirection = Literal["in", "out", "both"]


class GraphOptions(NamedTuple):
    """How to store the edges: the options of `graphzero convert`, and what the source states."""

    undirected: bool = False
    direction: StoredDirection = "both"
    num_nodes: int | None = None
    dedup: bool = False
    edge_ids: bool = False
    weight_name: str = ""  # name of the weights in the input
    node_times: npt.NDArray[np.int64] | None = None
    time_unit: str = ""  # unit of the times; empty: unknown

    @property
    def stated_unit(self) -> TimeUnit | None:
        return cast("TimeUnit | None", self.time_unit or None)

    def for_engine(self, *, symmetric_source: bool = False) -> _engine.TopologyOptions:
        out, in_ = stored_directions(self.direction)
        if self.num_nodes is not None and not 0 <= self.num_nodes < 2**63:
            raise ValueError(f"found num_nodes {self.num_nodes}, expected 0 to 2^63 - 1")
        return _engine.TopologyOptions.make(
            undirected=self.undirected,
            symmetric_source=symmetric_source,
            out=out,
            in_=in_,
            dedup=self.dedup,
            edge_ids=self.edge_ids,
            num_nodes=self.num_nodes,
            weight_name=self.weight_name,
            node_times=self.node_times,
            time_unit=self.time_unit,
        )


def stored_directions(direction: StoredDirection) -> tuple[bool, bool]:
    """Whether to store out-edges, and in-edges."""
    if direction not in ("in", "out", "both"):
        raise ValueError(f"found direction {direction!r}, expected 'in', 'out' or 'both'")
    return direction != "in", direction != "out"


class GraphReport(NamedTuple):
    """What became of the edges."""

    num_nodes: int
    num_edges: int
    input_rows: int
    dropped: int  # repeats that dedup removed
    skipped: int  # lines left out
    messages: tuple[str, ...]  # what was wrong with the first of them
    weight_name: str | None = None  # name of a text's third column, if it is unusual for weights
    guessed_ends: tuple[str, str] | None = None  # first columns, if nothing names the ends
    first_time: int | None = None  # of the earliest edge, if edges have times
    last_time: int | None = None
    time_unit: str = ""  # unit of these times; empty: unknown


def compile_edges(
    source: StrPath | EdgeStream,
    out_file: StrPath,
    options: GraphOptions,
    resources: _engine.Resources,
    *,
    names: EdgeNames | None = None,
    skip_errors: bool = False,
    missing: tuple[str, ...] = (),
    checked: Sequence[Wanted] = (),
    report: Report | None = None,
) -> GraphReport:
    """Compiles edges of any kind into `out_file`, which must not exist.

    `source` is a stream of edges or a file: text (also compressed), .npy, .npz, a table that
    pyarrow reads, or .gl. `names` are columns of a table or of text; `missing` are texts that stand
    for a missing value. `checked` are values that are read with the edges of a text; a line with a
    bad one is skipped.

    If it raises, an unfinished `out_file` may be left, so write to a place that nobody reads yet.
    """
    target = os.fspath(out_file)
    from graphzero.conversion.inputs.locations import has_stream
    from graphzero.conversion.inputs.names import EdgeNames
    from graphzero.conversion.inputs.options import ReadOptions
    from graphzero.conversion.inputs.texts import check_edge_header, text_input

    if not isinstance(source, str | os.PathLike):
        return _compile_stream(source, target, options, resources, report)
    name = os.fspath(source)
    names = names or EdgeNames()
    if Path(name).suffix == ".gl":
        if names.given:
            raise InputError(
                f"{name}: found names of columns (--source, --target, --weight, --time), which a "
                "graph does not have"
            )
        return _compile_topology(name, target, options, resources, report)
    reading = ReadOptions(missing, skip_errors, resources.threads, time_unit=options.stated_unit)
    if has_stream(name):
        from graphzero.conversion.inputs.edges import stream_edges

        stream = stream_edges(name, names, reading)
        return _compile_stream(stream, target, options, resources, report)
    if names.given or checked or Path(name).is_dir():
        from graphzero.conversion.inputs.edges import table_edges
        from graphzero.conversion.inputs.opening import edge_table

        limit = 2**63 if options.num_nodes is None else options.num_nodes
        table = edge_table(name, names, reading, texts=False)
        edges = table_edges(table, node_limit=limit, checked=checked)
        return _compile_stream(edges, target, options, resources, report)
    text = text_input(name)
    weight_name = check_edge_header(text)
    result = _compile_text(text, target, options, resources, skip_errors, report)
    return result._replace(weight_name=weight_name)


def write_graph(
    path: StrPath,
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    node_times: npt.ArrayLike | None = None,
    time_unit: str = "",
    num_nodes: int | None = None,
    undirected: bool = False,
    direction: StoredDirection = "both",
    dedup: bool = False,
    edge_ids: bool = False,
    overwrite: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
) -> None:
    """Writes a topology file from the ends of its edges.

    `src` and `dst` are integer arrays of one length (NumPy, also memory-mapped, lists or torch
    tensors); edge i goes from src[i] to dst[i]. `weights` are finite and not negative.

    `times` are when each edge came to be, `node_times` when each node did: integers on any scale,
    or datetime64, of which NaT is refused. `time_unit` (D, s, ms, us or ns since 1970) is the unit
    of integers; dates have their own unit. Rows of such a graph are in the order of time.

    `undirected` stores the reverse of every edge too (a self-loop once). `direction` says whether a
    directed graph stores its in-edges (for neighbour sampling), its out-edges (for walks) or both.
    `dedup` keeps the first of the edges between the same two nodes; of edges with times, only those
    at the same time are repeats. `edge_ids` stores i with each edge, for looking up edge columns.
    Without `num_nodes`, the number of nodes is that of the node times, or the largest id plus one.

    The file appears at `path` complete or not at all. `memory` bounds the working memory in bytes
    (default: a quarter of what is available); data that exceeds it goes to a temporary file beside
    `path`. The result depends on neither `memory` nor `threads`.
    """
    import numpy as np

    from graphzero.conversion.time_arrays import check_unit, time_array

    unit = check_unit(time_unit)
    edge_times, of_nodes = None, None
    if times is not None:
        edge_times, unit = time_array(times, "times", unit)
    if node_times is not None:
        of_nodes, unit = time_array(node_times, "node_times", unit)
        of_nodes = np.ascontiguousarray(of_nodes)
    options = GraphOptions(
        undirected, direction, num_nodes, dedup, edge_ids, node_times=of_nodes, time_unit=unit
    )
    weight_array = None if weights is None else np.asarray(weights, dtype=np.float32)
    with new_file(path, overwrite=overwrite) as draft:
        _compile_arrays(
            "edges",
            _integers(src, "src"),
            _integers(dst, "dst"),
            weight_array,
            edge_times,
            draft,
            options,
            make_resources(memory, threads, Path(draft).parent),
            None,
        )


def convert_csv_to_gl(csv_path: str, out_path: str, directed: bool = False) -> None:
    """Compiles an edge list in text form, as the function of GraphZero 0.2 did; `out_path` is
    replaced if it exists."""
    options = GraphOptions(undirected=not directed)
    with new_file(out_path, overwrite=True) as draft:
        compile_edges(csv_path, draft, options, make_resources(None, None, Path(draft).parent))


def _compile_topology(
    source: str,
    target: str,
    options: GraphOptions,
    resources: _engine.Resources,
    report: Report | None,
) -> GraphReport:
    graph = _engine.Topology.open(source)
    if graph.typed:
        raise InputError(f"{source}: found a graph of several types, expected one of a single type")
    if options.num_nodes is not None and options.num_nodes < graph.num_nodes:
        raise InputError(
            f"{source}: found {graph.num_nodes} nodes, expected at most --num-nodes "
            f"{options.num_nodes}"
        )
    kept = GraphOptions(
        undirected=options.undirected and not graph.symmetric,
        direction=options.direction,
        num_nodes=graph.num_nodes if options.num_nodes is None else options.num_nodes,
        dedup=options.dedup,
        edge_ids=options.edge_ids or graph.has_edge_ids,
        weight_name=options.weight_name or graph.weight_name,
        node_times=graph.node_times() if graph.types[0].has_times else None,
        time_unit=options.time_unit or graph.time_unit,
    )
    result = _engine.compile_topology(
        _engine.EdgeInput.graph(graph),
        target,
        options=kept.for_engine(symmetric_source=graph.symmetric),
        resources=resources,
        report=report,
    )
    return _graph_report(result)


def _compile_text(
    text: TextInput,
    target: str,
    options: GraphOptions,
    resources: _engine.Resources,
    skip_errors: bool,
    report: Report | None,
) -> GraphReport:
    edges = _engine.EdgeInput.text(
        text.path,
        open_stream=text.open,
        stored_bytes=text.stored_bytes,
        skip_errors=skip_errors,
    )
    result = _engine.compile_topology(
        edges, target, options=options.for_engine(), resources=resources, report=report
    )
    return _graph_report(result, edges.skipped, tuple(edges.messages))


def stream_input(stream: EdgeStream) -> _engine.EdgeInput:
    """The edges of a reader, as the engine takes them."""
    if stream.texts:
        raise InputError(
            f"{stream.name}: found texts as node ids, expected integers; --relabel numbers them"
        )
    return _engine.EdgeInput.chunks(
        stream.name,
        stream.open,
        place=stream.place,
        weighted=stream.weighted,
        timed=stream.timed,
        count=stream.count,
        bytes=stream.progress_bytes,
    )


def _compile_stream(
    stream: EdgeStream,
    target: str,
    options: GraphOptions,
    resources: _engine.Resources,
    report: Report | None,
) -> GraphReport:
    if stream.time_unit:
        options = options._replace(time_unit=stream.time_unit)
    result = _engine.compile_topology(
        stream_input(stream),
        target,
        options=options.for_engine(),
        resources=resources,
        report=report,
    )
    found = _graph_report(result)._replace(time_unit=options.time_unit)
    if stream.tally is not None:
        found = found._replace(skipped=stream.tally.skipped, messages=stream.tally.messages)
    return found._replace(guessed_ends=stream.ends) if stream.guessed else found


def _compile_arrays(
    name: str,
    src: npt.NDArray[np.integer[Any]],
    dst: npt.NDArray[np.integer[Any]],
    weights: npt.NDArray[np.float32] | None,
    times: npt.NDArray[np.int64] | None,
    target: str,
    options: GraphOptions,
    resources: _engine.Resources,
    report: Report | None,
) -> GraphReport:
    lengths = {"src": len(src), "dst": len(dst)}
    if weights is not None:
        if weights.ndim != 1:
            raise InputError(f"{name}: found weights of shape {weights.shape}, expected (E,)")
        lengths["weights"] = len(weights)
    if times is not None:
        lengths["times"] = len(times)
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{key} {value}" for key, value in lengths.items())
        raise InputError(f"{name}: found lengths {found}, expected them equal")
    result = _engine.compile_topology(
        _engine.EdgeInput.arrays(name, src, dst, weights, times),
        target,
        options=options.for_engine(),
        resources=resources,
        report=report,
    )
    return _graph_report(result)


def _integers(values: npt.ArrayLike, name: str) -> npt.NDArray[np.integer[Any]]:
    import numpy as np

    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(
            f"{name}: found {array.dtype} of shape {array.shape}, expected integers of shape (E,)"
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _graph_report(
    result: _engine.TopologyReport, skipped: int = 0, messages: tuple[str, ...] = ()
) -> GraphReport:
    return GraphReport(
        num_nodes=result.num_nodes,
        num_edges=result.num_edges,
        input_rows=result.input_rows,
        dropped=result.dropped,
        skipped=skipped,
        messages=messages,
        first_time=result.first_time,
        last_time=result.last_time,
    )
