"""Turns requests into messages: ids in pieces that gRPC carries, arguments as in the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from graphzero.base.ids import id_array
from graphzero.embedded.labor import Labor
from graphzero.embedded.link_request import LinkRequest
from graphzero.embedded.sample_calls import TemporalStrategy
from graphzero.embedded.sampling import SUBGRAPHS, Subgraph
from graphzero.files.topology_file import Direction
from graphzero.proto.graphzero_pb2 import (
    DIRECTION_IN,
    DIRECTION_OUT,
    DIRECTION_UNSPECIFIED,
    EXCLUDE_LINKS_BOTH,
    EXCLUDE_LINKS_FORWARD,
    EXCLUDE_LINKS_OWN,
    EXCLUDE_LINKS_PAIR,
    EXCLUDE_LINKS_UNSPECIFIED,
    NEGATIVE_KIND_PAIRS,
    NEGATIVE_KIND_TARGETS,
    NEGATIVE_KIND_UNSPECIFIED,
    NEGATIVE_WEIGHTS_DEGREE,
    NEGATIVE_WEIGHTS_UNSPECIFIED,
    SUBGRAPH_BIDIRECTIONAL,
    SUBGRAPH_INDUCED,
    SUBGRAPH_UNSPECIFIED,
    TEMPORAL_STRATEGY_LAST,
    TEMPORAL_STRATEGY_UNSPECIFIED,
    Fanout,
    FindNodes,
    Gather,
    IdsChunk,
    Links,
    Sample,
    SessionRequest,
    Temporal,
    TypedSeeds,
    Walk,
)
from graphzero.proto.graphzero_pb2 import Labor as LaborMessage

# 1 MiB: a quarter of what gRPC takes in one message by default.
IDS_PER_MESSAGE = (1 << 20) // 8
TEXT_BYTES_PER_MESSAGE = 1 << 20
IdArray: TypeAlias = npt.NDArray[np.int64]
TypedIds: TypeAlias = tuple[tuple[int, IdArray], ...]


@dataclass(frozen=True, eq=False)
class NodeSeeds:
    """Seeds by type, with their times."""

    by_type: TypedIds
    """Pairs of a type's number and ids, in the order of the numbers."""
    times: IdArray | None = None
    """One for each seed, type after type; None if the daemon knows the times, or none are
    needed."""


# What a batch is drawn around: nodes, of a graph without types or with, or links.
Seeds: TypeAlias = IdArray | NodeSeeds | LinkRequest

_DIRECTIONS = {None: DIRECTION_UNSPECIFIED, "in": DIRECTION_IN, "out": DIRECTION_OUT}
_SUBGRAPHS = {
    "directional": SUBGRAPH_UNSPECIFIED,
    "bidirectional": SUBGRAPH_BIDIRECTIONAL,
    "induced": SUBGRAPH_INDUCED,
}
_NEGATIVE_KINDS = {
    None: NEGATIVE_KIND_UNSPECIFIED,
    "pairs": NEGATIVE_KIND_PAIRS,
    "targets": NEGATIVE_KIND_TARGETS,
}
_NEGATIVE_WEIGHTS = {"uniform": NEGATIVE_WEIGHTS_UNSPECIFIED, "degree": NEGATIVE_WEIGHTS_DEGREE}
_STRATEGIES = {"uniform": TEMPORAL_STRATEGY_UNSPECIFIED, "last": TEMPORAL_STRATEGY_LAST}
_EXCLUDES = {
    False: EXCLUDE_LINKS_UNSPECIFIED,
    True: EXCLUDE_LINKS_FORWARD,
    "both": EXCLUDE_LINKS_BOTH,
    "pair": EXCLUDE_LINKS_PAIR,
    "own": EXCLUDE_LINKS_OWN,
}


