"""Samples neighbourhoods of nodes, or of the ends of links, with columns of their nodes and edges.

A graph without types has one type and one relation, whose tensors have plain names; otherwise the
name of each tensor is a key that begins with its type or relation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from graphzero import _engine
from graphzero.base.errors import TooManyEdges
from graphzero.embedded.labor import Labor
from graphzero.embedded.link_seeds import (
    LinkExclusions,
    LinkSeeds,
    draw_links,
    link_exclusions,
)
from graphzero.embedded.typed_sampling import draw_typed
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute.base import Computation, Ids, TypedIds, array_in
from graphzero.server.compute.gathering import BatchGather
from graphzero.server.compute.layout import Placement
from graphzero.server.compute.recipe import Gathered, SampleRecipe, SeedSizes
from graphzero.server.peers.access import PeerAccess

_NO_IDS: Ids = np.empty(0, np.int64)


class EdgePlaces(NamedTuple):
    """Where the arrays of a relation's edges lie in the block."""

    edge_index: Placement
    e_id: Placement | None
    weight: Placement | None
    scale: Placement | None


class SampleComputation(Computation):
    def __init__(
        self,
        dataset: Dataset,
        recipe: SampleRecipe,
        sizes: SeedSizes,
        ids: Ids,
        seed: int,
        max_edges: int,
        labor: Labor | None,
        peers: PeerAccess,
    ) -> None:
        super().__init__(dataset)
        self._peers = peers
        self._recipe = recipe
        self._sizes = sizes
        self._ids = ids
        self._seed = seed
        self._max_edges = max_edges
        self._labor = labor
        self._seeds: TypedIds = []

    def draw(self) -> None:
        try:
            links = self._draw()
        except TooManyEdges as error:
            raise ValueError(
                f"{error} (on this daemon: --max-edges, and 16 bytes of --max-result for each)"
            ) from error
        self._lay_out(links)

    def _draw(self) -> LinkSeeds | None:
        recipe, graph = self._recipe, self.dataset.graph
        links: LinkSeeds | None = None
        excluded = LinkExclusions()
        rule = recipe.temporal
        if recipe.links is not None:
            asked = recipe.link_request(self._sizes, self._ids)
            links = draw_links(graph, asked, disjoint=recipe.disjoint, seed=self._seed)
            excluded = link_exclusions(self.dataset.schema, asked, links)
            self._seeds, given = links.by_type, links.times
        else:
            self._seeds, given = recipe.seeds(self._sizes, self._ids)
        self._drawn = draw_typed(
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
            exclude=excluded.exclude,
            exclude_in_trees=excluded.exclude_in_trees,
            spare_history=excluded.spare_history,
            labor=self._labor,
            temporal=None if rule is None else rule.of(self._seeds, given),
        )
        return links

    def _lay_out(self, links: LinkSeeds | None) -> None:
        drawn, names, add = self._drawn, self._recipe.names, self.layout.add
        nodes = [drawn.num_nodes_of(number) for number in range(len(names.n_id))]
        edges = [drawn.num_edges_of(number) for number in range(len(names.edge_index))]
        self.num_nodes, self.num_edges = sum(nodes), sum(edges)
        self._n_ids = [add(names.n_id[n], "int64", (count,)) for n, count in enumerate(nodes)]
        self._edges = [self._place_edges(number, count) for number, count in enumerate(edges)]
        self._batches: list[Placement] = []
        if drawn.disjoint:
            self._batches = [
                add(names.batch[n], "int64", (count,)) for n, count in enumerate(nodes)
            ]
        copies = links.indices() if links else {}
        if self._recipe.temporal is not None:
            copies["seed_time"] = drawn.seed_times
        self._copies = [(add(name, "int64", (len(of),)), of) for name, of in copies.items()]
        self._gathers: list[tuple[Gathered, Placement]] = []
        for gathered in self._recipe.gathered:
            of, owner, name, _, dtype, row_shape = gathered
            rows = edges[owner] if of == "edge" else nodes[owner]
            if of == "seed":
                rows = drawn.batch_size_of(owner)
            self._gathers.append((gathered, add(name, dtype, (rows, *row_shape))))

    def _place_edges(self, number: int, edges: int) -> EdgePlaces:
        drawn, names, add = self._drawn, self._recipe.names, self.layout.add
        edge_index = add(names.edge_index[number], "int64", (2, edges))
        e_id = weight = None
        if drawn.has_edge_ids_of(number):
            e_id = add(names.e_id[number], "int64", (edges,))
        # A column edge_weight replaces them: it has the weights before conversion to float32.
        if drawn.has_weights_of(number) and number not in self._recipe.own_weights:
            weight = add(names.weight[number], "float32", (edges,))
        scale = add(names.scale[number], "float32", (edges,)) if drawn.has_scales else None
        return EdgePlaces(edge_index, e_id, weight, scale)

    def fill(self, block: Any) -> None:
        # The trainer can write to the block at any time, so nothing is read back from it: gathering
        # by ids that change after they were checked would read wherever they point.
        copy_nodes, batches = self._drawn.copy_nodes, self._batches
        for number, n_id in enumerate(self._n_ids):
            batch = array_in(block, batches[number]) if batches else None
            copy_nodes(number, n_id=array_in(block, n_id), batch=batch)
        rows: dict[tuple[str, int], Ids] = {}  # ids of the rows that columns are gathered by
        for number, places in enumerate(self._edges):
            self._fill_edges(block, number, places, rows)
        for placement, values in self._copies:
            array_in(block, placement)[:] = values
        for number, ids in self._seeds:
            rows["seed", number] = ids
        gather = BatchGather(self.dataset, self._peers, block)
        for found, placement in self._gathers:
            key = (found.of, found.owner)
            if key not in rows:
                rows[key] = self._drawn.nodes_of(found.owner) if found.of == "node" else _NO_IDS
            gather.add(found.column, rows[key], placement)
        gather.run()

    def _fill_edges(
        self, block: Any, number: int, places: EdgePlaces, rows: dict[tuple[str, int], Ids]
    ) -> None:
        """Edge ids that columns are gathered by are also copied to `rows`, in working memory."""
        e_id: Any = None
        kept = number in self._recipe.gathered_edges
        if places.e_id is not None:
            e_id = _engine.work_ids(places.e_id.shape[0]) if kept else array_in(block, places.e_id)
        self._drawn.copy_edges(
            number,
            edge_index=array_in(block, places.edge_index),
            e_id=e_id,
            edge_weight=array_in(block, places.weight) if places.weight else None,
            edge_scale=array_in(block, places.scale) if places.scale else None,
        )
        if places.e_id is not None and kept:
            array_in(block, places.e_id)[:] = e_id
            rows["edge", number] = e_id

    def describe(self, result: pb.Result) -> None:
        drawn, schema = self._drawn, self.dataset.schema
        result.seed = self._seed
        if not schema.typed:
            result.num_sampled_nodes.extend(drawn.num_sampled_nodes)
            result.num_sampled_edges.extend(drawn.num_sampled_edges)
            result.batch_size = drawn.batch_size
            return
        for number in range(len(schema.types)):
            result.type_counts.add(
                num_sampled_nodes=drawn.num_sampled_nodes_of(number),
                batch_size=drawn.batch_size_of(number),
            )
        for number in range(len(schema.relations)):
            result.relation_counts.add(num_sampled_edges=drawn.num_sampled_edges_of(number))
        if self._recipe.links is not None:
            result.link_relation = self._recipe.links.relation
