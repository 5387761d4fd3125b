"""Links and their negatives as PyG describes them: to a request, and from a batch."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from graphzero.client.batch import Batch
from graphzero.embedded.link_request import (
    Candidates,
    ExcludeSeedEdges,
    LinkRequest,
    Negatives,
    link_request,
)
from torch_geometric.sampler import NegativeSampling

IdArray = npt.NDArray[np.int64]

_NO_IDS: IdArray = np.empty(0, np.int64)


@dataclass(frozen=True)
class NegativePlan:
    """Who draws negatives, and which.

    The engine does, unless NegativeSampling has a weight for each node of the graph: those are
    here, and so are the draws, by torch.
    """

    engine: Negatives | None
    given: NegativeSampling | None
    asked: NegativeSampling | Negatives | None
    """What the user said, without its other forms."""

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

    def check(self, exclude: ExcludeSeedEdges, num_nodes: int) -> None:
        """Raises for what every request would raise for."""
        link_request(_NO_IDS, _NO_IDS, None, exclude, Candidates())
        for name in ("src_weight", "dst_weight"):
            weight = getattr(self.given, name, None)
            if weight is not None and weight.numel() != num_nodes:
                raise ValueError(
                    f"{name} of neg_sampling has {weight.numel()} items, expected {num_nodes}, one "
                    "for each node"
                )

    def request(
        self,
        sources: IdArray,
        targets: IdArray,
        exclude: ExcludeSeedEdges,
        num_nodes: int,
        candidates: Candidates,
        seed: int | None = None,
    ) -> LinkRequest:
        """`candidates`: those of `engine`, which a client has checked.

        `seed`: of draws that are made here; None takes them from torch's generator as it is.
        """
        num_links = len(sources)
        if self.given is not None:
            with nullcontext() if seed is None else torch.random.fork_rng([]):
                if seed is not None:
                    torch.manual_seed(seed)
                sources, targets = self._with_negatives(self.given, sources, targets, num_nodes)
        return link_request(sources, targets, self.engine, exclude, candidates, num_links)

    @staticmethod
    def _with_negatives(
        given: NegativeSampling, sources: IdArray, targets: IdArray, num_nodes: int
    ) -> tuple[IdArray, IdArray]:
        count = int(np.ceil(len(sources) * given.amount))
        if given.is_binary():
            sources = np.concatenate([sources, given.sample(count, "src", num_nodes).numpy()])
        return sources, np.concatenate([targets, given.sample(count, "dst", num_nodes).numpy()])


def _cast(neg_sampling: Any, ratio: float | None) -> NegativeSampling | None:
    if ratio:  # as PyG has it, the ratio counts where both are given
        neg_sampling = {"mode": "binary", "amount": ratio}
    try:
        return NegativeSampling.cast(neg_sampling)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"neg_sampling is {neg_sampling!r}: {error}; expected NegativeSampling or its "
            'arguments, "binary", "triplet" or graphzero.Negatives'
        ) from error


@dataclass(frozen=True)
class LinkFields:
    """What PyG's loaders tell about the links of a batch; None where they set nothing."""

    edge_label_index: torch.Tensor | None = None
    edge_label: torch.Tensor | None = None
    src_index: torch.Tensor | None = None
    dst_pos_index: torch.Tensor | None = None
    dst_neg_index: torch.Tensor | None = None
    batch: torch.Tensor | None = None

    @classmethod
    def of(
        cls, batch: Batch, plan: NegativePlan, labels: torch.Tensor | None, num_links: int
    ) -> LinkFields:
        sources, targets = batch.source_index, batch.target_index
        tree = None if batch.batch is None else batch.batch % max(num_links, 1)
        if not plan.is_triplet:
            return cls(
                edge_label_index=torch.stack([sources, targets]),
                edge_label=_labels(plan, labels, num_links, len(sources) - num_links),
                batch=tree,
            )
        negatives = targets[num_links:]
        # Disjoint trees of one link are those whose seeds have its number; PyG puts what it drew
        # in this order, and so does whoever draws here.
        by_round = plan.given is not None and batch.batch is not None
        rows = negatives.view(-1, num_links).t() if by_round else negatives.view(num_links, -1)
        return cls(
            src_index=sources,
            dst_pos_index=targets[:num_links],
            dst_neg_index=rows.squeeze(-1),
            batch=tree,
        )


def _labels(
    plan: NegativePlan, labels: torch.Tensor | None, num_links: int, num_negatives: int
) -> torch.Tensor | None:
    if not plan.is_binary:
        return labels
    if labels is None:
        labels = torch.ones(num_links)
    return torch.cat([labels, labels.new_zeros((num_negatives, *labels.shape[1:]))])


def checked_labels(plan: NegativePlan, labels: Any) -> torch.Tensor | None:
    """Labels of links, shifted where 0 is to mean "negative"."""
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
