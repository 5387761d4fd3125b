"""`graphzero info PATH`: what a file or dataset holds: a summary, all details, or JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.text import count_text, counted_text, line_text, size_text, table_text
from graphzero.commands.convert_report import quantised_text
from graphzero.commands.values import summarize_values, values_text
from graphzero.files.column_file import ROLES
from graphzero.files.column_keys import is_column_directory
from graphzero.files.column_types import quantised_type
from graphzero.files.description import parse_description
from graphzero.files.paths import (
    GRAPH_FILE,
    DataFile,
    categories_file,
    datasets,
    files_of,
    open_file,
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=Path,
        metavar="PATH",
        help="a .gl or .gd file, a dataset, or a directory of datasets",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="all details: sections, fingerprints, cache"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    path: Path = args.path
    paths = [f for d in datasets(path) for f in files_of(d)] if path.is_dir() else [path]
    if args.json:
        print(json.dumps({"path": str(path), "files": [describe_file(p) for p in paths]}, indent=2))
        return 0
    for file in paths:
        info = describe_file(file)
        rows = _rows(info) if args.verbose else _summary_rows(info)
        heading = str(file) if args.verbose else f"{file}  {size_text(info['file_bytes'])}"
        print(f"{heading}\n{table_text(rows)}", flush=True)
    return 0


def describe_file(path: Path) -> dict[str, Any]:
    """Everything `info` knows about one file, ready for JSON."""
    file = _open(path)
    details = _topology(file) if isinstance(file, _engine.Topology) else _matrix(file, path)
    return {
        "path": str(path),
        "format": "version 1" if file.version else "GraphZero 0.2",
        **details,
        "file_bytes": file.file_bytes,
        "resident_bytes": file.resident_bytes(),
        "fingerprint": file.fingerprint.hex() if file.version else None,
        "sections": [
            {
                "name": s.name,
                "relation": s.relation,
                "dtype": s.dtype,
                "count": s.count,
                "bytes": s.stored_bytes,
            }
            for s in file.sections
        ],
    }


def _open(path: Path) -> DataFile:
    try:
        return open_file(path)
    except InputError as error:
        raise InputError(
            f"{path}: not a dataset file; graphzero convert --edges {path} --out DIR makes a "
            "dataset from it"
        ) from error


def _topology(graph: _engine.Topology) -> dict[str, Any]:
    facts = _flat_topology(graph) if not graph.typed else _typed_topology(graph)
    return {"kind": "topology", **facts, "time_unit": graph.time_unit or None}


def _typed_topology(graph: _engine.Topology) -> dict[str, Any]:
    return {
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "types": [
            {"name": t.name, "num_nodes": t.count, "times": _engine.node_time_range(graph, i)}
            for i, t in enumerate(graph.types)
        ],
        "relations": [_relation(graph, i) for i in range(len(graph.relations))],
    }


def _relation(graph: _engine.Topology, number: int) -> dict[str, Any]:
    relation, types = graph.relations[number], graph.types
    stored = [name for name, has in (("out", relation.has_out), ("in", relation.has_in)) if has]
    facts = {
        "source": types[relation.source].name,
        "name": relation.name,
        "target": types[relation.target].name,
        "num_edges": relation.num_edges,
        "view_of": relation.base if relation.is_view else None,
        "inverse": relation.inverse,
    }
    if relation.is_view:
        return facts
    return {
        **facts,
        "directions": stored,
        "symmetric": relation.symmetric,
        "multi_edges_dropped": relation.multi_edges_dropped,
        "weights": relation.has_weights,
        "weight_name": relation.weight_name or None,
        "edge_ids": relation.has_edge_ids,
        "times": _engine.edge_time_range(graph, number),
        "time_ordered": relation.time_ordered,
        "degrees": {name: _degrees(graph, name, number) for name in stored},
    }


def _flat_topology(graph: _engine.Topology) -> dict[str, Any]:
    stored = [name for name, has in (("out", graph.has_out), ("in", graph.has_in)) if has]
    return {
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "directions": stored,
        "symmetric": graph.symmetric,
        "sorted": graph.sorted,
        "multi_edges_dropped": graph.multi_edges_dropped,
        "weights": graph.has_weights,
        "weight_name": graph.weight_name or None,
        "edge_ids": graph.has_edge_ids,
        "times": graph.has_times,
        "time_ordered": graph.relations[0].time_ordered,
        "edge_times": _engine.edge_time_range(graph),
        "node_times": _engine.node_time_range(graph),
        "degrees": {name: _degrees(graph, name) for name in stored},
        "isolated_nodes": _engine.count_isolated(graph),
    }


def _degrees(graph: _engine.Topology, direction: str, relation: int = 0) -> dict[str, Any]:
    s = _engine.summarize_degrees(graph, direction, relation)
    return {
        "min": s.min,
        "median": s.median,
        "p99": s.p99,
        "max": s.max,
        "mean": s.mean,
        "histogram": [
            {"least": least, "most": most, "nodes": nodes}
            for (least, most), nodes in zip(_degree_classes(), s.histogram, strict=False)
        ],
    }


def _degree_classes() -> Iterator[tuple[int, int]]:
    """The least and the largest degree of each entry of DegreeSummary.histogram."""
    yield 0, 0
    for power in count():
        yield 1 << power, (2 << power) - 1


def _matrix(matrix: _engine.Matrix, path: Path) -> dict[str, Any]:
    shard = matrix.shard
    return {
        "kind": "matrix",
        "shard": None
        if shard is None
        else {
            "part": shard.part,
            "parts": shard.parts,
            "block_rows": shard.block_rows,
            "total_rows": shard.total_rows,
            "whole_fingerprint": shard.whole_fingerprint.hex(),
        },
        "dtype": matrix.dtype,
        "shape": [matrix.rows, *matrix.row_shape],
        "row_stride": matrix.row_stride,
        "role": ROLES[matrix.role],
        "quantisation": _quantisation(matrix),
        **parse_description(str(path), matrix.description)._asdict(),
        "values": summarize_values(matrix, path.name),
    }


def _quantisation(matrix: _engine.Matrix) -> dict[str, Any] | None:
    """Facts without scales and offsets, because each feature has its own."""
    if (found := matrix.quantisation) is None:
        return None
    return {
        "dtype": quantised_type(found.delivered),
        "largest_error": found.largest_error,
        "mean_error": found.mean_error,
        "clipped": found.clipped,
    }


def _quantised_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    facts = info["quantisation"]
    if facts is None:
        return []
    return [("stored", f"{facts['dtype']}, one byte a value, {quantised_text(facts)}")]


def _summary_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    """The most important facts about a file, shown without --verbose."""
    if info["kind"] == "matrix":
        rows = [_shape_row(info), *_quantised_rows(info), *_meaning_rows(info)]
        text = values_text(info)
        return [*rows, ("range", text)] if text else rows
    if "relations" in info:
        return _typed_rows(info)
    rows = [row for row in _topology_rows(info) if row[0] in ("nodes", "edges", "edge data")]
    rows += _time_rows(info)
    for name, degrees in info["degrees"].items():
        rows.append((f"{name}-degree", _degree_text(degrees)))
        rows.append(("", _histogram_text(degrees["histogram"])))
    if info["isolated_nodes"]:
        rows.append(_isolated_row(info))
    return rows


def _histogram_text(histogram: list[dict[str, int]]) -> str:
    """ "0: 12, 1: 40, 2-3: 77": nodes by degree."""
    return "nodes by degree: " + ", ".join(
        f"{_range_text(entry)}: {count_text(entry['nodes'])}"
        for entry in histogram
        if entry["nodes"]
    )


def _range_text(entry: dict[str, int]) -> str:
    least, most = entry["least"], entry["most"]
    return count_text(least) if least == most else f"{count_text(least)}-{count_text(most)}"


def _rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("format", f"{info['kind']}, {info['format']}")]
    if "relations" in info:
        rows += _typed_rows(info)
    else:
        rows += _topology_rows(info) if info["kind"] == "topology" else _matrix_rows(info)
    for section in info["sections"]:
        size = size_text(section["bytes"])
        rows.append(
            (_section_text(section), f"{count_text(section['count'])} {section['dtype']}, {size}")
        )
    cached = size_text(info["resident_bytes"])
    rows.append(("size", f"{size_text(info['file_bytes'])}, {cached} of it in the page cache"))
    rows.append(("fingerprint", info["fingerprint"] or "none: the format has no checksums"))
    return rows


def _typed_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    """Types, then relations with their degrees."""
    unit = info["time_unit"]
    rows = [
        ("nodes", f"{count_text(info['num_nodes'])} of {counted_text(len(info['types']), 'type')}"),
        ("edges", f"{count_text(info['num_edges'])} in stored relations"),
    ]
    for t in info["types"]:
        times = f", {_times_text(t['times'], unit)}" if t["times"] else ""
        rows.append((line_text(t["name"], 60), f"{counted_text(t['num_nodes'], 'node')}{times}"))
    for relation in info["relations"]:
        rows += _relation_rows(relation, info["relations"], unit)
    return rows


def _relation_rows(
    relation: dict[str, Any], relations: Sequence[dict[str, Any]], unit: str | None
) -> list[tuple[str, str]]:
    title = _relation_text(relation)
    if relation["view_of"] is not None:
        return [(title, f"view of {_relation_text(relations[relation['view_of']])}")]
    facts = [counted_text(relation["num_edges"], "edge")]
    if relation["symmetric"]:
        facts.append("symmetric")
    else:
        facts.append(" and ".join(f"{name}-edges" for name in relation["directions"]))
    facts += [name.replace("_", " ") for name in ("weights", "edge_ids") if relation[name]]
    if relation["times"]:
        facts.append(_times_text(relation["times"], unit))
    if relation["time_ordered"]:
        facts.append("rows in the order of time")
    if relation["inverse"] is not None:
        facts.append(f"inverse of {_relation_text(relations[relation['inverse']])}")
    rows = [(title, ", ".join(facts))]
    for name, degrees in relation["degrees"].items():
        rows.append((f"  {name}-degree", _degree_text(degrees)))
    return rows


def _relation_text(relation: dict[str, Any]) -> str:
    return "({})".format(
        ", ".join(line_text(relation[k], 60) for k in ("source", "name", "target"))
    )


def _times_text(times: tuple[int, int], unit: str | None) -> str:
    """ "times from 2013-01-01T05 to 2013-12-31T23", or numbers if their unit is not stated."""
    first, last = (_time_text(time, unit) for time in times)
    return f"times from {first} to {last}"


def _time_text(time: int, unit: str | None) -> str:
    if unit is None:
        return str(time)
    import numpy as np

    return str(np.array(time, f"datetime64[{unit}]"))


def _time_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    unit = info["time_unit"]
    return [
        (f"{what} times", _times_text(info[f"{what}_times"], unit).removeprefix("times "))
        for what in ("edge", "node")
        if info[f"{what}_times"]
    ]


def _section_text(section: dict[str, Any]) -> str:
    """A section's name, and the number of its relation or type unless that is 0."""
    number = section["relation"]
    return f"{section['name']} {number}" if number else str(section["name"])


