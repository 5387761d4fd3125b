"""`Graph.sample_links`: samples around the ends of links and of negatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.ids import Ids, id_array
from graphzero.embedded.labor import Sampler, labor_of
from graphzero.embedded.link_request import (
    Candidates,
    ExcludeSeedEdges,
    Negatives,
    link_request,
)
from graphzero.embedded.link_seeds import draw_links, link_exclusions
from graphzero.embedded.results import SampledLinks
from graphzero.embedded.sample_calls import SamplingMixin, TemporalStrategy, temporal_rule
from graphzero.embedded.sampling import Subgraph, place, resolve_seed
from graphzero.embedded.typed_arguments import Fanout, Times, fanout_of_relations, time_array
from graphzero.embedded.typed_sampling import draw_typed, place_typed
from graphzero.files.schema import Schema
from graphzero.files.topology_file import Direction


class LinkSamplingMixin(SamplingMixin):
    """Sampling around links, for a class that has an open topology."""

    def sample_links(
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
        negatives: Negatives | None = None,
        exclude_seed_edges: ExcludeSeedEdges | None = None,
        link_edge_ids: Ids | None = None,
        replace: bool = False,
        weighted: bool = False,
        sampler: Sampler = "neighbour",
        direction: Direction | None = None,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        seed: int | None = None,
        threads: int | None = None,
        max_edges: int = _engine.DEFAULT_MAX_EDGES,
    ) -> Any:
        """Samples around the ends of links, and of negatives that are drawn for them.

        Returns SampledLinks, or a TypedSample for a graph with types.

        relation: the relation of the links, in a graph with types. Sources are then nodes of its
        source type, targets of its target type, and source_index and target_index are positions in
        n_id of these types.
        time: the time of each link, or one for all. The trees of its ends contain nothing later,
        and negatives exist at the time of their link; the link of negative pair i is i modulo the
        number of links.
        exclude_seed_edges: which edges to leave out, because a model would see the answer in them.
          False   none
          True    edges from source to target of a link of this call, "both" their reverses too; out
                  of the whole sample
          "pair"  all edges between the ends of a link; with times only in the trees of that link
          "own"   like "pair", but only edges that did not exist before the link's time: earlier
                  ones are history
          None    "own" with times, else False
        This holds in the relation, in its view (or the relation that it is a view of) and in its
        declared inverse.
        link_edge_ids: for links whose times come after their edges: the ids of these edges, as e_id
        has them, which are left out in place of those that exclude_seed_edges names. All edges
        between the ends of a link are left out in a declared inverse, which has ids of its own, and
        the other way in a relation within one type, unless exclude_seed_edges is False or True.
        The other arguments are as in sample().
        """
        schema = self._file.schema
        number = _relation_number(schema, relation)
        found = schema.relations[number]
        ids = id_array(sources, None, "sources"), id_array(targets, None, "targets")
        num_sources, num_targets = (schema.types[t].count for t in (found.source, found.target))
        times = None
        if time is not None:
            if isinstance(time, str):
                raise InputError(f"time is {time!r}, expected times, one for each link")
            times = time_array(time, len(ids[0]), schema.time_unit, of="link")
        request = link_request(
            *ids,
            negatives,
            exclude_seed_edges,
            Candidates.of(negatives, num_targets, num_sources),
            relation=number,
            times=times,
            edge_ids=None if link_edge_ids is None else id_array(link_edge_ids, None, "edge ids"),
        )
        resolved = resolve_seed(seed)
        seeds = draw_links(self._file, request, disjoint=disjoint, seed=resolved, threads=threads)
        excluded = link_exclusions(schema, request, seeds)
        drawn = draw_typed(
            self._file,
            seeds.by_type,
            fanout_of_relations(schema, fanout, default_fanout),
            replace=replace,
            weighted=weighted,
            direction=direction,
            seed=resolved,
            max_edges=max_edges,
            threads=threads,
            disjoint=disjoint,
            subgraph=subgraph,
            exclude=excluded.exclude,
            exclude_in_trees=excluded.exclude_in_trees,
            spare_history=excluded.spare_history,
            labor=labor_of(sampler),
            temporal=temporal_rule(
                schema, seeds.times, times is not None, time_strict, time_window, temporal_strategy
            ),
        )
        if schema.typed:
            typed = place_typed(drawn, schema, resolved, threads)
            typed.source_index, typed.target_index = seeds.source_index, seeds.target_index
            typed.link_relation, typed.num_links = found.triple, request.num_links
            return typed
        sample = vars(place(drawn, resolved, threads))
        return SampledLinks(**{**sample, **seeds.indices()}, num_links=request.num_links)


def _relation_number(schema: Schema, relation: Any) -> int:
    if schema.typed:
        return schema.relation_number(relation, "relation of the links")
    if relation is not None:
        raise InputError(f"relation is {relation!r}, but the graph has no types")
    return 0
