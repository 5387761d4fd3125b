"""Finds out before an epoch begins whether every link with a time has negatives.

Negatives exist at the time of their link. If no node is as old as some link, there is none for it,
and the batch with this link would be an error in the middle of an epoch. What can be drawn for the
earliest link can be drawn for all: so a loader asks for the negatives of this one when it is made.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.errors import InvalidRequest
from graphzero.client.memory.results import Reply
from graphzero.client.process.deadline import Deadline
from graphzero.client.requests.messages import SampleOptions, TemporalOptions, sample_messages
from graphzero.client.requests.request import Call, Request, the_reply
from graphzero.embedded.link_request import LinkRequest

IdArray = npt.NDArray[np.int64]


def require_negatives_of_earliest(
    run: Callable[[Call[Reply]], Reply],
    dataset: DatasetInfo,
    request: Callable[[IdArray], LinkRequest],
    times: IdArray,
    deadline: Deadline,
    what: str,
) -> None:
    """Raises InvalidRequest, with the position of the earliest link, if there is no negative for
    it. Asks the daemon, unless all nodes exist at any time. `request` makes the request for links
    at positions, `times` are those of all links, and `what` is the user's word for the links."""
    if not len(times):
        return
    position = int(np.argmin(times))
    links = request(np.array([position]))
    relation = dataset.schema.relations[links.relation]
    drawn = [relation.target, *([relation.source] if links.negative_kind == "pairs" else [])]
    if not links.num_negatives or not any(dataset.schema.types[n].has_times for n in drawn):
        return
    options = SampleOptions(
        fanout=(0,), columns=(), temporal=TemporalOptions(), typed=dataset.schema.typed
    )
    try:
        run(_asked(Request(sample_messages(links, options, seed=0), the_reply, deadline)))
    except InvalidRequest as error:
        raise InvalidRequest(
            f"{what} {position} is at time {times[position]}, the earliest of {len(times)}: {error}"
        ) from None


def _asked(request: Request[Reply]) -> Call[Reply]:
    reply: Reply = yield request
    return reply
