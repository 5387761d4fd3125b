"""`Client`: batches from a daemon. `connect` makes one."""

from __future__ import annotations

from concurrent.futures import Future
from types import TracebackType
from typing import Any

from graphzero.client.batch import Batch
from graphzero.client.calls import ClientCalls
from graphzero.client.info import DatasetInfo
from graphzero.client.loader_calls import LoaderCalls
from graphzero.client.signatures import with_arguments_of
from graphzero.client.typed_batch import TypedBatch
from graphzero.embedded.results import Walks


class Client(LoaderCalls):
    """A connection to a daemon and one of its datasets. Made by connect(). Thread-safe.

    The client stays with the version of the data that it found: a request that could only be served
    from another one raises DatasetChanged.

    Credit for shared memory belongs to a session, so each loader has one of its own and the direct
    calls share one; the first of them takes that which connect() opened. They are opened anew in a
    forked child, on first use.

    A pickled client becomes one that connects for itself, with the same arguments and to the same
    version of the data.

    AsyncClient has the same methods to be awaited.
    """

    @with_arguments_of(ClientCalls._sample_request)
    def sample_async(self, *args: Any, **kwargs: Any) -> Future[Batch | TypedBatch]:
        """As sample(), without waiting: a future, whose cancel() also frees the daemon's work.

        Its callbacks run on a thread of their own, one after the other, and may use the client. The
        future keeps its client open, also when nothing else refers to that any more. This is for
        programs with threads; in one with an event loop, AsyncClient.sample() can be awaited.
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
        Nothing later is in the seed's tree, and disjoint is implied. time_strict leaves out what is
        exactly as late; time_window, what is older than that long before; temporal_strategy "last"
        takes the latest edges instead of any.
        original_ids: seeds are original ids of a relabelled dataset; see find_nodes().
        columns: those to gather for every node, or by e_id for every edge; None: all node columns,
        []: topology only. Of a graph with types a name stands for all columns called so, "user/x"
        for one, and {type or relation: names} for those of each.
        seed_columns: those to gather for the seeds alone, such as labels.
        replace, weighted: draw with replacement; in proportion to the edge weights.
        sampler: "labor", or a gz.Labor with options, makes nodes of a hop agree on whom they draw:
        the same fanout, far fewer different nodes. With weights the batch has edge_scale.
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
        return self._run(self._sample(*args, **kwargs))

    @with_arguments_of(ClientCalls._sample_links)
    def sample_links(self, *args: Any, **kwargs: Any) -> Batch | TypedBatch:
        """A batch around the ends of links, and of negatives that the daemon draws for them.

        The batch's source_index and target_index are local ids: of the links, then of the
        negatives. Seeds are the sorted different ends; if disjoint, all of them as they come.
        relation: what the links are of, in a graph with types: sources are nodes of its source
        type, targets of its target type, and the indices positions in n_id of these types.
        time: of each link, or one for all; negatives exist at the time of their link.
        original_ids: ends of the links are original ids of a relabelled dataset.
        exclude_seed_edges: which edges to leave out, because a model would see the answer in them.
          False   none
          True    those from source to target of a link of this batch, "both" their reverses too
          "pair"  all edges between the ends of a link; with times only in the trees of that link
          "own"   of those, the ones that did not exist before its time: earlier ones are history
          None    "own" with times, else False
        link_edge_ids: of links with times that come after their edges: the ids of these, which are
        left out in place of anything else. The rest is as in sample().
        """
        return self._run(self._sample_links(*args, **kwargs))

    @with_arguments_of(ClientCalls._random_walk)
    def random_walk(self, *args: Any, **kwargs: Any) -> Walks:
        """Walks of `length` steps along out-edges, one per start; p and q are node2vec's.

        metapath: relations that the steps follow one after the other, of a graph with types, which
        needs them; starts are nodes of the first one's source type.
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
        """What codes of a column of categories stand for, str or int; None for -1, which is none.
        Without codes, all categories in the order of their codes."""
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
        """
        return self._column(name)

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
