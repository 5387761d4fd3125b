"""What `Client` and `AsyncClient` have in common: every call as the requests that it takes.

A call is a generator, see requests/request.py. `Client` waits for its answers and `AsyncClient`
awaits them; arguments, checks and results are written here, once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from graphzero.base.ids import Ids
from graphzero.client.batches.batch import batch_of_reply, walks_of_reply
from graphzero.client.batches.typed_batch import AnyBatch, typed_batch_of_reply
from graphzero.client.connection.pool import ConnectionPool
from graphzero.client.connection.stream import list_datasets
from graphzero.client.dataset.column_choice import Columns, chosen_columns
from graphzero.client.dataset.files import open_visible
from graphzero.client.dataset.info import ClientInfo, DatasetInfo
from graphzero.client.errors import InvalidRequest, NotFound, as_invalid_request
from graphzero.client.memory.results import Reply, Tensor
from graphzero.client.memory.tensors import users_tensor
from graphzero.client.process.deadline import Deadline
from graphzero.client.requests.dealt_column import read_dealt_column
from graphzero.client.requests.messages import (
    NodeSeeds,
    SampleOptions,
    Seeds,
    gather_messages,
    sample_messages,
    walk_messages,
    wire_ids,
)
from graphzero.client.requests.original_ids import categories, find_nodes, original_ids
from graphzero.client.requests.request import Call, Request, the_reply
from graphzero.client.requests.seeds import find_split, node_ids
from graphzero.client.requests.temporal import TimedDraws, temporal_options
from graphzero.embedded.labor import Sampler, labor_of
from graphzero.embedded.link_request import Candidates, ExcludeSeedEdges, Negatives, link_request
from graphzero.embedded.results import Walks
from graphzero.embedded.sample_calls import TemporalStrategy
from graphzero.embedded.sampling import Subgraph, resolve_seed
from graphzero.embedded.typed_arguments import (
    Fanout,
    Times,
    fanout_of_relations,
    given_order,
    seeds_by_type,
    time_array,
)
from graphzero.embedded.typed_arguments import (
    Seeds as TypedSeeds,
)
from graphzero.files.dtypes import DataType
from graphzero.files.schema import type_text
from graphzero.files.topology_file import Direction

if TYPE_CHECKING:
    from graphzero.client.connect import ConnectOptions

# Of a daemon that suggests nothing.
_USUAL_PREFETCH = 2


class ClientCalls:
    """The part of a client that does not depend on how it waits. Opens the first session."""

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._pool = ConnectionPool(options.find, options.session(), options.patience())
        self._finalizer = weakref.finalize(self, self._pool.end)
        self._dataset = DatasetInfo.from_message(self._pool.welcome.dataset)
        # Not a bound method, because requests under way must not keep the client alive.
        make = partial(typed_batch_of_reply, self._dataset.schema)
        self._make_batch: Callable[[Reply], AnyBatch] = partial(
            make if self._dataset.schema.typed else batch_of_reply, upcast=options.upcast
        )

    def info(self) -> ClientInfo:
        """What this client is connected to."""
        return ClientInfo(
            address=str(self._pool.address),
            transport="inline" if self._pool.inline else "shared_memory",
            dataset=self._dataset,
            sampler_version=self._pool.welcome.sampler_version,
            max_request_edges=self._pool.welcome.max_request_edges,
            max_result_byte_size=self._pool.welcome.max_result_byte_size,
            suggested_prefetch=self._pool.welcome.suggested_prefetch or _USUAL_PREFETCH,
        )

    def __repr__(self) -> str:
        data, kind = self._dataset, type(self).__name__
        return f"{kind}({data.name!r}: {data.num_nodes} nodes, {data.num_edges} edges)"

    def _close(self) -> None:
        self._finalizer.detach()
        self._pool.close()

    def _sample_request(
        self,
        seeds: TypedSeeds,
        fanout: Fanout,
        *,
        default_fanout: Iterable[int] | None = None,
        time: Times = None,
        time_strict: bool = False,
        time_window: Any = None,
        temporal_strategy: TemporalStrategy = "uniform",
        original_ids: bool = False,
        columns: Columns | None = None,
        seed_columns: Columns | None = None,
        replace: bool = False,
        weighted: bool = False,
        sampler: Sampler = "neighbour",
        direction: Direction | None = None,
        seed: int | None = None,
        edge_ids: bool = False,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        timeout: float | None = None,
    ) -> Call[Request[AnyBatch]]:
        """The last request of sample(), whose result is the batch."""
        deadline = self._deadline(timeout)
        by_type = yield from self._seeds_by_type(seeds, original_ids, deadline)
        draws = TimedDraws(time_strict, time_window, temporal_strategy)
        order = given_order(self._dataset.schema, seeds)
        temporal, times = temporal_options(self._dataset, time, by_type, draws, order)
        options = self._sample_options(
            fanout,
            columns,
            seed_columns,
            default_fanout=default_fanout,
            temporal=temporal,
            replace=replace,
            weighted=weighted,
            labor=labor_of(sampler),
            direction=direction,
            edge_ids=edge_ids,
            disjoint=disjoint,
            subgraph=subgraph,
        )
        return self._batch_request(NodeSeeds(tuple(by_type), times), options, seed, deadline)

    def _sample(self, *args: Any, **kwargs: Any) -> Call[AnyBatch]:
        return _with_last_request(self._sample_request(*args, **kwargs))

    def _sample_links(
        self,
        sources: Ids,
        targets: Ids,
        fanout: Fanout,
        *,
        relation: Any = None,
        default_fanout: Iterable[int] | None = None,
        time: Times = None,
        time_strict: bool = False,
        time_window: Any = None,
        temporal_strategy: TemporalStrategy = "uniform",
        original_ids: bool = False,
        negatives: Negatives | None = None,
        exclude_seed_edges: ExcludeSeedEdges | None = None,
        link_edge_ids: Ids | None = None,
        columns: Columns | None = None,
        replace: bool = False,
        weighted: bool = False,
        sampler: Sampler = "neighbour",
        direction: Direction | None = None,
        seed: int | None = None,
        edge_ids: bool = False,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        timeout: float | None = None,
    ) -> Call[AnyBatch]:
        self._require_features(["links"])
        number = self._relation_number(relation)
        found = self._dataset.schema.relations[number]
        deadline = self._deadline(timeout)
        ends = (
            (yield from self._node_ids(sources, "sources", original_ids, deadline, found.source)),
            (yield from self._node_ids(targets, "targets", original_ids, deadline, found.target)),
        )
        if isinstance(time, str):
            raise InvalidRequest(f"time is {time!r}, expected times, one for each link")
        if time is not None:
            with as_invalid_request():
                time = time_array(time, len(ends[0]), self._dataset.schema.time_unit, of="link")
        draws = TimedDraws(time_strict, time_window, temporal_strategy)
        temporal, times = temporal_options(self._dataset, time, [(found.source, ends[0])], draws)
        options = self._sample_options(
            fanout,
            columns,
            default_fanout=default_fanout,
            temporal=temporal,
            replace=replace,
            weighted=weighted,
            labor=labor_of(sampler),
            direction=direction,
            edge_ids=edge_ids,
            disjoint=disjoint,
            subgraph=subgraph,
        )
        links = link_request(
            *ends,
            negatives,
            exclude_seed_edges,
            self._candidates(negatives, number),
            relation=number,
            times=times,
            edge_ids=None if link_edge_ids is None else wire_ids(link_edge_ids, "link_edge_ids"),
        )
        batch: AnyBatch = yield self._batch_request(links, options, seed, deadline)
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
        metapath: Iterable[Any] = (),
        weighted: bool = False,
        seed: int | None = None,
        timeout: float | None = None,
    ) -> Call[Walks]:
        if not 0 <= length < 2**32:
            raise ValueError(f"length is {length}, expected at least 0 and less than 2**32")
        deadline = self._deadline(timeout)
        schema = self._dataset.schema
        with as_invalid_request():
            steps = [schema.relation_number(each, "a step of metapath") for each in metapath]
        if steps:
            self._require_features(["types"])
        first = schema.relations[steps[0]].source if steps else 0
        messages = walk_messages(
            (yield from self._node_ids(starts, "starts", original_ids, deadline, first)),
            length,
            metapath=steps,
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

    def _original_ids(
        self, n_id: Ids, *, type: str | None = None, timeout: float | None = None
    ) -> Call[Any]:
        number = self._type_number(type)
        found = yield from original_ids(n_id, self._dataset, self._deadline(timeout), number)
        return users_tensor(found) if isinstance(found, Tensor) else found

    def _find_nodes(
        self, original: Any, *, type: str | None = None, timeout: float | None = None
    ) -> Call[Any]:
        number = self._type_number(type)
        found = yield from self._original_nodes(original, self._deadline(timeout), number)
        return users_tensor(Tensor(found, DataType.INT64))

    def _categories(
        self, column: str, codes: Ids | None = None, *, timeout: float | None = None
    ) -> Call[list[Any]]:
        self._require_column(column)
        return (yield from categories(column, codes, self._dataset, self._deadline(timeout)))

    def _datasets(self) -> list[DatasetInfo]:
        found = list_datasets(self._options.find(), self._options.timeout).datasets
        return [DatasetInfo.from_message(message) for message in found]

    def _mapped_column(self, name: str) -> Any:
        """A whole column; None if the daemon has only a part of it."""
        self._require_column(name)
        found = open_visible(self._dataset, "the column cannot be mapped", "use gather()")
        column = found.columns[name]
        if column.shard is not None:
            return None
        return users_tensor(Tensor(column.view(), column.dtype))

    def _dealt_column(self, name: str) -> Call[Any]:
        """The whole of a column that is dealt to parts, by requests."""
        found = yield from read_dealt_column(
            self._dataset.columns[name], partial(self._deadline, None)
        )
        return users_tensor(found)

    def _sample_options(
        self,
        fanout: Fanout,
        columns: Columns | None,
        seed_columns: Columns | None = None,
        default_fanout: Iterable[int] | None = None,
        **draws: Any,
    ) -> SampleOptions:
        """`draws`: the other fields of SampleOptions by name."""
        schema = self._dataset.schema
        with as_invalid_request():
            hops = [tuple(h) for h in fanout_of_relations(schema, fanout, default_fanout)]
        for_all, for_seeds = chosen_columns(self._dataset, columns, seed_columns)
        differ = len(set(hops)) > 1
        options = SampleOptions(
            fanout=() if differ or not hops else hops[0],
            relation_fanout=tuple(hops) if differ else (),
            columns=for_all,
            seed_columns=for_seeds,
            typed=schema.typed,
            **draws,
        )
        self._require_features(options.features)
        return options

    def _batch_request(
        self, seeds: Seeds, options: SampleOptions, seed: int | None, deadline: Deadline
    ) -> Request[AnyBatch]:
        messages = sample_messages(seeds, options, resolve_seed(seed))
        return Request(messages, self._make_batch, deadline)

    def _deadline(self, timeout: float | None) -> Deadline:
        """The deadline of one call, for all the requests that it takes."""
        return Deadline(self._options.timeout if timeout is None else timeout)

    def _candidates(self, negatives: Negatives | None, relation: int = 0) -> Candidates:
        """The nodes that negatives are drawn from, after a check that they exist."""
        schema = self._dataset.schema
        found = schema.relations[relation]
        counts = (schema.types[number].count for number in (found.target, found.source))
        candidates = Candidates.of(negatives, *counts)
        if not candidates.are_all_nodes:
            self._require_features(["candidates"])
        return Candidates(
            self._checked_candidates(candidates.targets, "candidates", found.target),
            self._checked_candidates(candidates.sources, "source_candidates", found.source),
        )

    def _checked_candidates(self, nodes: Any, what: str, type: int) -> Any:
        """Ids, or the key of a column of that type; None for all nodes."""
        if isinstance(nodes, str):
            return find_split(nodes, self._dataset, type).name
        if nodes is not None:
            node_ids(nodes, self._dataset, f"{what} of negatives", type)
        return nodes

    def _relation_number(self, relation: Any) -> int:
        """The number of the links' relation, which must be named in a graph with types only."""
        schema = self._dataset.schema
        with as_invalid_request():
            if relation is None and not schema.typed:
                return 0
            if not schema.typed:
                raise ValueError(f"relation is {relation!r}, but the graph has no types")
            return schema.relation_number(relation, "relation of the links")

    def _require_features(self, features: Iterable[str]) -> None:
        for feature in features:
            if feature not in self._pool.welcome.features:
                raise InvalidRequest(
                    f"this daemon is older than its client and cannot do {feature!r}; restart it "
                    "with the installed version"
                )

    def _require_column(self, name: str) -> None:
        if name not in self._dataset.columns:
            known = ", ".join(self._dataset.columns) or "none"
            raise NotFound(f"dataset {self._dataset.name!r} has no column {name!r}, it has {known}")

    def _type_number(self, name: str | None) -> int:
        """The number of a type, which a call must name in a graph with types only."""
        schema = self._dataset.schema
        with as_invalid_request():
            if name is None and not schema.typed:
                return 0
            if not schema.typed:
                raise ValueError(f"type is {name!r}, but dataset {self._dataset.name!r} has none")
            return schema.type_number(name)

    def _seeds_by_type(
        self, seeds: TypedSeeds, original: bool, deadline: Deadline
    ) -> Call[list[tuple[int, npt.NDArray[np.int64]]]]:
        """Pairs of a type's number and node ids. Asks the daemon for the nodes of original ids."""
        schema = self._dataset.schema
        with as_invalid_request():
            given = seeds_by_type(schema, seeds, texts=original)
        found = []
        for number, ids in given.items():
            what = f"seeds{type_text(schema, number)}"
            nodes = yield from self._node_ids(ids, what, original, deadline, number)
            found.append((number, nodes))
        return found

    def _original_seeds(self, seeds: Any, deadline: Deadline) -> Call[Any]:
        """Turns the original ids of a loader's seeds into node ids. All nodes, None, need no ids.
        Types stay in the order in which the user gave them: one array of times for several types is
        in that order."""
        schema = self._dataset.schema
        if schema.typed and isinstance(seeds, str):
            seeds = {seeds: None}
        with as_invalid_request():
            given = seeds_by_type(schema, seeds, texts=True)
        nodes = {}
        for number, ids in given.items():
            if ids is not None:
                ids = yield from self._original_nodes(ids, deadline, number)
            nodes[number] = ids
        if not schema.typed:
            return nodes[0]
        order = given_order(schema, seeds) or nodes
        return {schema.types[number].name: nodes[number] for number in order}

    def _node_ids(
        self, ids: Any, what: str, original: bool, deadline: Deadline, type: int = 0
    ) -> Call[npt.NDArray[np.int64]]:
        """Node ids as an array. Asks the daemon for the nodes of original ids."""
        if original:
            return (yield from self._original_nodes(ids, deadline, type))
        return wire_ids(ids, what)

    def _original_nodes(
        self, original: Any, deadline: Deadline | None = None, type: int = 0
    ) -> Call[npt.NDArray[np.int64]]:
        self._require_features(["find_nodes"])
        patience = deadline or self._deadline(None)
        return (yield from find_nodes(original, self._dataset, patience, type))


def _with_last_request(call: Call[Request[AnyBatch]]) -> Call[AnyBatch]:
    batch: AnyBatch = yield (yield from call)
    return batch
