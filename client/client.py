"""`Client`: batches from a daemon. `connect` makes one."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from graphzero._dtypes import DataType
from graphzero._ids import Ids
from graphzero._links import Candidates, ExcludeSeedEdges, Negatives, link_request
from graphzero._sampling import Direction, Subgraph, resolve_seed
from graphzero.client.batch import (
    Batch,
    Walks,
    batch_of_reply,
    users_tensor,
    walks_of_reply,
)
from graphzero.client.connection import ConnectOptions
from graphzero.client.deadline import Deadline
from graphzero.client.errors import InvalidRequest, NotFound
from graphzero.client.files import open_visible
from graphzero.client.info import ClientInfo, DatasetInfo
from graphzero.client.link import RequestFuture
from graphzero.client.original_ids import categories, find_nodes, original_ids
from graphzero.client.pool import LinkPool
from graphzero.client.requests import (
    SampleOptions,
    Seeds,
    gather_messages,
    sample_messages,
    walk_messages,
    wire_ids,
)
from graphzero.client.seeds import find_split, node_ids
from graphzero.client.session import Reply, Tensor
from graphzero.client.signatures import with_arguments_of
from graphzero.client.stream import list_datasets
from graphzero.proto.graphzero_pb2 import SessionRequest

if TYPE_CHECKING:
    from graphzero.client.loader import Loader


class Client:
    """A connection to a daemon and one of its datasets. Made by connect(). Thread-safe.

    The client stays with the version of the data that it found: a request that could only be served
    from another one raises DatasetChanged.

    Credit for shared memory belongs to a session, so each loader has one of its own and the direct
    calls share one; the first of them takes that which connect() opened. They are opened anew in a
    forked child, on first use.

    A pickled client becomes one that connects for itself, with the same arguments and to the same
    version of the data.
    """

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._pool = LinkPool(options.find, options.session(), options.patience())
        self._finalizer = weakref.finalize(self, self._pool.end)
        self._dataset = DatasetInfo.from_message(self._pool.welcome.dataset)
        # Not a method: what is under way must not be what keeps the client.
        self._make_batch = partial(batch_of_reply, upcast=options.upcast)

    def sample_async(
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
    ) -> Future[Batch]:
        """As sample(), without waiting: a future, whose cancel() also frees the daemon's work.

        Its callbacks run on a thread of their own, one after the other, and may use the client. The
        future keeps its client open, also when nothing else refers to that any more.
        """
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
        ids = self._node_ids(seeds, "seeds", original_ids, deadline)
        return self._submit(ids, options, seed, deadline)

    @with_arguments_of(sample_async)
    def sample(self, *args: Any, **kwargs: Any) -> Batch:
        """Draws up to fanout[h] edges for each node that hop h - 1 found, and gathers columns.

        fanout: -1 takes all edges of a node, 0 none.
        original_ids: seeds are original ids of a relabelled dataset; see find_nodes().
        columns: those to gather for every node, or by e_id for every edge; None: all node columns,
        []: topology only.
        seed_columns: those to gather for the seeds alone, such as labels.
        replace, weighted: draw with replacement; in proportion to the edge weights.
        direction: "in" follows edges from target to source, as graph networks aggregate, and is the
        default; edge_index is (source, target) either way.
        seed: the same seed draws the same batch; None: a fresh one, see Batch.seed.
        edge_ids: raise if the graph stores none, instead of e_id = None.
        disjoint: every seed has a tree of its own, which shares no node with the others; `batch`
        has the position of each node's seed.
        subgraph: "directional" has the edges that were drawn, "bidirectional" also the reverse of
        each, "induced" all edges between the nodes that were found.
        timeout: seconds to wait for it, instead of those of connect().
        """
        future = cast("RequestFuture[Batch]", self.sample_async(*args, **kwargs))
        return self._pool.direct().wait(future)

    def sample_links(
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
    ) -> Batch:
        """A batch around the ends of links, and of negatives that the daemon draws for them.

        The batch's source_index and target_index are local ids: of the links, then of the
        negatives. Seeds are the sorted different ends; if disjoint, all of them as they come.
        original_ids: ends of the links are original ids of a relabelled dataset.
        exclude_seed_edges: True leaves edges that are links of this batch out of it, "both" their
        reverses too: a model would otherwise see the answer. The rest is as in sample().
        """
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
            self._node_ids(sources, "sources", original_ids, deadline),
            self._node_ids(targets, "targets", original_ids, deadline),
            negatives,
            exclude_seed_edges,
            self._candidates(negatives),
        )
        return self._pool.direct().wait(self._submit(links, options, seed, deadline))

    def random_walk(
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
    ) -> Walks:
        """Walks of `length` steps along out-edges, one per start; p and q are node2vec's.

        original_ids: starts are original ids of a relabelled dataset; nodes of walks never are.
        """
        if not 0 <= length < 2**32:
            raise ValueError(f"length is {length}, expected at least 0 and less than 2**32")
        deadline = self._deadline(timeout)
        messages = walk_messages(
            self._node_ids(starts, "starts", original_ids, deadline),
            length,
            p=p,
            q=q,
            restart=restart,
            weighted=weighted,
            seed=resolve_seed(seed),
        )
        return walks_of_reply(self._ask(messages, deadline))

    def gather(self, column: str, ids: Ids, *, timeout: float | None = None) -> Any:
        """The rows `ids` of a column, in that order."""
        messages = gather_messages(column, wire_ids(ids, "ids"))
        reply = self._ask(messages, self._deadline(timeout))
        return users_tensor(reply.tensors[column], self._options.upcast)

    def original_ids(self, n_id: Ids, *, timeout: float | None = None) -> Any:
        """The ids that nodes had before the dataset was relabelled: int64, or a list of str."""
        found = original_ids(n_id, self._dataset, self._pool.direct(), self._deadline(timeout))
        return users_tensor(found) if isinstance(found, Tensor) else found

    def categories(
        self, column: str, codes: Ids | None = None, *, timeout: float | None = None
    ) -> list[Any]:
        """What codes of a column of categories stand for, str or int; None for -1, which is none.
        Without codes, all categories in the order of their codes."""
        self._require_columns([column])
        deadline = self._deadline(timeout)
        return categories(column, codes, self._dataset, self._pool.direct(), deadline)

    def find_nodes(self, original: Any, *, timeout: float | None = None) -> Any:
        """The nodes of original ids (integers, or a list of str), in that order.

        Raises InvalidRequest for an id that no node has.
        """
        found = self._node_ids(original, "original", True, self._deadline(timeout))
        return users_tensor(Tensor(found, DataType.INT64))

    def datasets(self) -> list[DatasetInfo]:
        """What the daemon serves at this moment."""
        found = list_datasets(self._options.find(), self._options.timeout).datasets
        return [DatasetInfo.from_message(message) for message in found]

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

    def column(self, name: str) -> Any:
        """A whole column as a mapped tensor of the stored type: instant for any size, not copied.

        Needs the daemon's data directory to be visible here; otherwise raises ServerUnavailable.
        """
        self._require_columns([name])
        found = open_visible(self._dataset, "the column cannot be mapped", "use gather()")
        column = found.columns[name].get_tensor()
        if not isinstance(column, np.ndarray):
            return column  # bfloat16, which only torch has
        return users_tensor(Tensor(column, found.columns[name].dtype))

    def loader(
        self,
        seeds: Ids | str | None,
        fanout: Iterable[int],
        batch_size: int | None = None,
        *,
        original_ids: bool = False,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world_size: int = 1,
        prefetch: int = 2,
        batch_sampler: Iterable[Ids] | None = None,
        columns: Sequence[str] | None = None,
        seed_columns: Sequence[str] | None = None,
        replace: bool = False,
        weighted: bool = False,
        direction: Direction | None = None,
        edge_ids: bool = False,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        timeout: float | None = None,
    ) -> Loader:
        """Batches for epochs of training, prepared ahead; see Loader.

        seeds: node ids, a bool mask over the nodes, the name of a split (a column of ids, or a bool
        node column), or None for all nodes.
        original_ids: seeds are original ids of a relabelled dataset.
        shuffle, seed: a new order in each epoch; order and draws follow from the seed.
        drop_last: leave out what does not fill a batch on every rank.
        rank, world_size: this trainer's place among those that share an epoch.
        prefetch: batches in the making ahead of the one in use.
        batch_sampler: any iterable of id arrays, one for each batch of this rank, instead of seeds,
        batch_size, shuffle and drop_last.
        The rest is as in sample().
        """
        from graphzero.client.loader import Loader, LoaderOptions

        if original_ids:
            seeds = self._node_ids(seeds, "seeds", True, self._deadline(timeout))
        return Loader(
            self,
            seeds,
            self._sample_options(
                fanout,
                columns,
                seed_columns,
                replace=replace,
                weighted=weighted,
                direction=direction,
                edge_ids=edge_ids,
                disjoint=disjoint,
                subgraph=subgraph,
            ),
            LoaderOptions(
                batch_size=batch_size,
                shuffle=shuffle,
                seed=seed,
                drop_last=drop_last,
                rank=rank,
                world_size=world_size,
                prefetch=prefetch,
                timeout=timeout,
            ),
            batch_sampler,
        )

    def close(self) -> None:
        """Ends the sessions, loaders' too. Tensors in hand stay valid. Harmless when repeated."""
        self._finalizer.detach()
        self._pool.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        from graphzero.client.connect import reopen_client

        return reopen_client, (self._options, self._dataset.fingerprint)

    def __repr__(self) -> str:
        data = self._dataset
        return f"Client({data.name!r}: {data.num_nodes} nodes, {data.num_edges} edges)"

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

    def _submit(
        self,
        seeds: Seeds,
        options: SampleOptions,
        seed: int | None,
        deadline: Deadline | None,
    ) -> RequestFuture[Batch]:
        messages = sample_messages(seeds, options, resolve_seed(seed))
        future = self._pool.direct().submit(messages, self._make_batch, deadline)
        future.keeps = self
        return future

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
    ) -> npt.NDArray[np.int64]:
        if original:
            self._require_features(["find_nodes"])
            return find_nodes(ids, self._dataset, self._pool.direct(), deadline)
        return wire_ids(ids, what)

    def _ask(self, messages: list[SessionRequest], deadline: Deadline) -> Reply:
        return self._pool.direct().ask(messages, deadline)
