"""What a sample asks for beside its seeds, looked up in the dataset and checked.

A graph without types has one type and one relation: what is said here of types holds for it as
well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from graphzero.embedded.labor import Labor
from graphzero.embedded.link_request import (
    Candidates,
    ExcludeSeedEdges,
    LinkRequest,
    NegativeKind,
    NegativeWeights,
)
from graphzero.embedded.sampling import as_fanout
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import column_key, split_key
from graphzero.files.dataset import Dataset
from graphzero.files.schema import Schema, type_text
from graphzero.files.topology_file import Direction
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotPossible
from graphzero.server.compute.base import Ids, TypedIds, column_of
from graphzero.server.compute.candidates import candidate_column, read_candidates
from graphzero.server.compute.temporal import TemporalRecipe
from graphzero.server.compute.work_bound import nodes_per_seed, work_per_seed

# Names of the tensors of edge weights, and of LABOR's scales of edges, in a result.
WEIGHTS = "edge_weight"
SCALES = "edge_scale"

T = TypeVar("T")
RowsOf: TypeAlias = Literal["node", "edge", "seed"]

_DIRECTIONS: dict[int, Direction | None] = {
    pb.DIRECTION_UNSPECIFIED: None,
    pb.DIRECTION_IN: "in",
    pb.DIRECTION_OUT: "out",
}
_SUBGRAPHS: dict[int, str] = {
    pb.SUBGRAPH_UNSPECIFIED: "directional",
    pb.SUBGRAPH_BIDIRECTIONAL: "bidirectional",
    pb.SUBGRAPH_INDUCED: "induced",
}
_NEGATIVE_KINDS: dict[int, NegativeKind | None] = {
    pb.NEGATIVE_KIND_UNSPECIFIED: None,
    pb.NEGATIVE_KIND_PAIRS: "pairs",
    pb.NEGATIVE_KIND_TARGETS: "targets",
}
_NEGATIVE_WEIGHTS: dict[int, NegativeWeights] = {
    pb.NEGATIVE_WEIGHTS_UNSPECIFIED: "uniform",
    pb.NEGATIVE_WEIGHTS_DEGREE: "degree",
}
_EXCLUDES: dict[int, ExcludeSeedEdges] = {
    pb.EXCLUDE_LINKS_UNSPECIFIED: False,
    pb.EXCLUDE_LINKS_FORWARD: True,
    pb.EXCLUDE_LINKS_BOTH: "both",
    pb.EXCLUDE_LINKS_PAIR: "pair",
    pb.EXCLUDE_LINKS_OWN: "own",
}
# Most negatives that one request may ask for: their ends become seeds.
_MAX_NEGATIVES = 1 << 26
_MAX_FANOUT = 1024


class Gathered(NamedTuple):
    """A column of a batch, with rows for the nodes or seeds of a type, or for the edges of a
    relation; `owner` is the number of that type or relation."""

    of: RowsOf
    owner: int
    name: str
    column: ColumnFile
    dtype: str
    row_shape: tuple[int, ...]


class TensorNames(NamedTuple):
    """Names of the tensors of a result, by the numbers of types and relations."""

    n_id: list[str]
    batch: list[str]
    edge_index: list[str]
    e_id: list[str]
    weight: list[str]
    scale: list[str]

    @classmethod
    def of(cls, schema: Schema) -> TensorNames:
        types = [found.directory for found in schema.types]
        relations = [found.directory for found in schema.relations]
        return cls(
            n_id=[column_key(directory, "n_id") for directory in types],
            batch=[column_key(directory, "batch") for directory in types],
            edge_index=[column_key(directory, "edge_index") for directory in relations],
            e_id=[column_key(directory, "e_id") for directory in relations],
            weight=[column_key(directory, WEIGHTS) for directory in relations],
            scale=[column_key(directory, SCALES) for directory in relations],
        )


@dataclass(frozen=True)
class SampleRecipe:
    fanout: list[list[int]]
    """Edges per hop, of each relation."""
    replace: bool
    weighted: bool
    disjoint: bool
    direction: Direction | None
    subgraph: str
    seed_types: tuple[int, ...]
    links: pb.Links | None
    candidates: ColumnFile | None
    source_candidates: ColumnFile | None
    """Columns that targets and sources of negatives are drawn from."""
    temporal: TemporalRecipe | None
    names: TensorNames
    gathered: tuple[Gathered, ...]
    gathered_edges: frozenset[int]
    """Relations whose columns are among `gathered`."""
    own_weights: frozenset[int]
    """Relations for which a column takes the place of the graph's weights in the result."""
    work_per_seed: list[tuple[int, int]] | None
    """For a seed of each type: the most nodes that it leads to, and the most bytes of their rows.
    None if nothing bounds the work (weights, whole rows, rejected negatives) or it is not small."""

    @classmethod
    def read(cls, dataset: Dataset, request: pb.Sample) -> SampleRecipe:
        schema = dataset.schema
        if request.require_edge_ids and schema.without_edge_ids is not None:
            raise NotPossible(
                f"{schema.without_edge_ids} stores no edge ids; convert it with --edge-ids"
            )
        fanout = _fanout(schema, request)
        subgraph = _known(_SUBGRAPHS, request.subgraph, "subgraph")
        direction = _known(_DIRECTIONS, request.direction, "direction")
        links = request.links if request.HasField("links") else None
        seed_types = _seed_types(schema, request)
        temporal = None
        if request.HasField("temporal"):
            temporal = TemporalRecipe.read(dataset, request.temporal, seed_types)
            if links is not None and not temporal.are_given:
                raise ValueError("times of links are not those of nodes, expected them as ids")
        gathered = _gathered(dataset, request)
        is_labor = request.HasField("labor")
        # LABOR looks at many slots of each row.
        unbounded = request.weighted or subgraph == "induced" or links is not None or is_labor
        return cls(
            fanout=fanout,
            replace=request.replace,
            weighted=request.weighted,
            disjoint=request.disjoint or temporal is not None,
            direction=direction,
            subgraph=subgraph,
            seed_types=seed_types,
            links=links,
            candidates=_candidates_of(dataset, links, "target"),
            source_candidates=_candidates_of(dataset, links, "source"),
            temporal=temporal,
            names=TensorNames.of(schema),
            gathered=gathered,
            gathered_edges=frozenset(found.owner for found in gathered if found.of == "edge"),
            own_weights=frozenset(
                found.owner for found in gathered if split_key(found.name)[1] == WEIGHTS
            ),
            work_per_seed=None
            if unbounded
            else work_per_seed(
                nodes_per_seed(schema, fanout, direction),
                [(found.of == "edge", found.owner, found.column.row_bytes) for found in gathered],
            ),
        )

    def seeds(self, sizes: SeedSizes, ids: Ids) -> tuple[TypedIds, Ids]:
        """Seeds by type, and the times that came with them."""
        if not self.seed_types and len(ids):
            raise ValueError(
                f"found {len(ids)} ids of no type, expected typed_seeds: the graph has types"
            )
        counts = self._counts(sizes, len(ids))
        are_given = self.temporal is not None and self.temporal.are_given
        if sizes.num_times != (sum(counts) if are_given else 0):
            raise ValueError(
                f"found {sizes.num_times} times for {sum(counts)} seeds, expected "
                + ("one for each" if are_given else "none: they are not those of the request")
            )
        if sum(counts) + sizes.num_times != len(ids):
            raise ValueError(
                f"typed_seeds are {sum(counts)} with {sizes.num_times} times, but {len(ids)} ids "
                "came"
            )
        seeds, first = [], 0
        for number, count in zip(self.seed_types, counts, strict=True):
            seeds.append((number, ids[first : first + count]))
            first += count
        return seeds, ids[first:]

    def most_work(self, sizes: SeedSizes, ids: int) -> tuple[int, int] | None:
        """The most nodes that a request with `ids` ids leads to, and the most bytes of their rows;
        None if nothing bounds them, or they are many."""
        if self.work_per_seed is None:
            return None
        nodes = size = 0
        for number, count in zip(self.seed_types, self._counts(sizes, ids), strict=True):
            of_seed = self.work_per_seed[number]
            nodes += count * of_seed[0]
            size += count * of_seed[1]
        return nodes, size

    def _counts(self, sizes: SeedSizes, ids: int) -> tuple[int, ...]:
        """Number of seeds of each of seed_types."""
        if sizes.counts or not self.seed_types:
            return sizes.counts
        if sizes.num_times > ids:
            raise ValueError(f"found {ids} ids, but {sizes.num_times} of them are times")
        return (ids - sizes.num_times,)

    def link_request(self, sizes: SeedSizes, ids: Ids) -> LinkRequest:
        """Reads the links from `ids`, which are sources, then targets, then candidates for
        negatives, then ids of the links' own edges, then times."""
        links = self.links
        assert links is not None
        if links.num_sources > len(ids):
            raise ValueError(f"{links.num_sources} sources of links, but {len(ids)} ids")
        if links.num_negatives > _MAX_NEGATIVES:
            raise ValueError(
                f"{links.num_negatives} negatives, expected at most {_MAX_NEGATIVES} in one request"
            )
        own_edges = links.num_links if links.has_edge_ids else 0
        listed = links.num_candidates + links.num_source_candidates
        last = len(ids) - listed - own_edges - sizes.num_times
        if links.num_sources > last:
            raise ValueError(
                f"{links.num_sources} sources of links, {listed} candidates, {own_edges} edge ids "
                f"and {sizes.num_times} times, but {len(ids)} ids"
            )
        middle = last + links.num_candidates
        end = middle + links.num_source_candidates
        return LinkRequest(
            sources=ids[: links.num_sources],
            targets=ids[links.num_sources : last],
            num_links=links.num_links,
            negative_kind=_known(_NEGATIVE_KINDS, links.negative_kind, "negative_kind"),
            num_negatives=links.num_negatives,
            negative_weights=_known(_NEGATIVE_WEIGHTS, links.negative_weights, "negative_weights"),
            reject=links.reject_edges,
            exclude=_known(_EXCLUDES, links.exclude, "exclude"),
            candidates=Candidates(
                _candidates(self.candidates, ids[last:middle], "candidates"),
                _candidates(self.source_candidates, ids[middle:end], "source_candidates"),
            ),
            relation=links.relation,
            times=ids[end + own_edges :] if self.temporal is not None else None,
            edge_ids=ids[end : end + own_edges] if links.has_edge_ids else None,
        )


