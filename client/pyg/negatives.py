"""Negatives of links as PyG describes them, and the labels that tell them from links."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.loader.relation_edges import NO_IDS
from graphzero.client.pyg.parts import Key
from graphzero.embedded.link_request import Candidates, ExcludeSeedEdges, Negatives, link_request
from graphzero.files.schema import RelationName
from torch_geometric.sampler import NegativeSampling

IdArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LinkEnds:
    """What the ends of links can be."""

    relation: RelationName | None
    """None in a dataset without types."""
    num_sources: int
    """Number of nodes of the type of sources."""
    num_targets: int
    types: tuple[int, int] = (0, 0)
    """Numbers of the types of sources and targets."""
    relation_number: int | None = 0
    """None if the dataset does not have the relation: a model need not aggregate along the relation
    that it predicts."""
    have_times: tuple[bool, bool] = (False, False)
    """Whether nodes of the types of sources and targets have times."""

    @property
    def source_key(self) -> Key:
        return None if self.relation is None else self.relation[0]

    @property
    def target_key(self) -> Key:
        return None if self.relation is None else self.relation[2]


def link_ends(dataset: DatasetInfo, relation: RelationName | None) -> LinkEnds:
    if relation is None:
        if dataset.schema.typed:
            raise ValueError(
                "links have no relation, expected (source type, name, target type): dataset "
                f"{dataset.name!r} has types"
            )
        both = (dataset.has_node_times,) * 2
        return LinkEnds(None, dataset.num_nodes, dataset.num_nodes, have_times=both)
    schema = dataset.schema
    source, target = (schema.type_number(name) for name in relation[::2])
    has_edges = relation in schema.relation_names
    return LinkEnds(
        relation,
        schema.types[source].count,
        schema.types[target].count,
        (source, target),
        schema.relation_number(relation) if has_edges else None,
        (schema.types[source].has_times, schema.types[target].has_times),
    )


@dataclass(frozen=True)
class NegativePlan:
    """Who draws negatives, and which.

    The engine does, unless NegativeSampling has a weight for each node of the graph. These weights
    are in this process, so torch draws here.
    """

    engine: Negatives | None
    given: NegativeSampling | None
    asked: NegativeSampling | Negatives | None
    """What the user asked for, as an object even if it was a dict or a string."""

    @classmethod
    def of(cls, neg_sampling: Any, neg_sampling_ratio: float | None = None) -> NegativePlan:
        """From PyG's NegativeSampling, its dict and string forms, or graphzero.Negatives."""
        if isinstance(neg_sampling, Negatives):
            if neg_sampling_ratio:
                raise ValueError(
                    f"neg_sampling_ratio is {neg_sampling_ratio} and neg_sampling {neg_sampling}: "
                    f"only one can say how many; give Negatives(amount={neg_sampling_ratio})"
                )
            return cls(neg_sampling, None, neg_sampling)
        sampling = _cast(neg_sampling, neg_sampling_ratio)
        if sampling is None:
            return cls(None, None, None)
        if sampling.src_weight is not None or sampling.dst_weight is not None:
            return cls(None, sampling, sampling)
        kind = "pairs" if sampling.is_binary() else "targets"
        return cls(Negatives(kind, sampling.amount), None, sampling)  # type: ignore[arg-type]

    @property
    def is_triplet(self) -> bool:
        if self.engine is not None:
            return self.engine.kind == "targets"
        return self.given is not None and bool(self.given.is_triplet())

    @property
    def is_binary(self) -> bool:
        return (self.engine is not None or self.given is not None) and not self.is_triplet

    def check(self, exclude: ExcludeSeedEdges | None, ends: LinkEnds, *, is_temporal: bool) -> None:
        """Raises errors that every request would raise."""
        times = NO_IDS if is_temporal else None
        link_request(NO_IDS, NO_IDS, None, exclude, Candidates(), times=times)
        if is_temporal and self.given is not None:
            drawn = ends.have_times if self.is_binary else ends.have_times[1:]
            if any(drawn):
                raise NotImplementedError(
                    "negatives that torch draws, by weights of neg_sampling or because the dataset "
                    "does not have the relation of the links, may not exist yet at the time of "
                    "their link; expected neg_sampling without weights, of a relation that there is"
                )
        counts = {"src_weight": ends.num_sources, "dst_weight": ends.num_targets}
        for name, num_nodes in counts.items():
            weight = getattr(self.given, name, None)
            if weight is not None and weight.numel() != num_nodes:
                raise ValueError(
                    f"{name} of neg_sampling has {weight.numel()} items, expected {num_nodes}, one "
                    "for each node"
                )

    def without_edges(self) -> NegativePlan:
        """The same for links of a relation that the dataset does not have: torch draws."""
        if self.engine is None:
            return self
        plain = Negatives(self.engine.kind, self.engine.amount)
        if self.engine != plain or self.engine.candidates or self.engine.source_candidates:
            raise ValueError(
                f"neg_sampling is {self.engine}, but the dataset does not have the relation of the "
                f"links, so that there is nothing to draw by; expected {plain}"
            )
        mode = "binary" if self.is_binary else "triplet"
        return NegativePlan(None, NegativeSampling(mode, self.engine.amount), self.asked)

    def with_negatives(
        self, sources: IdArray, targets: IdArray, ends: LinkEnds, seed: int | None
    ) -> tuple[IdArray, IdArray]:
        """The ends of links, and those of the negatives that are drawn here.

        `seed`: of the draws; None takes them from torch's generator as it is.
        """
        if self.given is None:
            return sources, targets
        with nullcontext() if seed is None else torch.random.fork_rng([]):
            if seed is not None:
                torch.manual_seed(seed)
            count = int(np.ceil(len(sources) * self.given.amount))
            if self.given.is_binary():
                drawn = self.given.sample(count, "src", ends.num_sources).numpy()
                sources = np.concatenate([sources, drawn])
            drawn = self.given.sample(count, "dst", ends.num_targets).numpy()
            return sources, np.concatenate([targets, drawn])


def _cast(neg_sampling: Any, ratio: float | None) -> NegativeSampling | None:
    if ratio:  # as in PyG, the ratio counts if both are given
        neg_sampling = {"mode": "binary", "amount": ratio}
    try:
        return NegativeSampling.cast(neg_sampling)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"neg_sampling is {neg_sampling!r}: {error}; expected NegativeSampling or its "
            'arguments, "binary", "triplet" or graphzero.Negatives'
        ) from error


def labels_of_pairs(
    plan: NegativePlan, labels: torch.Tensor | None, num_links: int, num_negatives: int
) -> torch.Tensor | None:
    if not plan.is_binary:
        return labels
    if labels is None:
        labels = torch.ones(num_links)
    return torch.cat([labels, labels.new_zeros((num_negatives, *labels.shape[1:]))])


def checked_labels(plan: NegativePlan, labels: Any) -> torch.Tensor | None:
    """Labels of links, raised by 1 if 0 is to mean "negative"."""
    if labels is None:
        return None
    if plan.is_triplet:
        raise ValueError(
            "edge_label is given with triplet negatives, expected None: src_index, dst_pos_index "
            "and dst_neg_index of a batch tell links and negatives apart"
        )
    try:
        given: torch.Tensor = torch.as_tensor(labels).cpu()
    except (TypeError, ValueError) as error:
        raise TypeError(f"edge_label: expected a tensor or numbers ({error})") from error
    shifted = plan.is_binary and given.numel() > 0 and bool(given.min() == 0)
    return given + 1 if shifted else given