def _topology_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    if info["symmetric"]:
        direction = "symmetric: the reverse of every edge is stored too"
    else:
        direction = " and ".join(f"{name}-edges" for name in info["directions"])
    present = [name for name in ("weights", "edge_ids", "times") if info[name]]
    order = "sorted by (neighbour, edge id)" if info["sorted"] else "in input order"
    if info["time_ordered"]:
        order = "in the order of time"
    rows = [
        ("nodes", count_text(info["num_nodes"])),
        ("edges", f"{count_text(info['num_edges'])}, {direction}"),
        ("edge data", ", ".join(present).replace("_", " ") or "none"),
        ("rows", order + (", multi-edges dropped" if info["multi_edges_dropped"] else "")),
    ]
    for name, d in info["degrees"].items():
        rows.append((f"{name}-degree", _degree_text(d)))
    rows.append(_isolated_row(info))
    return rows


def _degree_text(degrees: dict[str, Any]) -> str:
    return (
        f"min {count_text(degrees['min'])}, median {count_text(degrees['median'])}, "
        f"p99 {count_text(degrees['p99'])}, max {count_text(degrees['max'])}, "
        f"mean {degrees['mean']:.2f}"
    )


def _isolated_row(info: dict[str, Any]) -> tuple[str, str]:
    return "isolated", f"{counted_text(info['isolated_nodes'], 'node')} without a stored edge"


