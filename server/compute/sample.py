"""Neighbourhoods of nodes, or of the ends of links, with the columns of what they hold."""

from __future__ import annotations

from typing import Any

from graphzero import _engine
from graphzero.base.errors import TooManyEdges
from graphzero.embedded.link_seeds import LinkSeeds, draw_links
from graphzero.embedded.sampling import draw
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute.base import Computation, Ids, array_in, gather_into
from graphzero.server.compute.recipe import WEIGHTS, SampleRecipe


class SampleComputation(Computation):
    def __init__(
        self, dataset: Dataset, recipe: SampleRecipe, seeds: Ids, seed: int, max_edges: int
    ) -> None:
        super().__init__(dataset)
        self._recipe = recipe
        self._seeds = seeds
        self._seed = seed
        self._max_edges = max_edges

    def draw(self) -> None:
        try:
            self._draw()
        except TooManyEdges as error:
            raise ValueError(
                f"{error} (on this daemon: --max-edges, and 16 bytes of --max-result for each)"
            ) from error

    def _draw(self) -> None:
        recipe, graph = self._recipe, self.dataset.graph
        links: LinkSeeds | None = None
        excluded = None
        if recipe.links is not None:
            asked = recipe.link_request(self._seeds)
            excluded = asked.excluded()
            links = draw_links(graph, asked, disjoint=recipe.disjoint, seed=self._seed)
            self._seeds = links.seeds
        self._drawn = draw(
            graph,
            self._seeds,
            recipe.fanout,
            replace=recipe.replace,
            weighted=recipe.weighted,
            direction=recipe.direction,
            seed=self._seed,
            max_edges=self._max_edges,
            disjoint=recipe.disjoint,
            subgraph=recipe.subgraph,
            exclude=excluded,
        )
        nodes, edges = self._drawn.num_nodes, self._drawn.num_edges
        add = self.layout.add
        self._n_id = add("n_id", "int64", (nodes,))
        self._edge_index = add("edge_index", "int64", (2, edges))
        self._e_id = add("e_id", "int64", (edges,)) if self._drawn.has_edge_ids else None
        # A column of edges of that name has the weights as they were before they became float32.
        sends_weights = self._drawn.has_weights and not recipe.replaces_weights
        self._weight = add(WEIGHTS, "float32", (edges,)) if sends_weights else None
        self._batch = add("batch", "int64", (nodes,)) if recipe.disjoint else None
        ends = links.indices() if links else {}
        self._link_ends = [(add(name, "int64", (len(of),)), of) for name, of in ends.items()]
        rows = {"node": nodes, "edge": edges, "seed": len(self._seeds)}
        self._gathers = [
            (column, add(name, dtype, (rows[of], *row_shape)), of)
            for of, name, column, dtype, row_shape in recipe.gathered
        ]

    def fill(self, block: Any) -> None:
        # The trainer can write to the block at any time, so nothing is read back from it: gathering
        # by ids that change after they were checked would read wherever they point.
        e_id = self._place_for_edge_ids(block)
        self._drawn.copy_to(
            n_id=array_in(block, self._n_id),
            edge_index=array_in(block, self._edge_index),
            e_id=e_id,
            edge_weight=array_in(block, self._weight) if self._weight else None,
            batch=array_in(block, self._batch) if self._batch else None,
            threads=0,
        )
        for placement, index in self._link_ends:
            array_in(block, placement)[:] = index
        if self._e_id and self._gathers_by_edge:
            array_in(block, self._e_id)[:] = e_id
        ids = {"node": self._drawn.nodes, "edge": e_id, "seed": self._seeds}
        for column, placement, of in self._gathers:
            gather_into(column, ids[of], block, placement)

    @property
    def _gathers_by_edge(self) -> bool:
        return any(of == "edge" for _, _, of in self._gathers)

    def _place_for_edge_ids(self, block: Any) -> Any:
        """In the block, unless they are needed afterwards."""
        if self._e_id is None:
            return None
        if self._gathers_by_edge:
            return _engine.work_ids(self._e_id.shape[0])
        return array_in(block, self._e_id)

    def describe(self, result: pb.Result) -> None:
        result.num_sampled_nodes.extend(self._drawn.num_sampled_nodes)
        result.num_sampled_edges.extend(self._drawn.num_sampled_edges)
        result.batch_size = self._drawn.batch_size
        result.seed = self._seed
