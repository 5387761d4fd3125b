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
    smallest ones. Targets agree on whom they take: same fanout, far fewer different nodes.

    The mean over the drawn edges of a node is unbiased, as it is with independent draws. With
    weights, the sum of `edge_scale` times x is unbiased for the sum of weight times x over all
    edges of the node.
    """

    layer_dependency: bool = False
    """One number for all hops: fewer nodes still, but the hops are no longer unbiased together."""
    batch_dependency: int = 1
    """kappa, of loaders: from one batch to the next, one node in so many gets a new number, so that
    a batch finds most of its nodes in the caches that the one before has filled. 1: all are new."""
    batch: int = 0
    """Number of the batch over all epochs, which a loader counts."""
    run_seed: int | None = None
    """Seed of the run that the batches are of, which a loader gives; None: that of the call."""

    def __post_init__(self) -> None:
        kappa = whole_number(self.batch_dependency, "batch_dependency", least=1)
        if kappa > _MOST_DEPENDENCY:
            raise ValueError(f"batch_dependency is {kappa}, expected at most {_MOST_DEPENDENCY}")
        batch = whole_number(self.batch, "batch", least=0)
        if batch >= 2**63:
            raise ValueError(f"batch is {batch}, expected less than 2**63")

    def request(self, seed: int) -> _engine.LaborRequest:
        """As the engine takes it, for a sample with this seed."""
        return _engine.LaborRequest(
            run_seed=seed if self.run_seed is None else self.run_seed,
            batch=self.batch,
            dependency=self.batch_dependency,
            one_for_all_hops=bool(self.layer_dependency),
        )

    def of_batch(self, run_seed: int, batch: int) -> Labor:
        """For a batch of a loader. Without dependency its numbers follow from its own seed."""
        if self.batch_dependency == 1:
            return self
        return replace(self, run_seed=run_seed, batch=batch)


Sampler: TypeAlias = Literal["neighbour", "labor"] | Labor


def labor_of(sampler: Any) -> Labor | None:
    """None for independent draws. Raises ValueError for what is no sampler."""
    if isinstance(sampler, Labor):
        return sampler
    if sampler == "labor":
        return Labor()
    if sampler != "neighbour":
        raise ValueError(f'sampler is {sampler!r}, expected "neighbour", "labor" or a gz.Labor')
    return None


def labor_of_loader(sampler: Any) -> Labor | None:
    """labor_of(), of a loader, which says itself which batch of which run it asks for."""
    labor = labor_of(sampler)
    if labor is not None and (labor.batch, labor.run_seed) != (0, None):
        raise ValueError(
            f"sampler is {labor}, expected no batch and no run_seed: a loader counts its batches, "
            "and its seed is that of the run"
        )
    return labor
