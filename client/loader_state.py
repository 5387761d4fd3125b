"""Whether the state of a loader fits another one: what load_state_dict() checks."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from graphzero.client.errors import DatasetChanged

# Those of the data and of the draws, which no argument of a loader can change.
_OF_THE_DATA = ("dataset", "sampler_version")


def require_fitting_state(
    state: Any, own: Mapping[str, Any], *, same: Sequence[str], digest: str, loader: str
) -> None:
    """Raises TypeError or ValueError for what is no state of such a loader or of one that goes
    another way, DatasetChanged for other data.

    `own` is the state of the loader that shall go on; `same` are the items of it that must be the
    same; `digest` is the one that stands for what the loader goes through, under that name.
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
    for key in _OF_THE_DATA:
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
