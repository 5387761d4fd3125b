"""The loaders of a `Client`: their arguments, and what each means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from graphzero.base.ids import Ids
from graphzero.client.client_calls import ClientCalls
from graphzero.client.dataset.column_choice import Columns
from graphzero.client.loader.links import split_links
from graphzero.client.loader.ranks import Rank, place_of
from graphzero.client.requests.request import Call
from graphzero.client.requests.temporal import TimedDraws
from graphzero.embedded.labor import Sampler, labor_of_loader
from graphzero.embedded.link_request import ExcludeSeedEdges, Negatives
from graphzero.embedded.sample_calls import TemporalStrategy
from graphzero.embedded.sampling import Subgraph
from graphzero.embedded.typed_arguments import Fanout, Times
from graphzero.files.topology_file import Direction

if TYPE_CHECKING:
    from graphzero.client.loader.loader import Loader

T = TypeVar("T")


class LoaderCalls(ClientCalls):
    """The part of a Client that makes loaders."""

    def loader(
        self,
        seeds: Ids | str | tuple[str, Any] | Mapping[str, Any] | None,
        fanout: Fanout,
        batch_size: int | None = None,
        *,
        default_fanout: Iterable[int] | None = None,
        time: Times = None,
        time_strict: bool = False,
        time_window: Any = None,
        temporal_strategy: TemporalStrategy = "uniform",
        original_ids: bool = False,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: Rank | None = None,
        world_size: int | None = None,
        prefetch: int | None = None,
        batch_sampler: Iterable[Any] | None = None,
        columns: Columns | None = None,
        seed_columns: Columns | None = None,
        replace: bool = False,
        weighted: bool = False,
        sampler: Sampler = "neighbour",
        direction: Direction | None = None,
        edge_ids: bool = False,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        timeout: float | None = None,
    ) -> Loader:
        """Batches for epochs of training, prepared ahead; see Loader.

        seeds: node ids, a bool mask over the nodes, the name of a split (a column of ids, or a bool
        node column), or None for all nodes. Of a graph with types ("user", one of these), such as
        ("user", "train"); the name of a type for all its nodes; or {type: one of these} for several
        types, whose seeds an epoch then mixes.
        time: as in sample(); times that are given are in the order of the seeds, also of seeds of
        several types.
        original_ids: seeds are original ids of a relabelled dataset.
        shuffle, seed: a new order in each epoch; order and draws follow from the seed.
        drop_last: leave out seeds that do not fill a batch on every rank.
        rank, world_size: this trainer's place among those that share an epoch: both, or neither for
        a trainer that is alone. rank="auto" takes them from torch's process group if there is one,
        from Ray Train, or from torchrun's environment; if ranks can communicate, each must make
        this loader, and other data or arguments on one of them are an error.
        prefetch: number of batches that are prepared ahead of the one in use; None is 2, or 8 if
        the daemon reads the dataset from the disk, because batches that wait together share reads.
        timeout: seconds for a batch; None is that of connect() for every two batches of prefetch.
        batch_sampler: any iterable of id arrays, one for each batch of this rank, instead of seeds,
        batch_size, shuffle and drop_last; for a graph with types, its items are what sample() takes
        as seeds.
        sampler: "labor", or gz.Labor(batch_dependency=kappa), with which consecutive batches have
        most of their nodes in common.
        The rest is as in sample().
        """
        from graphzero.client.loader.items import LoaderOptions, LoaderSeeds
        from graphzero.client.loader.loader import Loader

        if original_ids:
            seeds = self._run(self._original_seeds(seeds, self._deadline(timeout)))
        if time is not None:
            self._require_features(["times"])
        return Loader(
            self,
            LoaderSeeds(seeds, time, batch_sampler),
            self._sample_options(
                fanout,
                columns,
                seed_columns,
                default_fanout=default_fanout,
                replace=replace,
                weighted=weighted,
                labor=labor_of_loader(sampler),
                direction=direction,
                edge_ids=edge_ids,
                disjoint=disjoint,
                subgraph=subgraph,
            ),
            TimedDraws(time_strict, time_window, temporal_strategy),
            LoaderOptions(
                batch_size=batch_size,
                shuffle=shuffle,
                seed=seed,
                drop_last=drop_last,
                place=place_of(rank, world_size),
                prefetch=prefetch,
                timeout=timeout,
            ),
        )

    def link_loader(
        self,
        links: Any,
        fanout: Fanout,
        batch_size: int | None = None,
        *,
        edge_label: Any = None,
        default_fanout: Iterable[int] | None = None,
        time: Times = None,
        time_strict: bool = False,
        time_window: Any = None,
        temporal_strategy: TemporalStrategy = "uniform",
        original_ids: bool = False,
        negatives: Negatives | None = None,
        exclude_seed_edges: ExcludeSeedEdges | None = None,
        link_edge_ids: Ids | None = None,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: Rank | None = None,
        world_size: int | None = None,
        prefetch: int | None = None,
        columns: Columns | None = None,
        replace: bool = False,
        weighted: bool = False,
        sampler: Sampler = "neighbour",
        direction: Direction | None = None,
        edge_ids: bool = False,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        timeout: float | None = None,
    ) -> Loader:
        """Batches around links for epochs of training, prepared ahead; see Loader.

        links: (2, links) ids of sources and targets, or one of these, which are edges:
          None          all edges of the graph
          (e_id, ...)   edge ids in one dimension, or a bool mask over them
          "train"       the name of a split of edges, or of a bool column of them
        Of a graph with types (relation, one of these), such as (("user", "rates", "movie"),
        "train"), or the relation for all its edges. This process reads the ends of edges from the
        daemon's directory; if it cannot see that, give links by their ends.
        edge_label: a row for each link, or the name of a column of edges; a batch has those of its
        links as edge_label. Negatives have none: they come after the links.
        time: one for each link, or one for all; "own" for the times of edges. A batch has those of
        its links as edge_label_time.
        exclude_seed_edges, link_edge_ids, negatives: as in sample_links(). If links are edges and
        `time` gives them other times, their own edges are left out by default.

        A batch is that of sample_links(); input_id are the positions of its links among all. The
        rest is as in loader().
        """
        from graphzero.client.loader.items import LoaderOptions
        from graphzero.client.loader.link_loader import LinkDraws, LoaderLinks
        from graphzero.client.loader.loader import Loader

        wanted = {"links": True, "times": time is not None, "find_nodes": original_ids}
        self._require_features(name for name, is_wanted in wanted.items() if is_wanted)
        relation, named = split_links(self._dataset, links)
        link_draws = LinkDraws(
            relation, negatives, self._candidates(negatives, relation), exclude_seed_edges
        )
        return Loader(
            self,
            LoaderLinks(named, edge_label, time, link_edge_ids, original_ids, link_draws),
            self._sample_options(
                fanout,
                columns,
                default_fanout=default_fanout,
                replace=replace,
                weighted=weighted,
                labor=labor_of_loader(sampler),
                direction=direction,
                edge_ids=edge_ids,
                disjoint=disjoint,
                subgraph=subgraph,
            ),
            TimedDraws(time_strict, time_window, temporal_strategy),
            LoaderOptions(
                batch_size=batch_size,
                shuffle=shuffle,
                seed=seed,
                drop_last=drop_last,
                place=place_of(rank, world_size),
                prefetch=prefetch,
                timeout=timeout,
            ),
        )

    def _run(self, call: Call[T]) -> T:
        return self._pool.direct().run(call)


# Python's errors about arguments name the class that users know.
for _call in (LoaderCalls.loader, LoaderCalls.link_loader):
    _call.__qualname__ = f"Client.{_call.__name__}"
del _call
