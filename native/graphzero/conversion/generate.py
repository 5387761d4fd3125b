"""Synthetic datasets of any size, for trying things out and for benchmarks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graphzero import _engine
from graphzero.base.progress import JobProgress, Report, no_progress
from graphzero.base.resources import make_resources
from graphzero.conversion.plan import ColumnOptions, WorkOptions
from graphzero.files.column_types import QUANTISED, general_float_type, unquantised
from graphzero.files.publish import StrPath, new_dataset

if TYPE_CHECKING:
    from graphzero.conversion.typed_plan import TypedConversionReport


@dataclass(frozen=True)
class SyntheticDataset:
    """What to generate. Equal values give equal bytes, on any machine."""

    nodes: int
    edges: int
    """Undirected edges; the graph stores both directions of each."""
    dim: int = 128
    classes: int = 16
    seed: int = 0
    dtype: str = "float32"
    """Of the features: float32, float16, bfloat16, q8 or q8[float16]."""


@dataclass(frozen=True)
class GenerationReport:
    """What `generate` wrote."""

    path: Path
    num_nodes: int
    num_edges: int
    """Stored edges: an undirected edge counts twice, as in Graph.num_edges."""
    files: dict[str, int]
    """Bytes of each file, by its name."""
    seconds: float
    num_types: int = 1
    num_relations: int = 1
    dim: int | None = None
    """Features of a node; None for a dataset with a schema, as `classes`."""
    classes: int | None = None


def generate(
    out: StrPath,
    *,
    nodes: int | None = None,
    edges: int | None = None,
    dim: int | None = None,
    classes: int | None = None,
    schema: StrPath | Mapping[str, Any] | None = None,
    scale: float | None = None,
    seed: int = 0,
    dtype: Literal["float32", "float16", "bfloat16", "q8", "q8[float16]", "int8"] = "float32",
    overwrite: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> GenerationReport:
    """Writes a synthetic dataset to the directory `out`, as `graphzero generate` does.

    It has a power-law graph with planted classes, features `x`, labels `y` that a model can learn
    from them, and the splits train, valid and test. The same arguments give the same bytes on every
    machine; memory (in bytes, or a text such as "1G"), threads and progress (on stderr) do not
    change them.

    nodes, edges, dim, classes: 1,000,000, 20,000,000, 128 and 16 unless given. Edges are
    undirected ones, each of which is stored both ways; dim is the number of features of a node, of
    type `dtype`; "q8" (also "int8") stores them in one byte each, see quantise(). overwrite:
    replace the dataset at `out`.
    schema: makes a dataset with types, relations and times instead: "shop", or the path of a TOML
    file, or a dict with its content. scale: multiplies the numbers of nodes and edges of a schema.

        >>> report = gz.generate("products", nodes=1_000, edges=10_000, dim=16)
        >>> report.num_edges
        20000
        >>> report = gz.generate("shop", schema="shop", scale=0.01)
        >>> report.num_nodes
        6200
    """
    started = time.monotonic()
    path = Path(out)
    float_type = general_float_type(dtype)
    if schema is not None:
        given = {"nodes": nodes, "edges": edges, "dim": dim, "classes": classes}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} is {value} beside a schema, which says it itself")
        typed = _generate_typed(
            path,
            schema,
            scale=1.0 if scale is None else scale,
            seed=seed,
            dtype=float_type,
            work=WorkOptions(memory, threads, overwrite=overwrite),
            progress=progress,
        )
        return GenerationReport(
            path,
            typed.num_nodes,
            typed.num_edges,
            _files(path),
            time.monotonic() - started,
            len(typed.types),
            len(typed.relations),
        )
    if scale is not None:
        raise ValueError(f"scale is {scale}, which is for a schema; nodes and edges are numbers")
    dataset = SyntheticDataset(
        1_000_000 if nodes is None else nodes,
        20_000_000 if edges is None else edges,
        128 if dim is None else dim,
        16 if classes is None else classes,
        seed,
        float_type,
    )
    with (JobProgress if progress else no_progress)(f"of {path.name}") as report:
        generate_dataset(
            path, dataset, overwrite=overwrite, memory=memory, threads=threads, report=report
        )
    return GenerationReport(
        path,
        dataset.nodes,
        2 * dataset.edges,
        _files(path),
        time.monotonic() - started,
        dim=dataset.dim,
        classes=dataset.classes,
    )


def _files(path: Path) -> dict[str, int]:
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    return {str(file.relative_to(path)): file.stat().st_size for file in files}


def _generate_typed(
    path: Path,
    schema: StrPath | Mapping[str, Any],
    *,
    scale: float,
    seed: int,
    dtype: str,
    work: WorkOptions,
    progress: bool,
) -> TypedConversionReport:
    from graphzero.conversion.convert_typed import convert_typed
    from graphzero.conversion.typed_generate import synthetic_source

    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}, expected 0 to 2^64 - 1")
    if not 0 < scale < 2**32:
        raise ValueError(f"scale is {scale}, expected a number greater than 0")
    threads = make_resources(work.memory, work.threads, path.parent).threads
    return convert_typed(
        synthetic_source(schema, scale=scale, seed=seed, threads=threads),
        path,
        column_options=ColumnOptions(dtype=dtype),
        work=work,
        show_progress=JobProgress if progress else no_progress,
    )


def generate_dataset(
    path: StrPath,
    dataset: SyntheticDataset,
    *,
    overwrite: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    report: Report | None = None,
) -> None:
    """Writes graph.gl, x.gd, y.gd, train.gd, valid.gd and test.gd into the directory `path`.

    The graph has a power-law degree distribution and planted classes. A node's class is its label
    in `y`; its features in `x` and its neighbours both predict it, the neighbours better. The
    splits hold 60, 20 and 20 % of the nodes, as ascending ids.

    `report` is called with a phase, how much of it is done, and its total.
    """
    for name, value in vars(dataset).items():
        if name != "dtype" and not 0 <= value < 2**64:
            raise ValueError(f"{name} is {value}, expected 0 to 2^64 - 1")
    with new_dataset(path, overwrite=overwrite) as directory:
        resources = make_resources(memory, threads, directory)
        _engine.generate(
            str(directory),
            nodes=dataset.nodes,
            edges=dataset.edges,
            dim=dataset.dim,
            classes=dataset.classes,
            seed=dataset.seed,
            dtype=unquantised(dataset.dtype),
            resources=resources,
            report=report,
        )
        if dataset.dtype in QUANTISED:
            _quantise_features(directory, dataset.dtype, resources, report)


def _quantise_features(
    directory: Path, dtype: str, resources: _engine.Resources, report: Report | None
) -> None:
    from graphzero.conversion.quantise_column import quantise_file

    floats = (directory / "x.gd").rename(directory / "x-float32.gd")
    quantise_file(
        str(floats),
        str(directory / "x.gd"),
        dtype,
        label="generated features",
        resources=resources,
        report=report,
    )
    floats.unlink()