class SeedSizes(NamedTuple):
    """What a request says of the number of its ids. Not part of the recipe, so that one recipe
    serves requests of any size."""

    counts: tuple[int, ...]
    """Number of seeds of each type that has any; () in a graph without types."""
    num_times: int

    @classmethod
    def of(cls, request: pb.Sample) -> SeedSizes:
        typed = request.typed_seeds
        counts = tuple([seeds.count for seeds in typed]) if typed else ()
        times = request.temporal.num_times if request.HasField("temporal") else 0
        return cls(counts, times)


def labor_of_request(request: pb.Sample) -> Labor | None:
    """Raises ValueError for invalid values. Batches of a run differ in them, so they are not part
    of a recipe."""
    if not request.HasField("labor"):
        return None
    asked = request.labor
    return Labor(
        layer_dependency=asked.layer_dependency,
        batch_dependency=max(asked.batch_dependency, 1),
        batch=asked.batch,
        run_seed=asked.run_seed,
    )


def _fanout(schema: Schema, request: pb.Sample) -> list[list[int]]:
    """Edges per hop of each relation."""
    count = len(schema.relations)
    if not request.relation_fanout:
        _check_hops(request.fanout)
        return [as_fanout(request.fanout)] * count
    if request.fanout:
        raise ValueError("found fanout and relation_fanout, expected one of them")
    if len(request.relation_fanout) != count:
        raise ValueError(
            f"found {len(request.relation_fanout)} entries of relation_fanout, expected {count}, "
            "one for each relation"
        )
    hops = len(request.relation_fanout[0].edges)
    for number, fanout in enumerate(request.relation_fanout):
        _check_hops(fanout.edges)
        if len(fanout.edges) != hops:
            raise ValueError(
                f"found {hops} hops of relation 0 and {len(fanout.edges)} of relation {number}, "
                "expected as many for each"
            )
    return [as_fanout(fanout.edges) for fanout in request.relation_fanout]