@dataclass(frozen=True)
class TemporalOptions:
    """How a sample is drawn by time; times that are given come with the seeds."""

    strategy: TemporalStrategy = "uniform"
    strict: bool = False
    window: int = 0
    own: bool = False
    """Whether seeds have the times that the graph stores."""
    columns: Mapping[int, str] = field(default_factory=dict)
    """Keys of columns with the times of seeds, by type, for each type that has seeds."""

    def __post_init__(self) -> None:
        if self.strategy not in _STRATEGIES:
            raise ValueError(
                f"temporal_strategy is {self.strategy!r}, expected one of {', '.join(_STRATEGIES)}"
            )


@dataclass(frozen=True)
class SampleOptions:
    """Everything about a sample except its seeds and the seed of its draws."""

    fanout: tuple[int, ...]
    """Edges per hop of every relation, unless relation_fanout is given."""
    columns: tuple[str, ...]
    seed_columns: tuple[str, ...] = ()
    replace: bool = False
    weighted: bool = False
    direction: Direction | None = None
    edge_ids: bool = False
    disjoint: bool = False
    subgraph: Subgraph = "directional"
    relation_fanout: tuple[tuple[int, ...], ...] = ()
    """Edges per hop of each relation, if they differ."""
    temporal: TemporalOptions | None = None
    typed: bool = False
    labor: Labor | None = None

    def __post_init__(self) -> None:
        if self.direction not in _DIRECTIONS:
            raise ValueError(f'direction is {self.direction!r}, expected "in", "out" or None')
        if self.subgraph not in SUBGRAPHS:
            known = ", ".join(SUBGRAPHS)
            raise ValueError(f"subgraph is {self.subgraph!r}, expected one of {known}")

    @property
    def features(self) -> list[str]:
        """What the daemon must be able to do, see Welcome.features."""
        wanted = {
            "disjoint": self.disjoint,
            "subgraph": self.subgraph != "directional",
            "types": self.typed,
            "times": self.temporal is not None,
            "labor": self.labor is not None,
        }
        return [name for name, is_wanted in wanted.items() if is_wanted]


def sample_messages(seeds: Seeds, options: SampleOptions, seed: int) -> list[SessionRequest]:
    links: Links | None = None
    by_type: TypedIds = ()
    times: IdArray | None = None
    if isinstance(seeds, LinkRequest):
        links = _links(seeds)
        candidates = (seeds.candidates.targets, seeds.candidates.sources)
        listed = [ids for ids in candidates if isinstance(ids, np.ndarray)]
        if seeds.edge_ids is not None:
            listed.append(seeds.edge_ids)
        ids = np.concatenate([seeds.sources, seeds.targets, *listed])
        times = seeds.times
    elif isinstance(seeds, NodeSeeds):
        by_type, times = seeds.by_type, seeds.times
        ids = np.concatenate([np.empty(0, np.int64), *(ids for _, ids in by_type)])
    else:
        by_type, ids = ((0, seeds),), seeds
    pieces = _pieces(ids if times is None else np.concatenate([ids, times]))
    first = Sample(
        seeds=pieces[0],
        more_seeds=len(pieces) > 1,
        fanout=options.fanout,
        replace=options.replace,
        weighted=options.weighted,
        direction=_DIRECTIONS[options.direction],
        seed=seed,
        columns=options.columns,
        seed_columns=options.seed_columns,
        require_edge_ids=options.edge_ids,
        disjoint=options.disjoint,
        subgraph=_SUBGRAPHS[options.subgraph],
        links=links,
        typed_seeds=[
            TypedSeeds(type=number, count=len(ids)) for number, ids in by_type if options.typed
        ],
        relation_fanout=[Fanout(edges=edges) for edges in options.relation_fanout],
        temporal=_temporal(options.temporal, [number for number, _ in by_type], times),
        labor=_labor(options.labor, seed),
    )
    return [SessionRequest(sample=first), *_more(pieces)]


