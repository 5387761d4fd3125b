"""Orders of nodes that a conversion and `graphzero.reorder` can make, and their report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from graphzero.base.progress import ShowProgress
from graphzero.base.resources import make_resources

if TYPE_CHECKING:
    from graphzero.conversion.plan import WorkOptions

Order = Literal["degree", "community"]
# The orders that a conversion can make.
ConvertOrder = Literal["degree", "community", "none"]


class OrderReport(NamedTuple):
    """What became of the order of a dataset."""

    order: Order | None  # None: nodes stay as they were, because no read would be saved
    num_nodes: int
    num_edges: int
    communities: int | None  # of two nodes or more; None in an order by degree
    # Blocks of 8 rows that hold the nodes of a few batches drawn for the estimate, before and
    # after. `cold_blocks` are those with rows that are read too rarely to stay in a cache.
    blocks: tuple[int, int]
    cold_blocks: tuple[int, int]
    output_bytes: int
    seconds: float
    notes: tuple[str, ...] = ()


class Ordering(NamedTuple):
    """Where a conversion writes, and its last step."""

    directory: Path  # in which to write the dataset
    run: Callable[[], OrderReport | None]  # when it is complete; None: no order is asked for


def check_order(order: str) -> None:
    if order not in get_args(Order):
        raise ValueError(f"order: found {order!r}, expected 'degree' or 'community'")


@contextmanager
def in_order(
    directory: Path, order: ConvertOrder, work: WorkOptions, show_progress: ShowProgress
) -> Iterator[Ordering]:
    """Lets a conversion into `directory` end with ordering the nodes, unless `order` is "none"."""
    if order == "none":
        yield Ordering(directory, lambda: None)
        return
    check_order(order)
    wanted: Order = order
    # Named like the dataset, for messages.
    unordered = directory.parent / f"{directory.name}.unordered" / directory.name
    unordered.mkdir(parents=True)

    def run() -> OrderReport:
        from graphzero.conversion.reorder import reorder_into

        resources = make_resources(work.memory, work.threads, directory.parent)
        return reorder_into(unordered, directory, wanted, resources, show_progress, own_source=True)

    try:
        yield Ordering(unordered, run)
    finally:
        import shutil  # which takes 7 ms

        shutil.rmtree(unordered.parent, ignore_errors=True)