def _check_hops(fanout: Sequence[int]) -> None:
    if len(fanout) > _MAX_FANOUT:
        raise ValueError(f"found {len(fanout)} hops, expected at most {_MAX_FANOUT}")


def _seed_types(schema: Schema, request: pb.Sample) -> tuple[int, ...]:
    """Numbers of the types that the seeds are of."""
    types = [seeds.type for seeds in request.typed_seeds]
    if not schema.typed and types:
        raise ValueError(f"found seeds of type {types[0]}, but the graph has no types")
    if request.HasField("links"):
        if types:
            raise ValueError("found typed_seeds and links, expected one of them")
        number = request.links.relation
        if number >= len(schema.relations):
            raise ValueError(
                f"relation of links is {number}, expected less than {len(schema.relations)}"
            )
        return tuple(sorted({schema.relations[number].source, schema.relations[number].target}))
    if not schema.typed:
        return (0,)
    for number in types:
        if number >= len(schema.types):
            raise ValueError(
                f"found seeds of type {number}, expected less than {len(schema.types)}"
            )
    if any(later <= earlier for earlier, later in pairwise(types)):
        raise ValueError(f"found seeds of types {types}, expected rising numbers")
    return tuple(types)


def _gathered(dataset: Dataset, request: pb.Sample) -> tuple[Gathered, ...]:
    for_all = [*_named(dataset, request.columns, ("node", "edge"))]
    for_seeds = [
        gathered._replace(of="seed")
        for gathered in _named(dataset, request.seed_columns, ("node",))
    ]
    both = {gathered.name for gathered in for_all} & {gathered.name for gathered in for_seeds}
    if both:
        raise ValueError(f"column {both.pop()!r} is asked for all nodes and for the seeds only")
    return (*for_all, *for_seeds)


