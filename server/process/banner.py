"""The lines that the daemon prints when it is ready."""

from __future__ import annotations

import os
from collections.abc import Iterable

from graphzero import _engine
from graphzero.base.text import count_text, counted_text, line_text, quoted, size_text
from graphzero.base.version import __version__
from graphzero.files.dataset import Dataset
from graphzero.server.datasets import read_plan
from graphzero.server.datasets.catalog import Catalog
from graphzero.server.network.listen import Door
from graphzero.server.settings.config import Config

_LONGEST_LINE = 2000  # one line names all columns of a dataset


def banner(
    config: Config,
    catalog: Catalog,
    row_cache: _engine.RowCache | None,
    doors: Iterable[Door],
) -> str:
    lines = [f"graphzero-server {__version__}"]
    datasets = catalog.all()
    for dataset in datasets:
        graph = dataset.graph
        lines.append(
            f"  {dataset.name}: {count_text(graph.num_nodes)} nodes{_types(dataset)}, "
            f"{count_text(graph.num_edges)} edges, {size_text(dataset.byte_size)} on disk"
        )
        lines.append(f"    {_columns(dataset)}")
    lines += [f"  {quoted(name)} is left out: {why}" for name, why in catalog.left_out.items()]
    lines += [f"  {line}" for line in read_plan.describe(datasets, row_cache)]
    reads_files = read_plan.reads_files(datasets)
    lines.append(f"  {config.memory.describe(reads_files=reads_files)}")
    limits = config.limits
    lines.append(f"  {limits.threads} threads, up to {limits.max_sessions} sessions")
    lines += [f"  listening on {door.address} for {door.access}" for door in doors]
    lines.append("  connect with:")
    lines.append(f'    import graphzero as gz; client = gz.connect("{config.listen.socket}")')
    if config.listen.group is not None and os.geteuid() != 0:
        lines.append(f"  members of {config.listen.group} also say whose daemon they trust:")
        lines.append(f'    gz.connect("{config.listen.socket}", server_uid={os.geteuid()})')
    return "\n".join(line_text(line, _LONGEST_LINE) for line in lines)


def _types(dataset: Dataset) -> str:
    """For example " of 2 types with 4 relations"; "" without types."""
    schema = dataset.schema
    if not schema.typed:
        return ""
    types = counted_text(len(schema.types), "type")
    return f" of {types} with {counted_text(len(schema.relations), 'relation')}"


def _columns(dataset: Dataset) -> str:
    if not dataset.columns:
        return "no columns"
    described = []
    for name, column in dataset.columns.items():
        width = "x".join(map(str, column.shape[1:]))
        width = f"[{width}]" if width else ""
        described.append(f"{name} {column.dtype.label}{width}")
    return ", ".join(described)