def _matrix_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        _shape_row(info),
        *_quantised_rows(info),
        *_meaning_rows(info),
        ("range", values_text(info) or "no values"),
        ("row stride", counted_text(info["row_stride"], "byte")),
    ]


def _shape_row(info: dict[str, Any]) -> tuple[str, str]:
    shape = " x ".join(count_text(n) for n in info["shape"])
    belongs = {
        "node": "one row per node",
        "edge": "one row per edge id",
        "ids": f"a list of {'edge' if _is_of_relation(Path(info['path'])) else 'node'} ids",
        "categories": "one row per category",
    }
    if "texts" in info["values"]:
        shape = (
            f"{counted_text(info['shape'][0], 'text')} of up to "
            f"{counted_text(info['shape'][1], 'byte')}"
        )
        return "values", f"{shape}, {belongs[info['role']]}"
    return "values", f"{shape} {info['dtype']}, {belongs[info['role']]}"


def _is_of_relation(column: Path) -> bool:
    """Whether a column lies in the directory of a relation, see files/column_keys.py."""
    directory = column.absolute().parent
    in_dataset = (directory.parent / GRAPH_FILE).exists() and not (directory / GRAPH_FILE).exists()
    return in_dataset and is_column_directory(directory.name) and "." in directory.name


def _meaning_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    """Rows about the meaning of the values, from the description in the file."""
    rows = []
    if (shard := info["shard"]) is not None:
        rows.append(
            (
                "part",
                f"{shard['part']} of {shard['parts']}, in blocks of "
                f"{count_text(shard['block_rows'])} of {count_text(shard['total_rows'])} rows in "
                "all",
            )
        )
    if info["columns"]:
        rows.append(("columns", _names_text(info["columns"])))
    if info["unit"] is not None:
        rows.append(("meaning", f"times in {info['unit']} since 1970-01-01T00:00:00Z"))
    if info["categories"]:
        column = Path(info["path"])
        dictionary = categories_file(column.parent, column.stem).name
        rows.append(("meaning", f"codes of {dictionary}, -1 where missing"))
    if info["order"] is not None:
        rows.append(("order", f"nodes by {info['order']}"))
    return rows


def _names_text(names: Sequence[str], most: int = 20) -> str:
    """The first `most` names in their order, and how many more there are."""
    shown = ", ".join(line_text(name, 60) for name in names[:most])
    return f"{shown} and {count_text(len(names) - most)} more" if len(names) > most else shown