def _named(dataset: Dataset, names: Sequence[str], roles: tuple[RowsOf, ...]) -> Iterator[Gathered]:
    schema = dataset.schema
    for name in dict.fromkeys(names):
        column = column_of(dataset, name)
        role = next((role for role in roles if role == column.role), None)
        if role is None:
            expected = " or ".join(roles)
            raise ValueError(f"column {name!r} is by {column.role}, expected one by {expected}")
        owner = schema.number_of(split_key(name)[0])
        if role == "edge" and not schema.relations[owner].has_edge_ids:
            which = f"relation {schema.relations[owner].triple}" if schema.typed else "the graph"
            raise NotPossible(
                f"column {name!r} is by edge id, and {which} stores none; convert it with "
                "--edge-ids"
            )
        yield Gathered(role, owner, name, column, column.dtype.label, column.shape[1:])


def _candidates_of(dataset: Dataset, links: pb.Links | None, end: str) -> ColumnFile | None:
    """The column that the sources or the targets (`end`) of negatives are drawn from. It must
    belong to their type."""
    if links is None:
        return None
    name = links.candidates_column if end == "target" else links.source_candidates_column
    column, schema = candidate_column(dataset, name), dataset.schema
    if column is not None and schema.typed:
        relation = schema.relations[links.relation]
        number = relation.target if end == "target" else relation.source
        if schema.owner_of(split_key(name)[0]) != ("type", number):
            raise ValueError(
                f"column {name!r} to draw {end}s of negatives from, expected one"
                f"{type_text(schema, number)}"
            )
    return column


def _candidates(column: ColumnFile | None, listed: Ids, what: str) -> Ids | None:
    """The nodes that ends of negatives are drawn from; None for all nodes."""
    if column is None:
        return listed if len(listed) else None
    if len(listed):
        raise ValueError(f"{what} of negatives are a column and {len(listed)} ids, expected one")
    nodes = read_candidates(column)
    if not len(nodes):
        raise ValueError(f"{what} of negatives: found no node in {column.path.name}")
    return nodes


def _known(table: Mapping[int, T], value: int, what: str) -> T:
    if value not in table:
        raise ValueError(f"{what} is {value}, expected one of the protocol's")
    return table[value]
