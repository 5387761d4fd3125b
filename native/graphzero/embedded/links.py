"""`Graph.sample_links`: samples around the ends of links and of negatives."""

from __future__ import annotations

from collections.abc import Sequence

from graphzero import _engine
from graphzero.base.ids import Ids, id_array
from graphzero.embedded.link_request import (
    Candidates,
    ExcludeSeedEdges,
    Negatives,
    link_request,
)
from graphzero.embedded.link_seeds import draw_links
from graphzero.embedded.results import SampledLinks
from graphzero.embedded.sampling import (
    SamplingMixin,
    Subgraph,
    draw,
    place,
    resolve_seed,
)
from graphzero.files.topology_file import Direction


class LinkSamplingMixin(SamplingMixin):
    """Sampling around links, for a class that has an open topology."""

    def sample_links(
        self,
        sources: Ids,
        targets: Ids,
        fanout: Sequence[int],
        *,
        negatives: Negatives | None = None,
        exclude_seed_edges: ExcludeSeedEdges = False,
        replace: bool = False,
        weighted: bool = False,
        direction: Direction | None = None,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        seed: int | None = None,
        threads: int | None = None,
        max_edges: int = _engine.DEFAULT_MAX_EDGES,
    ) -> SampledLinks:
        """Samples around the ends of links and of negatives, which are drawn for them.

        exclude_seed_edges: True leaves edges that are links of this call out of the sample, "both"
        their reverses too: a model would otherwise see the answer. The rest is as in sample().
        """
        request = link_request(
            id_array(sources, None, "sources"),
            id_array(targets, None, "targets"),
            negatives,
            exclude_seed_edges,
            Candidates.of(negatives, self._file.num_nodes),
        )
        resolved = resolve_seed(seed)
        seeds = draw_links(self._file, request, disjoint=disjoint, seed=resolved, threads=threads)
        drawn = draw(
            self._file,
            seeds.seeds,
            fanout,
            replace=replace,
            weighted=weighted,
            direction=direction,
            seed=resolved,
            max_edges=max_edges,
            threads=threads,
            disjoint=disjoint,
            subgraph=subgraph,
            exclude=request.excluded(),
        )
        sample = vars(place(drawn, resolved, threads))
        return SampledLinks(**{**sample, **seeds.indices()}, num_links=request.num_links)
