"""`graphzero info PATH`: what a file or dataset holds: a summary, all details, or JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from graphzero import _engine
from graphzero.base.text import count_text, line_text, size_text, table_text
from graphzero.commands.values import summarize_values, values_text
from graphzero.files.column_file import ROLES
from graphzero.files.description import parse_description
from graphzero.files.paths import categories_file, datasets, files_of, open_file


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", type=Path, metavar="PATH", help="a .gl or .gd file, a dataset, or several in one"
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
    file = open_file(path)
    details = _topology(file) if isinstance(file, _engine.Topology) else _matrix(file, path)
    return {
        "path": str(path),
        "format": "version 1" if file.version else "GraphZero 0.2",
        **details,
        "file_bytes": file.file_bytes,
        "resident_bytes": file.resident_bytes(),
        "fingerprint": file.fingerprint.hex() if file.version else None,
        "sections": [
            {"name": s.name, "dtype": s.dtype, "count": s.count, "bytes": s.stored_bytes}
            for s in file.sections
        ],
    }


def _topology(graph: _engine.Topology) -> dict[str, Any]:
    stored = [name for name, has in (("out", graph.has_out), ("in", graph.has_in)) if has]
    return {
        "kind": "topology",
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
        "degrees": {name: _degrees(graph, name) for name in stored},
        "isolated_nodes": _engine.count_isolated(graph),
    }


def _degrees(graph: _engine.Topology, direction: str) -> dict[str, Any]:
    s = _engine.summarize_degrees(graph, direction)
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
    return {
        "kind": "matrix",
        "dtype": matrix.dtype,
        "shape": [matrix.rows, *matrix.row_shape],
        "row_stride": matrix.row_stride,
        "role": ROLES[matrix.role],
        **parse_description(str(path), matrix.description)._asdict(),
        "values": summarize_values(matrix, path.name),
    }


def _summary_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    """What one wants to know of data first."""
    if info["kind"] == "matrix":
        rows = [_shape_row(info), *_meaning_rows(info)]
        text = values_text(info)
        return [*rows, ("range", text)] if text else rows
    rows = _topology_rows(info)[:3]
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
    rows += _topology_rows(info) if info["kind"] == "topology" else _matrix_rows(info)
    for section in info["sections"]:
        size = size_text(section["bytes"])
        rows.append((section["name"], f"{count_text(section['count'])} {section['dtype']}, {size}"))
    cached = size_text(info["resident_bytes"])
    rows.append(("size", f"{size_text(info['file_bytes'])}, {cached} of it in the page cache"))
    rows.append(("fingerprint", info["fingerprint"] or "none: the format has no checksums"))
    return rows


def _topology_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    if info["symmetric"]:
        direction = "symmetric: the reverse of every edge is stored too"
    else:
        direction = " and ".join(f"{name}-edges" for name in info["directions"])
    present = [name for name in ("weights", "edge_ids", "times") if info[name]]
    order = "sorted by (neighbour, edge id)" if info["sorted"] else "in input order"
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
    return "isolated", f"{count_text(info['isolated_nodes'])} nodes without a stored edge"


def _matrix_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        _shape_row(info),
        *_meaning_rows(info),
        ("range", values_text(info) or "no values"),
        ("row stride", f"{count_text(info['row_stride'])} bytes"),
    ]


def _shape_row(info: dict[str, Any]) -> tuple[str, str]:
    shape = " x ".join(count_text(n) for n in info["shape"])
    belongs = {
        "node": "one row per node",
        "edge": "one row per edge id",
        "ids": "a list of node ids",
        "categories": "one row per category",
    }
    if "texts" in info["values"]:
        shape = (
            f"{count_text(info['shape'][0])} texts of up to {count_text(info['shape'][1])} bytes"
        )
        return "values", f"{shape}, {belongs[info['role']]}"
    return "values", f"{shape} {info['dtype']}, {belongs[info['role']]}"


def _meaning_rows(info: dict[str, Any]) -> list[tuple[str, str]]:
    """What the file says about its values."""
    rows = []
    if info["columns"]:
        rows.append(("columns", _names_text(info["columns"])))
    if info["unit"] is not None:
        rows.append(("meaning", f"times in {info['unit']} since 1970-01-01T00:00:00Z"))
    if info["categories"]:
        column = Path(info["path"])
        dictionary = categories_file(column.parent, column.stem).name
        rows.append(("meaning", f"codes of {dictionary}, -1 for none"))
    return rows


def _names_text(names: Sequence[str], most: int = 20) -> str:
    """In their order; of many the first."""
    shown = ", ".join(line_text(name, 60) for name in names[:most])
    return f"{shown} and {count_text(len(names) - most)} more" if len(names) > most else shown
