"""The argument `sampler`: independent draws for every node, or LABOR.

`Graph`, clients and the daemon share it. native/sample/README.md, "LABOR", has the contract.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from graphzero import _engine
from graphzero.base.numbers import whole_number

_MOST_DEPENDENCY = 2**32 - 1


@dataclass(frozen=True)
class Labor:
    """LABOR sampling: every node has a random number, and a target takes its k neighbours with the
    smallest numbers. Targets prefer the same neighbours: same fanout, far fewer different nodes.

    The mean over the drawn edges of a node is unbiased, as it is with independent draws. With
    weights, the sum of `edge_scale` times x is unbiased for the sum of weight times x over all
    edges of the node.
    """

    layer_dependency: bool = False
    """A node has one number for all hops: fewer nodes still, but the hops are no longer unbiased
    together."""
    batch_dependency: int = 1
    """kappa, for loaders: from one batch to the next, one node in kappa gets a new number, so that
    a batch finds most of its nodes in the caches that the previous batch has filled. 1: all nodes
    get new numbers."""
    batch: int = 0
    """Number of the batch over all epochs; a loader sets it."""
    run_seed: int | None = None
    """Seed of the run that the batch belongs to; a loader sets it. None: the seed of the call."""

    def __post_init__(self) -> None:
        kappa = whole_number(self.batch_dependency, "batch_dependency", least=1)
        if kappa > _MOST_DEPENDENCY:
            raise ValueError(f"batch_dependency is {kappa}, expected at most {_MOST_DEPENDENCY}")
        batch = whole_number(self.batch, "batch", least=0)
        if batch >= 2**63:
            raise ValueError(f"batch is {batch}, expected less than 2**63")
        if self.run_seed is not None:
            seed = whole_number(self.run_seed, "run_seed", least=0)
            if seed >= 2**64:
                raise ValueError(f"run_seed is {seed}, expected less than 2**64")

    def request(self, seed: int) -> _engine.LaborRequest:
        """The engine's form of these options, for a sample with this seed."""
        return _engine.LaborRequest(
            run_seed=seed if self.run_seed is None else self.run_seed,
            batch=self.batch,
            dependency=self.batch_dependency,
            one_for_all_hops=bool(self.layer_dependency),
        )

    def of_batch(self, run_seed: int, batch: int) -> Labor:
        """The options for a batch of a loader. Without dependency between batches, the random
        numbers follow from the batch's own seed."""
        if self.batch_dependency == 1:
            return self
        return replace(self, run_seed=run_seed, batch=batch)


Sampler: TypeAlias = Literal["neighbour", "labor"] | Labor


def labor_of(sampler: Any) -> Labor | None:
    """The Labor of an argument `sampler`; None for independent draws. Raises ValueError for other
    values."""
    if isinstance(sampler, Labor):
        return sampler
    if sampler == "labor":
        return Labor()
    if sampler != "neighbour":
        raise ValueError(f'sampler is {sampler!r}, expected "neighbour", "labor" or a gz.Labor')
    return None


def labor_of_loader(sampler: Any) -> Labor | None:
    """labor_of() for a loader, which sets `batch` and `run_seed` itself."""
    labor = labor_of(sampler)
    if labor is not None and (labor.batch, labor.run_seed) != (0, None):
        raise ValueError(
            f"sampler is {labor}, expected no batch and no run_seed: a loader counts its batches, "
            "and its seed is that of the run"
        )
    return labor
