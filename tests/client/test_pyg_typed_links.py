"""LinkNeighborLoader over datasets with types: links of a relation, and negatives of its types."""

from __future__ import annotations

from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import (
    LinkNeighborLoader,
)
from hetero_graphs import (
    COUNTS,
    FOLLOWS,
    RATES,
    RELATIONS,
    REV_RATES,
    assert_columns,
    ends_of,
)
from torch_geometric.data import HeteroData
from torch_geometric.sampler import NegativeSampling

USERS = torch.tensor([5, 17, 3, 5, 8, 40])
LINKS = torch.stack([USERS, torch.tensor([39, 2, 2, 11, 0, 7])])
TYPES, TRIPLES = list(COUNTS), list(RELATIONS)


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("triple", [RATES, REV_RATES, FOLLOWS])
def test_links_of_a_relation(
    film_client: gz.Client, films: HeteroData, triple: Any, disjoint: bool
) -> None:
    links = films[triple].edge_index[:, :9]
    labels = torch.arange(9) % 4
    loader = LinkNeighborLoader(
        film_client, [-1], (triple, links), labels, disjoint=disjoint, batch_size=4
    )
    assert len(loader) == 3
    for batch, first in zip(loader, (0, 4, 8), strict=True):
        assert batch.input_type == triple
        store = batch[triple]
        assert torch.equal(
            ends_of(batch, triple, store.edge_label_index), links[:, first : first + 4]
        )
        assert torch.equal(store.edge_label, labels[first : first + 4])
        assert store.input_id.tolist() == list(range(9))[first : first + 4]
        assert "batch_size" not in batch[triple[0]]
        assert_columns(batch, films)
        # The edges of the links are there, as with PyG's.
        drawn = {tuple(pair) for pair in ends_of(batch, triple, store.edge_index).T.tolist()}
        assert {tuple(pair) for pair in links[:, first : first + 4].T.tolist()} <= drawn


def test_all_edges_of_a_relation_are_links_in_the_order_of_the_input(
    film_client: gz.Client, films: HeteroData
) -> None:
    loader = LinkNeighborLoader(film_client, [0], RATES, torch.arange(400), batch_size=100)
    found = [(ends_of(b, RATES, b[RATES].edge_label_index), b[RATES].edge_label) for b in loader]
    assert torch.equal(torch.cat([ends for ends, _ in found], 1), films[RATES].edge_index)
    assert torch.equal(torch.cat([labels for _, labels in found]), torch.arange(400))
    by_ends = LinkNeighborLoader(film_client, [0], ("user", "movie"), batch_size=400)
    (batch,) = by_ends
    assert torch.equal(
        ends_of(batch, RATES, batch[RATES].edge_label_index), films[RATES].edge_index
    )


@pytest.mark.parametrize("exclude", [None, False, True, "both"])
def test_edges_of_links_are_left_out_on_request(
    film_client: gz.Client, films: HeteroData, exclude: Any
) -> None:
    links = films[RATES].edge_index[:, :20]
    (batch,) = LinkNeighborLoader(
        film_client, [-1, -1], (RATES, links), exclude_seed_edges=exclude, batch_size=20
    )
    given = {tuple(pair) for pair in links.T.tolist()}
    drawn = {tuple(p) for p in ends_of(batch, RATES, batch[RATES].edge_index).T.tolist()}
    assert bool(drawn & given) is (exclude in (None, False))


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("triple", [RATES, REV_RATES, FOLLOWS])
@pytest.mark.parametrize("amount", [1, 0.5, 3])
def test_binary_negatives_have_ends_of_the_right_types(
    film_client: gz.Client, films: HeteroData, triple: Any, amount: float, disjoint: bool
) -> None:
    links = films[triple].edge_index[:, :8]
    sampling = NegativeSampling("binary", amount)
    (batch,) = LinkNeighborLoader(
        film_client, [2], (triple, links), neg_sampling=sampling, disjoint=disjoint, batch_size=8
    )
    store = batch[triple]
    pairs = 8 + int(8 * amount)
    assert store.edge_label_index.shape == (2, pairs)
    assert store.edge_label.tolist() == [1.0] * 8 + [0.0] * (pairs - 8)
    for name, ends in zip(triple[::2], store.edge_label_index, strict=True):
        assert int(ends.max()) < batch[name].num_nodes
    assert torch.equal(ends_of(batch, triple, store.edge_label_index[:, :8]), links)
    if disjoint:
        for name, ends in zip(triple[::2], store.edge_label_index, strict=True):
            assert torch.equal(batch[name].batch[ends], torch.arange(pairs) % 8)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("triple", [RATES, REV_RATES, FOLLOWS])
