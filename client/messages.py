"""Requests as messages: ids in pieces that gRPC carries, arguments as the wire has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from graphzero.base.ids import id_array
from graphzero.client.errors import InvalidRequest
from graphzero.embedded.link_request import LinkRequest
from graphzero.embedded.sampling import SUBGRAPHS, Subgraph, as_fanout
from graphzero.files.topology_file import Direction
from graphzero.proto.graphzero_pb2 import (
    DIRECTION_IN,
    DIRECTION_OUT,
    DIRECTION_UNSPECIFIED,
    EXCLUDE_LINKS_BOTH,
    EXCLUDE_LINKS_FORWARD,
    EXCLUDE_LINKS_UNSPECIFIED,
    NEGATIVE_KIND_PAIRS,
    NEGATIVE_KIND_TARGETS,
    NEGATIVE_KIND_UNSPECIFIED,
    NEGATIVE_WEIGHTS_DEGREE,
    NEGATIVE_WEIGHTS_UNSPECIFIED,
    SUBGRAPH_BIDIRECTIONAL,
    SUBGRAPH_INDUCED,
    SUBGRAPH_UNSPECIFIED,
    FindNodes,
    Gather,
    IdsChunk,
    Links,
    Sample,
    SessionRequest,
    Walk,
)

# 1 MiB: a quarter of what gRPC takes in one message by default.
IDS_PER_MESSAGE = (1 << 20) // 8
TEXT_BYTES_PER_MESSAGE = 1 << 20

# What a batch is drawn around: nodes, or links.
Seeds: TypeAlias = npt.NDArray[np.int64] | LinkRequest

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
_EXCLUDES = {
    False: EXCLUDE_LINKS_UNSPECIFIED,
    True: EXCLUDE_LINKS_FORWARD,
    "both": EXCLUDE_LINKS_BOTH,
}


@dataclass(frozen=True)
class SampleOptions:
    """Everything about a sample except its seeds and the seed of its draws."""

    fanout: tuple[int, ...]
    columns: tuple[str, ...]
    seed_columns: tuple[str, ...] = ()
    replace: bool = False
    weighted: bool = False
    direction: Direction | None = None
    edge_ids: bool = False
    disjoint: bool = False
    subgraph: Subgraph = "directional"

    @classmethod
    def of(
        cls,
        fanout: Iterable[int],
        columns: Sequence[str] | None,
        seed_columns: Sequence[str] | None,
        node_columns: Sequence[str],
        **draws: Any,
    ) -> SampleOptions:
        """Without `columns`, every node column that is not for seeds only."""
        for_seeds = _names(seed_columns or (), "seed_columns")
        if columns is None:
            columns = [name for name in node_columns if name not in for_seeds]
        try:
            hops = tuple(as_fanout(fanout))
        except ValueError as error:
            raise InvalidRequest(str(error)) from None
        return cls(hops, _names(columns, "columns"), for_seeds, **draws)

    def __post_init__(self) -> None:
        both = sorted(set(self.columns) & set(self.seed_columns))
        if both:
            raise ValueError(f"column {both[0]!r} is in columns and in seed_columns; choose one")
        if self.direction not in _DIRECTIONS:
            raise ValueError(f'direction is {self.direction!r}, expected "in", "out" or None')
        if self.subgraph not in SUBGRAPHS:
            known = ", ".join(SUBGRAPHS)
            raise ValueError(f"subgraph is {self.subgraph!r}, expected one of {known}")

    @property
    def features(self) -> list[str]:
        """What the daemon must be able to do, see Welcome.features."""
        return ["disjoint"] * self.disjoint + ["subgraph"] * (self.subgraph != "directional")


def sample_messages(seeds: Seeds, options: SampleOptions, seed: int) -> list[SessionRequest]:
    links = None
    if isinstance(seeds, LinkRequest):
        links = _links(seeds)
        candidates = (seeds.candidates.targets, seeds.candidates.sources)
        listed = [ids for ids in candidates if isinstance(ids, np.ndarray)]
        seeds = np.concatenate([seeds.sources, seeds.targets, *listed])
    pieces = _pieces(seeds)
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
    )
    return [SessionRequest(sample=first), *_more(pieces)]


def walk_messages(
    starts: npt.NDArray[np.int64],
    length: int,
    *,
    p: float,
    q: float,
    restart: float,
    weighted: bool,
    seed: int,
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
    )
    return [SessionRequest(walk=first), *_more(pieces)]


def gather_messages(column: str, ids: npt.NDArray[np.int64]) -> list[SessionRequest]:
    pieces = _pieces(ids)
    first = Gather(ids=pieces[0], more_ids=len(pieces) > 1, column=column)
    return [SessionRequest(gather=first), *_more(pieces)]


def find_messages(ids: npt.NDArray[np.int64]) -> list[SessionRequest]:
    pieces = _pieces(ids)
    first = FindNodes(ids=pieces[0], more_ids=len(pieces) > 1)
    return [SessionRequest(find_nodes=first), *_more(pieces)]


def find_text_messages(texts: Sequence[str]) -> Iterator[list[SessionRequest]]:
    """One request for each piece that gRPC carries."""
    piece: list[str] = []
    size = 0
    for text in texts:
        piece.append(text)
        size += len(text.encode()) + 8  # a little more than it takes on the wire
        if size >= TEXT_BYTES_PER_MESSAGE:
            yield [SessionRequest(find_nodes=FindNodes(texts=piece))]
            piece, size = [], 0
    if piece:
        yield [SessionRequest(find_nodes=FindNodes(texts=piece))]


def wire_ids(ids: Any, what: str) -> npt.NDArray[np.int64]:
    """Ids as users have them (also a tensor on a GPU) as a contiguous int64 array."""
    if hasattr(ids, "detach"):
        ids = ids.detach().cpu()
    return id_array(ids, None, what)


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
    )


def _names(names: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"{what} is the text {names!r}, expected a list of names")
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise ValueError(f"{what} has {repeated[0]!r} twice")
    return tuple(names)


def _pieces(ids: npt.NDArray[np.int64]) -> list[bytes]:
    starts = range(0, max(len(ids), 1), IDS_PER_MESSAGE)
    return [ids[at : at + IDS_PER_MESSAGE].astype("<i8", copy=False).tobytes() for at in starts]


def _more(pieces: Sequence[bytes]) -> Iterator[SessionRequest]:
    for number, piece in enumerate(pieces[1:], start=2):
        yield SessionRequest(ids=IdsChunk(ids=piece, last=number == len(pieces)))
