"""graphzero.pyg.LinkNeighborLoader: links and negatives as PyG defines them, without its leak."""

from __future__ import annotations

import inspect
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import LinkNeighborLoader
from torch_geometric.loader import LinkNeighborLoader as PygLinkNeighborLoader
from torch_geometric.sampler import NegativeSampling

NUM_NODES = 2_000
LINKS = 100


@pytest.fixture(scope="module")
def edge_index(dataset: Any) -> torch.Tensor:
    """All edges, by target."""
    graph = gz.Graph(dataset)
    return torch.from_numpy(graph.sample(range(graph.num_nodes), [-1]).edge_index)


@pytest.fixture
def links(edge_index: torch.Tensor) -> torch.Tensor:
    return edge_index[:, :: edge_index.shape[1] // LINKS][:, :LINKS]


def pairs(index: torch.Tensor) -> set[tuple[int, int]]:
    return set(zip(*index.tolist(), strict=True))


def test_arguments_have_the_names_order_and_defaults_of_pyg() -> None:
    ours = list(inspect.signature(LinkNeighborLoader.__init__).parameters.values())
    theirs = list(inspect.signature(PygLinkNeighborLoader.__init__).parameters.values())
    positional = [p for p in ours if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    expected = [p for p in theirs if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert [(p.name, p.default) for p in positional] == [(p.name, p.default) for p in expected]


def test_seeds_are_the_sorted_different_ends(client: gz.Client, links: torch.Tensor) -> None:
    loader = LinkNeighborLoader(client, [3, 2], links, batch_size=40)
    assert len(loader) == 3
    seen = 0
    for data in loader:
        own = links[:, seen : seen + 40]
        assert data.input_id.tolist() == list(range(seen, seen + own.shape[1]))
        assert torch.equal(data.n_id[data.edge_label_index], own)
        seeds = data.n_id[: data.num_sampled_nodes[0]]
        assert torch.equal(seeds, own.unique())
        assert "edge_label" not in data
        assert "batch_size" not in data
        assert data.x.shape == (data.num_nodes, 16)
        seen += own.shape[1]
    assert seen == LINKS


@pytest.mark.parametrize(
    "asked",
    [
        {"neg_sampling": "binary"},
        {"neg_sampling": {"mode": "binary", "amount": 1}},
        {"neg_sampling": NegativeSampling("binary")},
        {"neg_sampling": gz.Negatives("pairs")},
        {"neg_sampling_ratio": 1.0},
    ],
    ids=["text", "dict", "pyg", "graphzero", "ratio"],
)
def test_binary_negatives(client: gz.Client, links: torch.Tensor, asked: dict[str, Any]) -> None:
    data = next(iter(LinkNeighborLoader(client, [2], links, batch_size=LINKS, **asked)))
    assert data.edge_label_index.shape == (2, 2 * LINKS)
    assert torch.equal(data.edge_label, torch.tensor([1.0] * LINKS + [0.0] * LINKS))
    ends = data.n_id[data.edge_label_index]
    assert torch.equal(ends[:, :LINKS], links)
    assert torch.equal(data.n_id[: data.num_sampled_nodes[0]], ends.unique())
    assert len(pairs(ends[:, LINKS:])) > LINKS - 3


def test_labels_are_shifted_where_zero_is_to_mean_negative(
    client: gz.Client, links: torch.Tensor
) -> None:
    labels = torch.arange(LINKS) % 3

    def labels_of(given: torch.Tensor, **asked: Any) -> torch.Tensor:
        loader = LinkNeighborLoader(client, [1], links, given, batch_size=LINKS, **asked)
        found: torch.Tensor = next(iter(loader)).edge_label
        return found

    none = torch.zeros(50, dtype=torch.int64)
    half = {"mode": "binary", "amount": 0.5}
    assert torch.equal(labels_of(labels), labels)
    assert torch.equal(labels_of(labels, neg_sampling=half), torch.cat([labels + 1, none]))
    assert torch.equal(labels_of(labels + 1, neg_sampling=half), torch.cat([labels + 1, none]))
    with pytest.raises(ValueError, match="edge_label is given with triplet negatives"):
        labels_of(labels, neg_sampling="triplet")
    with pytest.raises(ValueError, match="edge_label has 3 items, expected 100"):
        labels_of(labels[:3])


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("amount", [1, 4])
def test_triplets(
    client: gz.Client, links: torch.Tensor, amount: int, weighted: bool, disjoint: bool
) -> None:
    weight = torch.ones(NUM_NODES) if weighted else None
    sampling = NegativeSampling("triplet", amount, dst_weight=weight)
    loader = LinkNeighborLoader(
        client, [2], links, neg_sampling=sampling, batch_size=LINKS, disjoint=disjoint
    )
    data = next(iter(loader))
    assert torch.equal(data.n_id[data.src_index], links[0])
    assert torch.equal(data.n_id[data.dst_pos_index], links[1])
    assert data.dst_neg_index.shape == ((LINKS,) if amount == 1 else (LINKS, amount))
    assert "edge_label_index" not in data
    if disjoint:
        link = torch.arange(LINKS)
        assert torch.equal(data.batch[data.src_index], link)
        assert torch.equal(data.batch[data.dst_pos_index], link)
        negatives = data.dst_neg_index.view(LINKS, amount)
        assert torch.equal(data.batch[negatives], link.unsqueeze(1).expand(-1, amount))


def test_weights_of_pyg_decide_which_nodes_are_negatives(
    client: gz.Client, links: torch.Tensor
) -> None:
    only = torch.zeros(NUM_NODES)
    only[[3, 4]] = 1
    sampling = NegativeSampling("binary", 2, src_weight=only, dst_weight=only)
    data = next(
        iter(LinkNeighborLoader(client, [1], links, neg_sampling=sampling, batch_size=LINKS))
    )
    negatives = data.n_id[data.edge_label_index[:, LINKS:]]
    assert negatives.shape == (2, 2 * LINKS)
    assert set(negatives.flatten().tolist()) == {3, 4}


def test_rejected_negatives_are_no_edges(
    client: gz.Client, links: torch.Tensor, edge_index: torch.Tensor
) -> None:
    negatives = gz.Negatives("targets", 50, weights="degree", reject=True)
    data = next(
        iter(LinkNeighborLoader(client, [1], links, neg_sampling=negatives, batch_size=LINKS))
    )
    targets = data.n_id[data.dst_neg_index]
    sources = links[0].unsqueeze(1).expand_as(targets)
    assert not pairs(torch.stack([sources.flatten(), targets.flatten()])) & pairs(edge_index)


@pytest.mark.parametrize("given", ["ids", "mask", "name"])
def test_negatives_come_from_the_candidates(
    client: gz.Client, links: torch.Tensor, dataset: Any, given: str
) -> None:
    train = torch.from_numpy(gz.FeatureStore(dataset / "train.gd").get_tensor())
    mask = torch.zeros(client.info().dataset.num_nodes, dtype=torch.bool)
    mask[train] = True
    candidates = {"ids": train, "mask": mask, "name": "train"}[given]
    negatives = gz.Negatives("targets", 20, candidates=candidates)
    loader = LinkNeighborLoader(client, [1], links, neg_sampling=negatives, batch_size=LINKS)
    drawn = next(iter(loader))
    assert drawn.dst_neg_index.shape == (LINKS, 20)
    found = drawn.n_id[drawn.dst_neg_index].unique()
    assert mask[found].all()
    assert len(found) > len(train) // 2
    by_sampler = loader.link_sampler.sample_from_edges(loader.input_data[[0, 1, 2]], negatives)
    assert mask[by_sampler.node[by_sampler.metadata[3]]].all()


def test_wrong_candidates_are_named_when_the_loader_is_made(
    client: gz.Client, links: torch.Tensor
) -> None:
    with pytest.raises(gz.InvalidRequest, match=r"candidates of negatives\[0\] is 2000"):
        LinkNeighborLoader(
            client, [1], links, neg_sampling=gz.Negatives("targets", candidates=[2000])
        )


def test_seed_edges_leak_unless_they_are_excluded(client: gz.Client, links: torch.Tensor) -> None:
    def leaked(exclude: Any, **options: Any) -> set[tuple[int, int]]:
        loader = LinkNeighborLoader(
            client, [-1], links, batch_size=LINKS, exclude_seed_edges=exclude, **options
        )
        data = next(iter(loader))
        return pairs(data.n_id[data.edge_index]) & (pairs(links) | pairs(links.flip(0)))

    assert leaked(False) >= pairs(links)
    assert not leaked(True) & pairs(links)
    assert not leaked("both")
    for subgraph in ("bidirectional", "induced"):
        assert not leaked("both", subgraph_type=subgraph)
        assert not leaked(True, subgraph_type=subgraph) & pairs(links)


def test_torch_s_seed_repeats_negatives_and_draws(client: gz.Client, links: torch.Tensor) -> None:
    def run(seed: int) -> list[list[int]]:
        torch.manual_seed(seed)
        loader = LinkNeighborLoader(
            client, [2], links, neg_sampling="binary", batch_size=30, shuffle=True
        )
        return [data.n_id.tolist() for data in loader]

    assert run(1) == run(1) != run(2)


def test_all_edges_are_links_by_default(client: gz.Client, dataset: Any) -> None:
    drawn = gz.Graph(dataset).sample(range(NUM_NODES), [-1])
    edge_index = torch.from_numpy(drawn.edge_index[:, drawn.e_id.argsort()])
    loader = LinkNeighborLoader(client, [1], batch_size=10_000)
    assert len(loader.dataset) == edge_index.shape[1]
    found = torch.cat([data.n_id[data.edge_label_index] for data in loader], dim=1)
    assert torch.equal(found, edge_index)


def test_a_topology_that_does_not_fit_is_refused(
    client: gz.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphzero.client.pyg.topology.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"edge_label_index=None .* LinkNeighborLoader"):
        LinkNeighborLoader(client, [1])


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"exclude_seed_edges": "reverse"}, ValueError, "reverse"),
        ({"neg_sampling": "quadruplet"}, ValueError, "quadruplet"),
        (
            {"neg_sampling": NegativeSampling("binary", src_weight=torch.ones(3))},
            ValueError,
            "src_weight of neg_sampling has 3 items, expected 2000",
        ),
    ],
)
def test_wrong_arguments_are_named(
    client: gz.Client,
    links: torch.Tensor,
    options: dict[str, Any],
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        LinkNeighborLoader(client, [1], **{"edge_label_index": links, **options})


def test_every_link_comes_in_the_order_of_the_input(client: gz.Client, dataset: Any) -> None:
    when = torch.from_numpy(gz.FeatureStore(dataset / "when.gd").get_tensor().copy())
    loader = LinkNeighborLoader(client, [0], edge_label=when, batch_size=5_000)
    graph = gz.Graph(dataset)
    drawn = graph.sample(range(NUM_NODES), [-1])
    labels = {}
    for source, target, row in zip(*drawn.edge_index.tolist(), drawn.e_id.tolist(), strict=True):
        labels.setdefault((source, target), set()).add(when[row].item())
    seen = 0
    for data in loader:
        ends = data.n_id[data.edge_label_index].T.tolist()
        assert data.input_id[0] == seen
        for (source, target), label in zip(ends, data.edge_label.tolist(), strict=True):
            assert label in labels[source, target]
        seen += len(ends)
    assert seen == len(when)


def test_labels_above_zero_are_not_shifted(client: gz.Client, links: torch.Tensor) -> None:
    given = torch.linspace(0.25, 0.75, LINKS)
    loader = LinkNeighborLoader(client, [0], links, given, neg_sampling="binary", batch_size=LINKS)
    assert torch.equal(next(iter(loader)).edge_label[:LINKS], given)


def test_columns_of_edges_come_along(client: gz.Client, links: torch.Tensor, dataset: Any) -> None:
    when = torch.from_numpy(gz.FeatureStore(dataset / "when.gd").get_tensor().copy())
    data = next(iter(LinkNeighborLoader(client, [3], links, batch_size=LINKS)))
    assert torch.equal(data.when, when[data.e_id])
