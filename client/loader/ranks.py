"""`rank="auto"`: the place of this process among those that share an epoch, as the program that
started it says, and whether all of them have the same loader.

Torchrun, Ray Train and others start the ranks and tell each one its number; nothing here starts or
watches a process. torch and Ray are asked only if this process has imported them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from graphzero.base.numbers import whole_number
from graphzero.client.errors import DatasetChanged
from graphzero.client.loader.order import require_rank
from graphzero.client.loader.state import OF_THE_DATA

Rank: TypeAlias = int | Literal["auto"]


@dataclass(frozen=True)
class Place:
    """A rank among world_size."""

    rank: int
    world_size: int
    found: bool = False
    """Whether "auto" found it, instead of the user giving it."""

    def __post_init__(self) -> None:
        require_rank(self.rank, self.world_size)


def place_of(rank: Rank | None, world_size: int | None) -> Place:
    """What the arguments `rank` and `world_size` of a loader mean in this process.

    One of them alone raises ValueError: processes that all forget `rank` would train on the same
    part of the epoch.
    """
    if rank is None and world_size is None:
        return Place(0, 1)
    if rank is None:
        last = whole_number(world_size, "world_size", least=1) - 1
        ranks = f"rank=0 to {last}" if last else "rank=0"
        raise ValueError(
            f'world_size is {world_size}, but rank is missing: give {ranks}, or rank="auto"'
        )
    if rank != "auto":
        if world_size is None:
            whole_number(rank, "rank", least=0)
            raise ValueError(
                f'rank is {rank}, but world_size is missing: give both, or rank="auto"'
            )
        return Place(rank, world_size)
    found = _found_place()
    if world_size is not None and world_size != found.world_size:
        raise ValueError(
            f'world_size is {world_size}, but rank="auto" finds {found.world_size} ranks; leave '
            "world_size out, or give both"
        )
    return found


def _found_place() -> Place:
    """The place in torch's process group, in Ray Train, or by torchrun; without any of them, that
    of a single rank."""
    distributed = _process_group()
    if distributed is not None:
        return Place(distributed.get_rank(), distributed.get_world_size(), found=True)
    context = _ray_context()
    if context is not None:
        return Place(context.get_world_rank(), context.get_world_size(), found=True)
    names = ("RANK", "WORLD_SIZE")
    given = {name: os.environ[name] for name in names if name in os.environ}
    if not given:
        return Place(0, 1, found=True)
    if len(given) == 1:
        (missing,) = set(names) - set(given)
        raise ValueError(
            f'rank="auto" finds {given} in the environment, but no {missing}; torchrun sets both'
        )
    return Place(_number(given, "RANK"), _number(given, "WORLD_SIZE"), found=True)


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise ValueError(
            f"{name} is {environment[name]!r} in the environment, expected a whole number, as "
            "torchrun sets it"
        ) from None


def require_same_on_all_ranks(state: Mapping[str, Any]) -> None:
    """Raises unless all ranks have this state: DatasetChanged for other data or another sampler,
    else ValueError. The message names the ranks that differ.

    All ranks must call it, since they meet here: in torch's process group, or through Ray Train.
    Where there is neither, they have no way to ask each other, and nothing is compared.
    """
    data = sys.modules.get("torch.utils.data")
    if data is not None and data.get_worker_info() is not None:
        return  # a worker of DataLoader has a copy of the process group, and must not use it
    states = _states_by_rank(dict(state))
    for key in dict.fromkeys(name for other in states.values() for name in other):
        ranks: dict[str, list[int]] = {}
        for rank, other in states.items():
            ranks.setdefault(repr(other.get(key)), []).append(rank)
        if len(ranks) > 1:
            raise _disagreement(key, ranks)


def _disagreement(key: str, ranks: Mapping[str, list[int]]) -> Exception:
    found = "; ".join(
        f"rank{'s' if len(who) > 1 else ''} {', '.join(map(str, who))}: {value}"
        for value, who in ranks.items()
    )
    if key in OF_THE_DATA:
        return DatasetChanged(
            f"the ranks of this loader do not have the same {key} ({found}): their batches would "
            "not be parts of one epoch; give each machine the same dataset and release of graphzero"
        )
    return ValueError(
        f"the ranks of this loader do not agree about {key} ({found}): make it with the same "
        "arguments on all of them, and let all load the same checkpoint"
    )


def _states_by_rank(own: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The states of the ranks that can be asked."""
    distributed = _process_group()
    if distributed is not None:
        gathered: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(gathered, own)
        return dict(enumerate(gathered))
    context = _ray_context()
    if context is not None:
        # Ray has no way to gather: a rank that differs from rank 0 raises, which ends the others'
        # wait.
        from ray.train.collective import broadcast_from_rank_zero

        return {0: broadcast_from_rank_zero(own), context.get_world_rank(): own}
    return {}


def _process_group() -> Any:
    """torch.distributed, if it is initialised."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed


def _ray_context() -> Any:
    """Ray Train's context, if this process is one of its workers."""
    train = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        context = train.get_context()
    except (RuntimeError, DeprecationWarning):
        return None  # a driver, or a worker of something else, such as Ray Tune
    # Releases before 2.51 have a context everywhere, which has no world size outside of training.
    return context if context.get_world_size() else None
