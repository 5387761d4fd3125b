"""The graph of a dataset with new numbers for its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graphzero import _engine
from graphzero.base.progress import ShowProgress

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from graphzero.conversion.inputs.streams import RowChunk
    from graphzero.conversion.times_file import TimesFile


def reorder_graph(
    graph: _engine.Topology,
    target: Path,
    numbers: _engine.NodeOrder,
    resources: _engine.Resources,
    show_progress: ShowProgress,
) -> None:
    """Compiles the same edges between the new numbers into `target`, which must not exist. The
    properties of the graph, and which sections it stores, stay the same."""
    times = [_moved_times(graph, n, numbers, resources, show_progress) for n in _types(graph)]
    with show_progress(target.name) as report:
        if graph.typed:
            _compile_typed(graph, target, numbers, times, resources, report)
            return
        relation = graph.relations[0]
        _engine.compile_topology(
            _engine.EdgeInput.graph(graph, order=numbers),
            str(target),
            options=_engine.TopologyOptions.make(
                undirected=False,
                symmetric_source=graph.symmetric,
                out=graph.has_out,
                in_=graph.has_in,
                dedup=False,
                distinct_source=relation.multi_edges_dropped,
                edge_ids=graph.has_edge_ids,
                num_nodes=graph.num_nodes,
                weight_name=graph.weight_name,
                node_times=None if times[0] is None else times[0].times,
                time_unit=graph.time_unit,
            ),
            resources=resources,
            report=report,
        )


def _types(graph: _engine.Topology) -> range:
    return range(len(graph.types))


def _compile_typed(
    graph: _engine.Topology,
    target: Path,
    numbers: _engine.NodeOrder,
    times: list[TimesFile | None],
    resources: _engine.Resources,
    report: object,
) -> None:
    relations = graph.relations
    stored = [n for n, relation in enumerate(relations) if not relation.is_view]
    _engine.compile_typed_topology(
        str(target),
        types=[
            _engine.TypeSpec.make(kind.name, kind.count, None if own is None else own.times)
            for kind, own in zip(graph.types, times, strict=True)
        ],
        relations=[
            _engine.RelationSpec.make(
                relations[n].source,
                relations[n].name,
                relations[n].target,
                _engine.EdgeInput.graph(graph, n, order=numbers),
                symmetric_source=relations[n].symmetric,
                out=relations[n].has_out,
                in_=relations[n].has_in,
                distinct_source=relations[n].multi_edges_dropped,
                edge_ids=relations[n].has_edge_ids,
                weight_name=relations[n].weight_name,
            )
            for n in stored
        ],
        views=[(relation.name, relation.base) for relation in relations if relation.is_view],
        inverses=[
            (n, inverse)
            for n in stored
            if (inverse := relations[n].inverse) is not None and n < inverse
        ],
        time_unit=graph.time_unit,
        resources=resources,
        report=report,
    )


def _moved_times(
    graph: _engine.Topology,
    type_number: int,
    numbers: _engine.NodeOrder,
    resources: _engine.Resources,
    show_progress: ShowProgress,
) -> TimesFile | None:
    """The times of a type's nodes in their new order."""
    found = graph.types[type_number]
    if not found.has_times:
        return None
    from graphzero.conversion.inputs.streams import RowChunk, RowStream, rows_per_chunk
    from graphzero.conversion.times_file import TimesFile

    times: npt.NDArray[np.int64] = graph.node_times(type_number)
    places = numbers.numbers(type_number)

    def chunks() -> Iterator[RowChunk]:
        step = rows_per_chunk(16)
        for first in range(0, len(times), step):
            piece = slice(first, first + step)
            yield RowChunk(places[piece].astype("int64"), times[piece])

    stream = RowStream("times of nodes", chunks, (), "int64", rows=found.count, has_ids=True)
    return TimesFile(stream, found.count, resources, show_progress)
