"""`graphzero.reorder`: writes a dataset again, with its nodes in an order that needs fewer reads.

Everything follows the nodes: rows of the graph and of columns move, splits keep their nodes in
their places, edges keep their ids. The id that a node had before is kept as its original id.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.progress import JobProgress, ShowProgress, no_progress
from graphzero.base.resources import make_resources
from graphzero.base.text import size_text
from graphzero.conversion.ordering import Order, OrderReport, check_order
from graphzero.conversion.reorder_graph import reorder_graph
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import column_key, split_key
from graphzero.files.copying import copy_file
from graphzero.files.dataset import Dataset, dataset_identity, open_dataset
from graphzero.files.description import ColumnDescription
from graphzero.files.paths import COLUMN_SUFFIX, GRAPH_FILE, ORIGINAL_IDS
from graphzero.files.publish import StrPath, new_dataset

# The least memory that the compilers work with, see compile/job.h.
_LEAST_MEMORY = 64 << 20


def reorder(
    dataset: StrPath,
    out: StrPath,
    *,
    order: Order = "community",
    overwrite: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> OrderReport:
    """Writes a dataset again with its nodes in another order, so that batches find their rows in
    fewer blocks of a disk.

    order: "community" puts nodes together that have many edges among them, and keeps the present
    order if the new one would not need fewer reads; "degree" puts the nodes first that rows name
    most often. Ids of nodes change: `client.original_ids`, `find_nodes` and OriginalIds translate
    to and from those that the dataset had before, or its old numbers if it had none. Splits keep
    their order and edges their ids. Of a dataset with types each type is put into order.

    `out` appears complete or not at all; it may be `dataset` itself, with overwrite. The result
    depends on neither memory (16 bytes for each node at least) nor threads.

        >>> gz.reorder("products", "products-ordered", order="degree").order
        'degree'
    """
    check_order(order)
    with new_dataset(out, overwrite=overwrite) as directory:
        resources = make_resources(memory, threads, directory.parent)
        show = JobProgress if progress else no_progress
        return reorder_into(Path(dataset), directory, order, resources, show)


def reorder_into(
    source: Path,
    directory: Path,
    order: Order,
    resources: _engine.Resources,
    show_progress: ShowProgress,
    *,
    own_source: bool = False,
) -> OrderReport:
    """Fills `directory`, which is empty, with the dataset `source` in that order. With
    `own_source`, nobody else uses `source`, and files that stay unchanged are moved instead of
    copied."""
    started = time.monotonic()
    dataset = open_dataset(source)
    graph = dataset.graph.topology
    if (part := dataset.shard) is not None:
        raise InputError(
            f"{source}: is part {part.part} of {part.parts}, and the other parts have rows that "
            "would have to move too; put the whole dataset into order, then deal it again "
            "(graphzero shard)"
        )
    _check_memory(dataset, resources)
    with show_progress(GRAPH_FILE) as report:
        found = _engine.NodeOrder.make(
            graph, communities=order == "community", resources=resources, report=report
        )
    helps = order == "degree" or found.helps
    if helps:
        _write(_Reordering(dataset, directory, order, found, resources, show_progress))
    else:
        _put(dataset, directory, shutil.move if own_source else copy_file)
    if not own_source and dataset_identity(dataset.path).files != dataset.identity:
        raise InputError(f"{source}: it changed while it was read; put it into order again")
    files = [file for file in directory.rglob("*") if file.is_file()]
    return OrderReport(
        order if helps else None,
        graph.num_nodes,
        graph.num_edges,
        found.communities if order == "community" else None,
        (found.before.blocks, found.after.blocks),
        (found.before.cold_blocks, found.after.cold_blocks),
        sum(file.stat().st_size for file in files),
        time.monotonic() - started,
        tuple(
            f"column {key} is left out: a batch has a field of that name"
            for key in dataset.left_out
        ),
    )


class _Reordering(NamedTuple):
    """What each step of writing a dataset in another order needs."""

    dataset: Dataset
    directory: Path
    order: Order
    numbers: _engine.NodeOrder
    resources: _engine.Resources  # _write() deducts the memory of the numbers
    show_progress: ShowProgress


def _check_memory(dataset: Dataset, resources: _engine.Resources) -> None:
    """Raises InputError if the new numbers leave the compilers too little memory. NodeOrder.make()
    checks the memory that it needs itself."""
    needed = 4 * dataset.graph.num_nodes + _LEAST_MEMORY
    if resources.memory < needed:
        raise InputError(
            f"{dataset.path}: found {size_text(resources.memory)} of working memory, expected at "
            f"least {size_text(needed)} to put {dataset.graph.num_nodes} nodes into an order: "
            f"--memory {-(-needed >> 20) + 1}M"
        )


def _write(job: _Reordering) -> None:
    schema = job.dataset.schema
    left = _engine.Resources.make(
        memory=job.resources.memory - job.numbers.byte_size,
        threads=job.resources.threads,
        temp_dir=job.resources.temp_dir,
    )
    job = job._replace(resources=left)
    target = job.directory / GRAPH_FILE
    reorder_graph(job.dataset.graph.topology, target, job.numbers, left, job.show_progress)
    for key, column in job.dataset.columns.items():
        directory, name = split_key(key)
        kind, number = "type", 0
        if schema.typed:
            kind, number = schema.owner_of(directory) or (kind, number)  # open_dataset() checks
        if name == ORIGINAL_IDS and column.role == "node":
            continue  # written below
        path = _new_path(job.directory, key)
        of_nodes = kind == "type" and column.role in ("node", "ids")
        if not of_nodes:  # its rows go by edge id or by code, which stay the same
            copy_file(column.path, path)
            continue
        with job.show_progress(path.name) as report:
            if column.role == "ids":
                job.numbers.renumber_ids(number, column.matrix, str(path), report=report)
            else:
                job.numbers.reorder_rows(
                    number, column.matrix, str(path), resources=left, report=report
                )
    for number, node_type in enumerate(schema.types):
        key = column_key(node_type.directory, ORIGINAL_IDS)
        _write_original_ids(job, number, key, job.dataset.columns.get(key))


def _write_original_ids(job: _Reordering, number: int, key: str, ids: ColumnFile | None) -> None:
    path = _new_path(job.directory, key)
    before = ColumnDescription() if ids is None else ids.description
    with job.show_progress(path.name) as report:
        job.numbers.reorder_original_ids(
            number,
            None if ids is None else ids.matrix,
            str(path),
            description=before._replace(order=job.order).to_json(),
            resources=job.resources,
            report=report,
        )


def _new_path(directory: Path, key: str) -> Path:
    path = directory / f"{key}{COLUMN_SUFFIX}"
    path.parent.mkdir(exist_ok=True)
    return path


def _put(dataset: Dataset, directory: Path, put: Callable[[Path, Path], object]) -> None:
    """Puts all files into `directory` unchanged."""
    put(dataset.graph.path, directory / GRAPH_FILE)
    for key, column in dataset.columns.items():
        put(column.path, _new_path(directory, key))