@pytest.mark.parametrize("amount", [1, 3])
def test_triplets_are_split_by_type(
    film_client: gz.Client,
    films: HeteroData,
    triple: Any,
    amount: int,
    disjoint: bool,
    weights: bool,
) -> None:
    links = films[triple].edge_index[:, :8]
    only = torch.zeros(COUNTS[triple[2]]).index_fill(0, torch.tensor([4, 6]), 1.0)
    sampling = NegativeSampling("triplet", amount, dst_weight=only if weights else None)
    (batch,) = LinkNeighborLoader(
        film_client, [2], (triple, links), neg_sampling=sampling, disjoint=disjoint, batch_size=8
    )
    sources, targets = batch[triple[0]], batch[triple[2]]
    assert torch.equal(sources.n_id[sources.src_index], links[0])
    assert torch.equal(targets.n_id[targets.dst_pos_index], links[1])
    assert targets.dst_neg_index.shape == ((8,) if amount == 1 else (8, amount))
    negatives = targets.n_id[targets.dst_neg_index]
    if weights:
        assert set(negatives.flatten().tolist()) <= {4, 6}
    assert "edge_label_index" not in batch[triple]
    assert batch[triple].input_id.tolist() == list(range(8))
    if disjoint:
        assert torch.equal(sources.batch[sources.src_index], torch.arange(8))
        assert torch.equal(targets.batch[targets.dst_pos_index], torch.arange(8))
        of_links = targets.batch[targets.dst_neg_index.view(8, amount)]
        assert torch.equal(of_links, torch.arange(8).unsqueeze(1).expand(8, amount))


def test_negatives_of_graphzero(film_client: gz.Client, films: HeteroData) -> None:
    links = films[RATES].edge_index[:, :50]
    (batch,) = LinkNeighborLoader(
        film_client, [1], (RATES, links), batch_size=50,
        neg_sampling=gz.Negatives("targets", 2, reject=True),
    )  # fmt: skip
    movies = batch["movie"]
    users = batch["user"].n_id[batch["user"].src_index]
    negatives = movies.n_id[movies.dst_neg_index]
    edges = {tuple(pair) for pair in films[RATES].edge_index.T.tolist()}
    pairs = zip(users.repeat_interleave(2).tolist(), negatives.flatten().tolist(), strict=True)
    assert not edges & set(pairs)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (None, "dataset 'films' has types: expected"),
        (LINKS, "dataset 'films' has types: expected"),
        ((RATES, LINKS + 30), r"\[1\]\[0\]\[5\] is 70, expected 0 to 59"),
        ((RATES, LINKS.T), "6 rows, expected 2"),
        ((("user", "rates", "film"), LINKS), "is 'film', expected one of"),
    ],
    ids=str,
)
def test_wrong_links_are_named(film_client: gz.Client, index: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinkNeighborLoader(film_client, [2], index)


# ---- links of a relation that the dataset does not have ----

WATCHES = ("user", "watches", "movie")
KNOWS = ("user", "knows", "user")


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("triple", [WATCHES, ("movie", "watched_by", "user"), KNOWS])
@pytest.mark.parametrize("mode", [None, "binary", "triplet"])
def test_what_is_predicted_need_not_be_in_the_graph(
    film_client: gz.Client, films: HeteroData, triple: Any, mode: Any, disjoint: bool
) -> None:
    links = torch.stack([torch.arange(8) % 5, torch.arange(8) + 3])
    negatives = None if mode is None else NegativeSampling(mode, 2)
    loader = LinkNeighborLoader(
        film_client,
        [-1],
        (triple, links),
        neg_sampling=negatives,
        disjoint=disjoint,
        batch_size=8,
    )
    for (batch,) in (loader, [loader([*range(8)])]):
        assert batch.input_type == triple
        assert_columns(batch, films)
        assert set(films.edge_types) < set(batch.edge_types)
        if mode == "triplet":
            sources, targets = batch[triple[0]], batch[triple[2]]
            pairs = torch.stack([sources.src_index, targets.dst_pos_index])
            assert targets.dst_neg_index.shape == (8, 2)
            of_links = {triple[2]: (targets.dst_neg_index, torch.arange(8).view(8, 1).expand(8, 2))}
        else:
            pairs = batch[triple].edge_label_index[:, :8]
            rest = batch[triple].edge_label_index[:, 8:]
            assert rest.shape == (2, 0 if mode is None else 16)
            ends = zip(triple[::2], rest, strict=True)
            of_links = {name: (index, torch.arange(len(index)) % 8) for name, index in ends}
        assert torch.equal(ends_of(batch, triple, pairs), links)
        if disjoint:
            for name, (index, expected) in of_links.items():
                assert torch.equal(batch[name].batch[index], expected)
        else:
            assert len(batch[triple[0]].n_id) == len(set(batch[triple[0]].n_id.tolist()))


def test_a_relation_that_there_is_not_has_no_edges(film_client: gz.Client) -> None:
    with pytest.raises(ValueError, match=r"'watches'.*does not have, without links"):
        LinkNeighborLoader(film_client, [2], WATCHES)
    for exclude in (True, "both"):
        with pytest.raises(ValueError, match=r"no relation .*'watches'.*, so that"):
            LinkNeighborLoader(film_client, [2], (WATCHES, LINKS), exclude_seed_edges=exclude)
    assert len(LinkNeighborLoader(film_client, [2], (WATCHES, LINKS), exclude_seed_edges=False))
    with pytest.raises(ValueError, match="nothing to draw by"):
        LinkNeighborLoader(
            film_client,
            [2],
            (WATCHES, LINKS),
            neg_sampling=gz.Negatives("pairs", weights="degree"),
        )