def walk_messages(
    starts: IdArray,
    length: int,
    *,
    p: float,
    q: float,
    restart: float,
    weighted: bool,
    seed: int,
    metapath: Sequence[int] = (),
) -> list[SessionRequest]:
    pieces = _pieces(starts)
    first = Walk(
        starts=pieces[0],
        more_starts=len(pieces) > 1,
        length=length,
        p=p,
        q=q,
        restart=restart,
        weighted=weighted,
        seed=seed,
        metapath=metapath,
    )
    return [SessionRequest(walk=first), *_more(pieces)]


def gather_messages(column: str, ids: IdArray) -> list[SessionRequest]:
    pieces = _pieces(ids)
    first = Gather(ids=pieces[0], more_ids=len(pieces) > 1, column=column)
    return [SessionRequest(gather=first), *_more(pieces)]


def find_messages(ids: IdArray, type: int) -> list[SessionRequest]:
    pieces = _pieces(ids)
    first = FindNodes(ids=pieces[0], more_ids=len(pieces) > 1, type=type)
    return [SessionRequest(find_nodes=first), *_more(pieces)]


def find_text_messages(texts: Sequence[str], type: int) -> Iterator[list[SessionRequest]]:
    """One request for each piece that gRPC carries."""
    piece: list[str] = []
    size = 0
    for text in texts:
        piece.append(text)
        size += len(text.encode()) + 8  # a little more than it takes on the wire
        if size >= TEXT_BYTES_PER_MESSAGE:
            yield [SessionRequest(find_nodes=FindNodes(texts=piece, type=type))]
            piece, size = [], 0
    if piece:
        yield [SessionRequest(find_nodes=FindNodes(texts=piece, type=type))]


def wire_ids(ids: Any, what: str) -> IdArray:
    """Ids as users have them (also a tensor on a GPU) as a contiguous int64 array."""
    if hasattr(ids, "detach"):
        ids = ids.detach().cpu()
    return id_array(ids, None, what)


def _temporal(
    options: TemporalOptions | None, types: list[int], times: IdArray | None
) -> Temporal | None:
    if options is None:
        return None
    return Temporal(
        num_times=0 if times is None else len(times),
        own=options.own,
        columns=[options.columns[number] for number in types] if options.columns else (),
        strategy=_STRATEGIES[options.strategy],
        strict=options.strict,
        window=options.window,
    )


def _labor(labor: Labor | None, seed: int) -> LaborMessage | None:
    if labor is None:
        return None
    return LaborMessage(
        layer_dependency=labor.layer_dependency,
        batch_dependency=labor.batch_dependency,
        batch=labor.batch,
        run_seed=seed if labor.run_seed is None else labor.run_seed,
    )


def _links(request: LinkRequest) -> Links:
    targets, sources = request.candidates.targets, request.candidates.sources
    return Links(
        num_sources=len(request.sources),
        num_links=request.num_links,
        negative_kind=_NEGATIVE_KINDS[request.negative_kind],
        num_negatives=request.num_negatives,
        negative_weights=_NEGATIVE_WEIGHTS[request.negative_weights],
        reject_edges=request.reject,
        exclude=_EXCLUDES[request.exclude],
        num_candidates=len(targets) if isinstance(targets, np.ndarray) else 0,
        num_source_candidates=len(sources) if isinstance(sources, np.ndarray) else 0,
        candidates_column=targets if isinstance(targets, str) else "",
        source_candidates_column=sources if isinstance(sources, str) else "",
        relation=request.relation,
        has_edge_ids=request.edge_ids is not None,
    )


def _pieces(ids: IdArray) -> list[bytes]:
    starts = range(0, max(len(ids), 1), IDS_PER_MESSAGE)
    return [ids[at : at + IDS_PER_MESSAGE].astype("<i8", copy=False).tobytes() for at in starts]


def _more(pieces: Sequence[bytes]) -> Iterator[SessionRequest]:
    for number, piece in enumerate(pieces[1:], start=2):
        yield SessionRequest(ids=IdsChunk(ids=piece, last=number == len(pieces)))
