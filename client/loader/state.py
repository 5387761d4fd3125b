"""Whether the state of a loader fits another one: what load_state_dict() checks."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from graphzero.client.errors import DatasetChanged
from graphzero.client.loader.seed_batches import Progress, SeedBatches
from graphzero.embedded.labor import Labor

OnResize: TypeAlias = Literal["error", "next_epoch"]
"""What to do with a state from the middle of an epoch of another number of ranks."""

# Entries of a state about the data and the sampler, which no argument of a loader can change.
OF_THE_DATA = ("dataset", "sampler_version")


def require_fitting_state(
    state: Any, own: Mapping[str, Any], *, same: Sequence[str], digest: str, loader: str
) -> None:
    """Raises TypeError or ValueError for a value that is no state of such a loader, or the state of
    one with other options or items, DatasetChanged for other data.

    `own` is the state of the loader that is to go on; `same` are its entries that must be equal;
    `digest` is the entry for the items that the loader goes through, and messages' word for them.
    """
    if not isinstance(state, Mapping):
        raise TypeError(
            f"the state is {_short(state)}, expected what state_dict() of a {loader} gave: a dict "
            f"with {', '.join(own)}"
        )
    missing = [key for key in own if key not in state]
    if missing:
        raise ValueError(
            f"the state has no {missing[0]!r}, expected what state_dict() of a {loader} gave: "
            f"{', '.join(own)}; found {', '.join(map(str, state)) or 'nothing'}"
        )
    if state["version"] != own["version"]:
        raise ValueError(
            f"the state has version {_short(state['version'])}, expected {own['version']}: it was "
            "saved by another release of graphzero"
        )
    for key in OF_THE_DATA:
        if state[key] != own[key]:
            raise DatasetChanged(
                f"the state was saved with {key} {_short(state[key])}, found {own[key]}; its "
                "batches cannot be repeated"
            )
    for key in same:
        if state[key] != own[key]:
            raise ValueError(
                f"the state has {key} {_short(state[key])}, this loader has {own[key]}: make the "
                "loader with the arguments that the saved one had"
            )
    if state[digest] != own[digest]:
        raise ValueError(
            f"the state was saved by a loader of other {digest} (digest {_short(state[digest])}, "
            f"found {own[digest]}): give this loader the same, in the same order"
        )


def drift_of(labor: Labor | None) -> dict[str, int]:
    """Options of LABOR by which the draws of a batch depend on more than its place and the seed of
    the loader; empty if there are none."""
    if labor is None or labor.batch_dependency == 1:
        return {}
    return {"batch_dependency": labor.batch_dependency}


def resumed_progress(
    state: Mapping[str, Any], batches: SeedBatches, world_size: int, on_resize: OnResize
) -> Progress:
    """Where a loader of `world_size` ranks goes on; the state may be from another number of ranks.

    At the end of an epoch nothing is left to divide, and the next one begins among any number of
    ranks. In the middle of one, each rank has handed out only its own batches: the seeds that are
    left need not begin at a step of another number of ranks, which cannot go on with that epoch.
    """
    if on_resize not in ("error", "next_epoch"):
        raise ValueError(f'on_resize is {on_resize!r}, expected "error" or "next_epoch"')
    progress = Progress(count_in_state(state, "epoch"), count_in_state(state, "batches"))
    saved = count_in_state(state, "world_size")
    if saved == world_size:
        return batches.normal(progress)
    progress = batches.of_world(saved).normal(progress)
    if progress.handed_out == 0:
        return progress
    if on_resize == "next_epoch":
        return Progress(progress.epoch + 1, 0)
    raise ValueError(
        f"the state has world_size {saved}, this loader has {world_size}, and the state is in the "
        f"middle of epoch {progress.epoch}, after {progress.handed_out} batches of each rank: its "
        "rest cannot be divided among other ranks. Start as many ranks as there were, load a state "
        "from the end of an epoch, or leave the rest out with load_state_dict(state, on_resize="
        '"next_epoch")'
    )


def count_in_state(state: Mapping[str, Any], key: str) -> int:
    """A number of the state that counts something."""
    value = state[key]
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(
            f"the state has {key} {_short(value)}, expected a whole number that is not negative"
        )
    return count


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
