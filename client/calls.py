"""What `Client` and `AsyncClient` have in common: every call as the requests that it takes.

A call is a generator, see request.py. `Client` waits for its answers and `AsyncClient` awaits them;
arguments, checks and results are written here, once.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from graphzero.base.ids import Ids
from graphzero.client.batch import Batch, batch_of_reply, users_tensor, walks_of_reply
from graphzero.client.deadline import Deadline
from graphzero.client.errors import InvalidRequest, NotFound
from graphzero.client.files import open_visible
from graphzero.client.info import ClientInfo, DatasetInfo
from graphzero.client.messages import (
    SampleOptions,
    Seeds,
    gather_messages,
    sample_messages,
    walk_messages,
    wire_ids,
)
from graphzero.client.original_ids import categories, find_nodes, original_ids
from graphzero.client.pool import ConnectionPool
from graphzero.client.request import Call, Request, the_reply
from graphzero.client.results import Reply, Tensor
from graphzero.client.seeds import find_split, node_ids
from graphzero.client.stream import list_datasets
from graphzero.embedded.link_request import Candidates, ExcludeSeedEdges, Negatives, link_request
from graphzero.embedded.results import Walks
from graphzero.embedded.sampling import Subgraph, resolve_seed
from graphzero.files.dtypes import DataType
from graphzero.files.topology_file import Direction

if TYPE_CHECKING:
    from graphzero.client.connect import ConnectOptions


class ClientCalls:
    """The part of a client that does not say how it waits. Opens the first session."""

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._pool = ConnectionPool(options.find, options.session(), options.patience())
        self._finalizer = weakref.finalize(self, self._pool.end)
        self._dataset = DatasetInfo.from_message(self._pool.welcome.dataset)
        # Not a method: what is under way must not be what keeps the client.
        self._make_batch = partial(batch_of_reply, upcast=options.upcast)

    def info(self) -> ClientInfo:
        """What this client is connected to."""
        return ClientInfo(
            address=str(self._pool.address),
            transport="inline" if self._pool.inline else "shared_memory",
            dataset=self._dataset,
            sampler_version=self._pool.welcome.sampler_version,
            max_request_edges=self._pool.welcome.max_request_edges,
            max_result_byte_size=self._pool.welcome.max_result_byte_size,
        )

    def __repr__(self) -> str:
        data, kind = self._dataset, type(self).__name__
        return f"{kind}({data.name!r}: {data.num_nodes} nodes, {data.num_edges} edges)"

    def _close(self) -> None:
        self._finalizer.detach()
        self._pool.close()

    def _sample_request(
        self,
        seeds: Ids,
        fanout: Iterable[int],
        *,
        original_ids: bool = False,
        columns: Sequence[str] | None = None,
        seed_columns: Sequence[str] | None = None,
        replace: bool = False,
        weighted: bool = False,
        direction: Direction | None = None,
        seed: int | None = None,
        edge_ids: bool = False,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        timeout: float | None = None,
    ) -> Call[Request[Batch]]:
        """The last request of sample(), whose result is the batch."""
        options = self._sample_options(
            fanout,
            columns,
            seed_columns,
            replace=replace,
            weighted=weighted,
            direction=direction,
            edge_ids=edge_ids,
            disjoint=disjoint,
            subgraph=subgraph,
        )
        deadline = self._deadline(timeout)
        ids = yield from self._node_ids(seeds, "seeds", original_ids, deadline)
        return self._batch_request(ids, options, seed, deadline)

    def _sample(self, *args: Any, **kwargs: Any) -> Call[Batch]:
        return _with_last_request(self._sample_request(*args, **kwargs))

    def _sample_links(
        self,
        sources: Ids,
        targets: Ids,
        fanout: Iterable[int],
        *,
        original_ids: bool = False,
        negatives: Negatives | None = None,
        exclude_seed_edges: ExcludeSeedEdges = False,
        columns: Sequence[str] | None = None,
        replace: bool = False,
        weighted: bool = False,
        direction: Direction | None = None,
        seed: int | None = None,
        edge_ids: bool = False,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        timeout: float | None = None,
    ) -> Call[Batch]:
        self._require_features(["links"])
        options = self._sample_options(
            fanout,
            columns,
            replace=replace,
            weighted=weighted,
            direction=direction,
            edge_ids=edge_ids,
            disjoint=disjoint,
            subgraph=subgraph,
        )
        deadline = self._deadline(timeout)
        links = link_request(
            (yield from self._node_ids(sources, "sources", original_ids, deadline)),
            (yield from self._node_ids(targets, "targets", original_ids, deadline)),
            negatives,
            exclude_seed_edges,
            self._candidates(negatives),
        )
        batch: Batch = yield self._batch_request(links, options, seed, deadline)
        return batch

    def _random_walk(
        self,
        starts: Ids,
        length: int,
        *,
        original_ids: bool = False,
        p: float = 1.0,
        q: float = 1.0,
        restart: float = 0.0,
        weighted: bool = False,
        seed: int | None = None,
        timeout: float | None = None,
    ) -> Call[Walks]:
        if not 0 <= length < 2**32:
            raise ValueError(f"length is {length}, expected at least 0 and less than 2**32")
        deadline = self._deadline(timeout)
        messages = walk_messages(
            (yield from self._node_ids(starts, "starts", original_ids, deadline)),
            length,
            p=p,
            q=q,
            restart=restart,
            weighted=weighted,
            seed=resolve_seed(seed),
        )
        return walks_of_reply((yield Request(messages, the_reply, deadline)))

    def _gather(self, column: str, ids: Ids, *, timeout: float | None = None) -> Call[Any]:
        messages = gather_messages(column, wire_ids(ids, "ids"))
        reply: Reply = yield Request(messages, the_reply, self._deadline(timeout))
        return users_tensor(reply.tensors[column], self._options.upcast)

    def _original_ids(self, n_id: Ids, *, timeout: float | None = None) -> Call[Any]:
        found = yield from original_ids(n_id, self._dataset, self._deadline(timeout))
        return users_tensor(found) if isinstance(found, Tensor) else found

    def _find_nodes(self, original: Any, *, timeout: float | None = None) -> Call[Any]:
        found = yield from self._original_nodes(original, self._deadline(timeout))
        return users_tensor(Tensor(found, DataType.INT64))

    def _categories(
        self, column: str, codes: Ids | None = None, *, timeout: float | None = None
    ) -> Call[list[Any]]:
        self._require_columns([column])
        return (yield from categories(column, codes, self._dataset, self._deadline(timeout)))

    def _datasets(self) -> list[DatasetInfo]:
        found = list_datasets(self._options.find(), self._options.timeout).datasets
        return [DatasetInfo.from_message(message) for message in found]

    def _column(self, name: str) -> Any:
        self._require_columns([name])
        found = open_visible(self._dataset, "the column cannot be mapped", "use gather()")
        column = found.columns[name]
        return users_tensor(Tensor(column.view(), column.dtype))

    def _sample_options(
        self,
        fanout: Iterable[int],
        columns: Sequence[str] | None,
        seed_columns: Sequence[str] | None = None,
        **draws: Any,
    ) -> SampleOptions:
        """`draws`: the fields of SampleOptions by name."""
        options = SampleOptions.of(
            fanout, columns, seed_columns, self._dataset.node_columns, **draws
        )
        self._require_features(options.features)
        self._require_columns([*options.columns, *options.seed_columns])
        return options

    def _batch_request(
        self, seeds: Seeds, options: SampleOptions, seed: int | None, deadline: Deadline
    ) -> Request[Batch]:
        messages = sample_messages(seeds, options, resolve_seed(seed))
        return Request(messages, self._make_batch, deadline)

    def _deadline(self, timeout: float | None) -> Deadline:
        """Of one call, over all the requests that it takes."""
        return Deadline(self._options.timeout if timeout is None else timeout)

    def _candidates(self, negatives: Negatives | None) -> Candidates:
        """What negatives are drawn from, once it is known that there are such nodes."""
        candidates = Candidates.of(negatives, self._dataset.num_nodes)
        if not candidates.are_all_nodes:
            self._require_features(["candidates"])
        given = {"candidates": candidates.targets, "source_candidates": candidates.sources}
        for name, nodes in given.items():
            if isinstance(nodes, str):
                find_split(nodes, self._dataset)
            elif nodes is not None:
                node_ids(nodes, self._dataset, f"{name} of negatives")
        return candidates

    def _require_features(self, features: Iterable[str]) -> None:
        for feature in features:
            if feature not in self._pool.welcome.features:
                raise InvalidRequest(
                    f"this daemon is older than its client and cannot do {feature!r}; restart it "
                    "with the installed version"
                )

    def _require_columns(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._dataset.columns:
                known = ", ".join(self._dataset.columns) or "none"
                raise NotFound(
                    f"dataset {self._dataset.name!r} has no column {name!r}, it has {known}"
                )

    def _node_ids(
        self, ids: Any, what: str, original: bool, deadline: Deadline
    ) -> Call[npt.NDArray[np.int64]]:
        """Of nodes, or of original ids, for which the daemon is asked."""
        if original:
            return (yield from self._original_nodes(ids, deadline))
        return wire_ids(ids, what)

    def _original_nodes(
        self, original: Any, deadline: Deadline | None = None
    ) -> Call[npt.NDArray[np.int64]]:
        self._require_features(["find_nodes"])
        return (yield from find_nodes(original, self._dataset, deadline or self._deadline(None)))


def _with_last_request(call: Call[Request[Batch]]) -> Call[Batch]:
    batch: Batch = yield (yield from call)
    return batch
