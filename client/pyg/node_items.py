"""The nodes that a NeighborLoader goes through: of one type or of several, with their times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from graphzero.client.client import Client
from graphzero.client.pyg.arguments import split_input_nodes
from graphzero.client.pyg.data import Stores
from graphzero.client.pyg.parts import Key
from graphzero.client.pyg.positions import Positions
from graphzero.client.requests.seed_list import SeedList, SeedPart
from graphzero.client.requests.seeds import find_split, resolve_seeds
from graphzero.client.requests.temporal import GIVEN_TIMES, GivenTimes
from graphzero.embedded.typed_arguments import time_array
from graphzero.files.schema import type_text
from torch_geometric.sampler import NodeSamplerInput


@dataclass(frozen=True)
class ItemsOfType:
    """Nodes of one type."""

    key: Key
    first: int
    """Number of the type's first item among the items of all types."""
    count: int
    input_id: torch.Tensor | None
    """What batches have as input_id; None for the position among the items of the type."""

    def input_id_at(self, positions: torch.Tensor) -> torch.Tensor:
        return positions if self.input_id is None else self.input_id[positions]


@dataclass(frozen=True)
class NodeItems:
    """Made by of(). Items are numbered through all types, in the order of the schema."""

    types: list[ItemsOfType]
    seeds: SeedList
    time: GivenTimes | Literal["own"] | None
    """Where the times of seeds come from; None for samples that are not by time."""

    @classmethod
    def of(
        cls,
        client: Client,
        input_nodes: Any,
        input_time: Any,
        input_id: Any,
        *,
        original_ids: bool,
        is_temporal: bool,
    ) -> NodeItems:
        dataset = client.info().dataset
        given = split_input_nodes(dataset, input_nodes)
        given_times = _by_type(input_time, given, "input_time")
        given_ids = _by_type(input_id, given, "input_id")
        items: list[ItemsOfType] = []
        parts: list[SeedPart] = []
        times: list[Positions] = []
        first = 0
        for number, node_type in enumerate(dataset.schema.types):
            key = node_type.name if dataset.schema.typed else None
            if key not in given:
                continue
            whose = type_text(dataset.schema, number)
            nodes, own_id = _nodes(client, number, given[key], original_ids, f"input_nodes{whose}")
            count = node_type.count if nodes is None else len(nodes)
            if key in given_ids:
                own_id = ids_of_items(given_ids[key], count)
            if key in given_times:
                unit, what = dataset.schema.time_unit, f"input_time{whose}"
                times.append(time_array(given_times[key], count, unit, what))
            elif is_temporal and not node_type.has_times:
                raise ValueError(
                    f"input_time{whose} is None, and these nodes have no times of their own; give "
                    "input_time, one for each of input_nodes"
                )
            items.append(ItemsOfType(key, first, count, own_id))
            parts.append(SeedPart(number, count, nodes))
            first += count
        seeds = SeedList(
            tuple(parts), np.concatenate(times) if times else None, typed=dataset.schema.typed
        )
        time: GivenTimes | Literal["own"] | None = GIVEN_TIMES if times else None
        if is_temporal and not times:
            time = "own"
        return cls(items, seeds, time)

    def __len__(self) -> int:
        return len(self.seeds)

    def split(self, positions: Positions) -> list[tuple[ItemsOfType, Positions]]:
        """Splits items by type, into positions among the items of the type, in the order given.
        There may be none of a type."""
        if len(self.types) == 1:
            return [(self.types[0], positions)]
        pieces = []
        for items in self.types:
            own = positions[(positions >= items.first) & (positions < items.first + items.count)]
            pieces.append((items, own - items.first))
        return pieces

    def sampler_input(self) -> NodeSamplerInput:
        """All items, as PyG's loaders have theirs."""
        if len(self.types) > 1:
            raise NotImplementedError(
                "input_nodes of several types are not supported where worker processes or own code "
                "make the batches: PyG's samplers take those of one type"
            )
        ((items,), (part,)) = self.types, self.seeds.parts
        times = self.seeds.times
        return NodeSamplerInput(
            input_id=items.input_id,
            node=torch.arange(items.count) if part.ids is None else torch.from_numpy(part.ids),
            time=None if times is None else torch.from_numpy(times),
            input_type=items.key,
        )

    def fields(self, positions: Positions, seed_time: torch.Tensor | None) -> Stores:
        """Fields of a batch about its seeds, by PyG's names. `seed_time` has that of each seed. All
        types of the loader's items have them, so that a training loop need not ask which types have
        seeds in this batch."""
        stores: Stores = {}
        first = 0
        for items, own in self.split(positions):
            stores[items.key] = {
                "input_id": items.input_id_at(torch.from_numpy(own)),
                "batch_size": len(own),
            }
            if seed_time is not None:
                stores[items.key]["seed_time"] = seed_time[first : first + len(own)]
            first += len(own)
        return stores


def _by_type(value: Any, given: dict[Key, Any], what: str) -> dict[Key, Any]:
    """An argument that accompanies input_nodes, by type. If these have several types, the user must
    give it by type as well."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        if value.keys() != given.keys():
            raise ValueError(
                f"{what} is for {', '.join(map(repr, value))}, expected it for the types of "
                f"input_nodes: {', '.join(map(repr, given))}"
            )
        return dict(value)
    if len(given) > 1:
        raise ValueError(
            f"{what} is not by type, but input_nodes is; expected a mapping with the same types"
        )
    return dict.fromkeys(given, value)


def _nodes(
    client: Client, number: int, input_nodes: Any, original_ids: bool, what: str
) -> tuple[Positions | None, torch.Tensor | None]:
    """Ids, or None for all nodes of the type; and their input_id, or None for their positions.

    PyG's input_id is the position in a list of nodes, but the node itself in a mask.
    """
    deadline = client._deadline(None)
    if original_ids and input_nodes is not None:
        return client._pool.run_aside(client._original_nodes(input_nodes, deadline, number)), None
    dataset = client.info().dataset
    nodes = client._pool.run_aside(resolve_seeds(input_nodes, dataset, deadline, what, number))
    if isinstance(input_nodes, str):
        is_mask = find_split(input_nodes, dataset, number).role == "node"
    else:
        is_mask = input_nodes is not None and _is_bool(input_nodes)
    return nodes, torch.from_numpy(nodes) if is_mask and nodes is not None else None


def _is_bool(nodes: Any) -> bool:
    if isinstance(nodes, torch.Tensor):
        return nodes.dtype == torch.bool
    return not isinstance(nodes, slice) and bool(np.asarray(nodes).dtype == np.bool_)


def ids_of_items(input_id: Any, num_items: int) -> torch.Tensor:
    given: torch.Tensor = torch.as_tensor(input_id).cpu()
    if given.shape != (num_items,):
        raise ValueError(
            f"input_id has shape {tuple(given.shape)}, expected ({num_items},): one for each item"
        )
    return given
