"""`Client`: batches from a daemon. `connect` makes one."""

from __future__ import annotations

from concurrent.futures import Future
from types import TracebackType
from typing import Any

from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.client_calls import ClientCalls
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.loader_calls import LoaderCalls
from graphzero.client.signatures import with_arguments_of
from graphzero.embedded.results import Walks


class Client(LoaderCalls):
    """A connection to a daemon and one of its datasets. Made by connect(). Thread-safe.

    The client stays with the version of the data that it found: a request that could only be served
    from another one raises DatasetChanged.

    Credit for shared memory belongs to a session, so each loader has a session of its own and the
    direct calls share one; the first of these users takes the session that connect() opened. A
    forked child opens sessions of its own on first use.

    A pickled client becomes one that connects for itself, with the same arguments and to the same
    version of the data.

    AsyncClient has the same methods to be awaited, but for loaders and sample_async().
    """

    @with_arguments_of(ClientCalls._sample_request)
    def sample_async(self, *args: Any, **kwargs: Any) -> Future[Batch | TypedBatch]:
        """As sample(), without waiting: returns a future, whose cancel() also stops the daemon.

        Its callbacks run on a thread of their own, one after the other, and may use the client. The
        future keeps its client open, even if nothing else refers to the client any more. This is
        for programs with threads; in one with an event loop, AsyncClient.sample() can be awaited.
        """
        connection = self._pool.direct()
        future = connection.submit(connection.run(self._sample_request(*args, **kwargs)))
        future.keeps = self
        return future

    @with_arguments_of(ClientCalls._sample_request)
    def sample(self, *args: Any, **kwargs: Any) -> Batch | TypedBatch:
        """Draws up to fanout[h] edges for each node that hop h - 1 found, and gathers columns.

        seeds: ids of nodes; of a graph with types {type: ids} or (type, ids). The batch is then a
        TypedBatch, which reads like PyG's HeteroData.
        fanout: -1 takes all edges of a node, 0 none. One list for all relations of a graph with
        types, or one for each, {(source, name, target): list}, with default_fanout for the others.
        time: the time of each seed (integers on the graph's scale, or dates), or one for all of
        them; "own" for the time that each has in the graph, or the name of a column that has it.
        Nothing later is in the seed's tree, and disjoint is implied. time_strict also leaves out
        edges of exactly that time; time_window leaves out edges older than that time minus the
        window; temporal_strategy "last" takes the latest edges instead of any.
        original_ids: seeds are original ids of a relabelled dataset; see find_nodes().
        columns: those to gather for every node, or by e_id for every edge; None: all node columns,
        []: topology only. Of a graph with types a name stands for all columns called so, "user/x"
        for one, and {type or relation: names} for those of each.
        seed_columns: those to gather for the seeds alone, such as labels.
        replace, weighted: draw with replacement; in proportion to the edge weights.
        sampler: "labor", or a gz.Labor with options, makes nodes of a hop draw the same neighbours
        where possible: the same fanout, far fewer different nodes. With weights the batch has
        edge_scale.
        direction: "in" follows edges from target to source, as graph networks aggregate, and is the
        default; edge_index is (source, target) either way.
        seed: the same seed draws the same batch; None: a fresh one, see Batch.seed.
        edge_ids: raise if the graph stores none, instead of e_id = None.
        disjoint: every seed has a tree of its own, which shares no node with the others; `batch`
        has the position of each node's seed.
        subgraph: "directional" has the edges that were drawn, "bidirectional" also the reverse of
        each, "induced" all edges between the nodes that were found.
        timeout: seconds to wait for the batch, instead of those of connect().
        """
        return self._run(self._sample(*args, **kwargs))

    @with_arguments_of(ClientCalls._sample_links)
    def sample_links(self, *args: Any, **kwargs: Any) -> Batch | TypedBatch:
        """A batch around the ends of links, and of negatives that the daemon draws for them.

        The batch's source_index and target_index are local ids: of the links, then of the
        negatives. Seeds are the different ends, sorted; if disjoint, all ends in their order.
        relation: the relation of the links, in a graph with types: sources are nodes of its source
        type, targets of its target type, and the indices are positions in n_id of these types.
        time: the time of each link, or one for all; drawn negatives exist at the time of their
        link.
        original_ids: ends of the links are original ids of a relabelled dataset.
        exclude_seed_edges: which edges to leave out, because a model would see the answer in them.
          False   none
          True    those from source to target of a link of this batch, "both" their reverses too
          "pair"  all edges between the ends of a link; with times only in the trees of that link
          "own"   of those, the ones that did not exist before its time: earlier ones are history
          None    "own" with times, else False
        link_edge_ids: ids of the links' own edges, for links whose times are later than those of
        the edges. These edges are left out in place of those that exclude_seed_edges names, and by
        default all edges the other way, if the relation is within one type. The rest is as in
        sample().
        """
        return self._run(self._sample_links(*args, **kwargs))

    @with_arguments_of(ClientCalls._random_walk)
    def random_walk(self, *args: Any, **kwargs: Any) -> Walks:
        """Walks of `length` steps along out-edges, one per start; p and q are node2vec's.

        metapath: relations that the steps follow one after the other. A graph with types needs
        them; starts are nodes of the first relation's source type. After the end of a walk, which
        `lengths` tells, its row repeats the last node, whose type is not that of the column.
        original_ids: starts are original ids of a relabelled dataset; nodes of walks never are.
        """
        return self._run(self._random_walk(*args, **kwargs))

    @with_arguments_of(ClientCalls._gather)
    def gather(self, *args: Any, **kwargs: Any) -> Any:
        """The rows `ids` of a column, in that order."""
        return self._run(self._gather(*args, **kwargs))

    @with_arguments_of(ClientCalls._original_ids)
    def original_ids(self, *args: Any, **kwargs: Any) -> Any:
        """The ids that nodes had before the dataset was relabelled: int64, or a list of str.

        type: the nodes' type, of a graph with types.
        """
        return self._run(self._original_ids(*args, **kwargs))

    @with_arguments_of(ClientCalls._categories)
    def categories(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The categories that codes of a column stand for, str or int; None for the code -1, which
        stands for no category. Without codes, all categories in the order of their codes."""
        return self._run(self._categories(*args, **kwargs))

    @with_arguments_of(ClientCalls._find_nodes)
    def find_nodes(self, *args: Any, **kwargs: Any) -> Any:
        """The nodes of original ids (integers, or a list of str), in that order; of a graph with
        types, nodes of `type`.

        Raises InvalidRequest for an id that no node has.
        """
        return self._run(self._find_nodes(*args, **kwargs))

    def datasets(self) -> list[DatasetInfo]:
        """What the daemon serves at this moment."""
        return self._datasets()

    def column(self, name: str) -> Any:
        """A whole column as a mapped tensor of the stored type: instant for any size, not copied.

        Needs the daemon's data directory to be visible here; otherwise raises ServerUnavailable.
        Values of a quantised column are computed, and rows of one that is dealt to parts are asked
        for: both take memory for all of it, and raise MemoryError if there is no room.
        """
        found = self._mapped_column(name)
        return self._run(self._dealt_column(name)) if found is None else found

    def close(self) -> None:
        """Ends the sessions, loaders' too. Tensors in hand stay valid. Harmless when repeated."""
        self._close()

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
