"""Relations that have each other's edges in reverse are found whatever their names and order, so
that links do not see their own edges."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import InputError
from graphzero.conversion import inverses
from graphzero.conversion.inputs.streams import array_edges
from graphzero.conversion.inverses import pair_inverses, times_of_reverses
from graphzero.conversion.typed_plan import RelationPlan
from typed_contents import TypedContents

RATES, BACK = ("user", "rates", "movie"), ("movie", "rev_rates", "user")
COUNTS = {"user": 60, "movie": 40}
Ends = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


@pytest.fixture(autouse=True)
def no_other_warnings() -> Iterator[None]:
    """An import of paired relations has nothing to warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


def rated(count: int = 200, seed: int = 0) -> tuple[Ends, np.ndarray[Any, Any]]:
    """Edges with parallel ones, and a time for each; all pairs have times of their own."""
    draw = np.random.default_rng(seed)
    ends = draw.integers(60, size=count), draw.integers(40, size=count)
    return ends, draw.permutation(count)


def relation(triple: Any, ends: Ends, times: Any = None, **options: Any) -> RelationPlan:
    return RelationPlan(triple, array_edges(triple[1], *ends, None, times), **options)


def turned(ends: Ends, order: Any = slice(None)) -> Ends:
    return ends[1][order], ends[0][order]


# --- Datasets: what a link sees ---


def hetero_data(back: Any, order: Any, *, timed: bool = True) -> Any:
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data").HeteroData()
    ends, times = rated()
    for name, count in COUNTS.items():
        data[name].num_nodes = count
    data[RATES].edge_index = torch.tensor(np.stack(ends))
    data[back].edge_index = torch.tensor(np.stack(turned(ends, order)))
    if timed:
        data[RATES].time = torch.tensor(times)
        data[back].time = torch.tensor(times[order])
    return data


def links_that_see_themselves(dataset: Path, back: Any, times_of_edges: Any) -> int:
    """Of all links, those in whose trees the reverse relation has their own edge. Edges have the
    given times by their ids, or None."""
    timed = times_of_edges is not None
    ends, times = rated()
    graph = gz.Graph(dataset)
    seen = 0
    for source, target, time in zip(*ends, times, strict=True):
        options: dict[str, Any] = {"time": [time]} if timed else {"exclude_seed_edges": "both"}
        batch = graph.sample_links([source], [target], [-1, -1], relation=RATES, **options)
        movies, users = batch["movie"].n_id, batch["user"].n_id
        index = batch[back].edge_index
        own = (movies[index[0]] == target) & (users[index[1]] == source)
        if timed:
            own &= times_of_edges[batch[back].e_id] == time
        seen += bool(own.any())
    return seen


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("name", ["rev_rates", "rated_by", "rates"])
@pytest.mark.parametrize("sorted_like", ["itself", "sort()", "nothing"])
def test_a_link_does_not_see_its_edge_through_the_reverse(
    tmp_path: Path, name: str, sorted_like: str, timed: bool
) -> None:
    (_, movies), times = rated()
    order = {
        "itself": np.arange(200),
        "sort()": np.argsort(movies, kind="stable"),
        "nothing": np.random.default_rng(1).permutation(200),
    }[sorted_like]
    back = ("movie", name, "user")
    data = hetero_data(back, order, timed=timed)
    report = gz.import_pyg(data, tmp_path / "ds", time="time" if timed else None)
    assert report.relations[RATES].inverse == back
    assert report.relations[back].inverse == RATES
    of_edges = times[order] if timed else None
    assert links_that_see_themselves(tmp_path / "ds", back, of_edges) == 0


def test_relations_within_one_type_are_paired_too(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data").HeteroData()
    data["user"].num_nodes = 5
    data["user", "follows", "user"].edge_index = torch.tensor([[0, 1, 1, 4], [1, 2, 3, 0]])
    data["user", "followed", "user"].edge_index = torch.tensor([[3, 0, 1, 2], [1, 4, 0, 1]])
    data["user", "likes", "user"].edge_index = torch.tensor([[2, 3, 2, 3], [4, 4, 0, 0]])
    gz.import_pyg(data, tmp_path / "ds")
    found = TypedContents(tmp_path / "ds")
    assert [own.inverse for own in found.graph.relations] == [1, 0, None]


def test_a_warning_names_relations_that_share_edges_and_are_no_inverses(tmp_path: Path) -> None:
    """As after a split that takes edges out of one relation only."""
    data = hetero_data(BACK, np.arange(200), timed=False)
    data[RATES].edge_index = data[RATES].edge_index[:, :150]
    with pytest.warns(UserWarning, match=r"import_pyg\(\): ") as caught:
        report = gz.import_pyg(data, tmp_path / "ds")
    assert isinstance(report, gz.TypedConversionReport)
    text = "; ".join(report.cautions)
    assert text in str(caught[0].message)
    assert "(movie, rev_rates, user) has edges of (user, rates, movie) in reverse" in text
    assert "about 100% of those of the smaller relation" in text
    assert "but is not its inverse: found 200 edges, expected 150" in text
    assert "a model can see the answer" in text


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({RATES: BACK}, "(movie, rev_rates, user) is not (user, rates, movie) in reverse: found 2"),
        ({"rates": "rev_rates"}, "found 200 edges, expected 199; leave the pair out"),
        ({"rates": "rates"}, "found (user, rates, movie) as its own inverse"),
        ({"rates": "likes"}, "found 'likes', no such relation, expected one of (user, rates, movi"),
        ({RATES: RATES[::-1]}, "no such relation"),
    ],
)
def test_pairs_that_are_declared_and_wrong_are_an_error(
    tmp_path: Path, declared: Any, message: str
) -> None:
    data = hetero_data(BACK, np.arange(200), timed=False)
    data[RATES].edge_index = data[RATES].edge_index[:, :199]
    with pytest.raises(InputError) as caught:
        gz.import_pyg(data, tmp_path / "ds", inverses=declared)
    assert str(caught.value).startswith("inverses: ")
    assert message in str(caught.value)
    assert not (tmp_path / "ds").exists()


def test_a_graph_without_types_has_no_inverses(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data").Data(edge_index=torch.tensor([[0], [1]]))
    with pytest.raises(ValueError, match="inverses: found a graph of one type, expected Hetero"):
        gz.import_pyg(data, tmp_path / "ds", inverses={})


def edge_tables(order: Any, **back: Any) -> dict[str, Any]:
    (users, movies), times = rated()
    user, movie = ({"column": name, "table": name} for name in ("user", "movie"))
    return {
        "user": {},
        "movie": {},
        "rates": {
            "data": {"user": users, "movie": movies, "at": times},
            "edges": {"source": user, "target": movie},
            "time": "at",
            "reverse": False,
        },
        "rated_by": {
            "data": {"user": users[order], "movie": movies[order], "at": times[order]},
            "edges": {"source": movie, "target": user},
            "time": "at",
            "reverse": False,
            **back,
        },
    }


def test_tables_of_edges_are_paired_too(tmp_path: Path) -> None:
    order = np.random.default_rng(2).permutation(200)
    report = gz.import_tables(edge_tables(order), tmp_path / "ds")
    assert report.relations[RATES].inverse == ("movie", "rated_by", "user")
    for declared in ({"rates": "rated_by"}, {"movie.rated_by.user": "user.rates.movie"}):
        tables = {"tables": edge_tables(order), "inverses": declared}
        again = gz.import_tables(tables, tmp_path / "ds", overwrite=True)
        assert again.relations == report.relations
    with pytest.raises(InputError, match=r"^import_tables\(\): inverses: .* found 150 edges, exp"):
        gz.import_tables(
            edge_tables(order[:150]), tmp_path / "other", inverses={"rates": "rated_by"}
        )
    with pytest.warns(UserWarning, match=r"import_tables\(\): \(movie, rated_by, user\) has edges"):
        gz.import_tables(edge_tables(order[:150]), tmp_path / "other")


# --- Times ---


@pytest.mark.parametrize("untimed", [RATES, BACK])
def test_an_inverse_without_times_gets_those_of_its_edges(tmp_path: Path, untimed: Any) -> None:
    order = np.random.default_rng(5).permutation(200)
    data = hetero_data(BACK, order)
    del data[untimed].time
    with pytest.warns(UserWarning, match=rf"data\[.*{untimed[1]}.*\]: its edges got the times of"):
        gz.import_pyg(data, tmp_path / "ds", time="time")
    found = TypedContents(tmp_path / "ds")
    back = sorted((edge.target, edge.source, edge.time) for edge in found.edges(BACK))
    assert back == sorted((edge.source, edge.target, edge.time) for edge in found.edges(RATES))
    (users, movies), times = rated()
    assert back == sorted(zip(users, movies, times, strict=True))
    for triple in (RATES, BACK):
        time_of = {edge.id: edge.time for edge in found.edges(triple)}
        for time in (0, 50, 120):
            batch = gz.Graph(tmp_path / "ds").sample({"user": range(60)}, [-1, -1], time=time)
            assert batch[BACK].num_edges
            assert all(time_of[number] <= time for number in batch[triple].e_id.tolist())


def test_parallel_edges_get_their_times_in_the_order_in_which_they_come() -> None:
    ends = np.array([3, 1, 3, 3]), np.array([0, 2, 0, 1])
    back = np.array([1, 0, 2, 0]), np.array([3, 3, 1, 3])
    assert times_of_reverses(ends, np.array([9, 5, 7, 1]), back).tolist() == [1, 9, 5, 7]


def test_a_table_of_edges_without_the_times_of_its_inverse_is_told(tmp_path: Path) -> None:
    tables = edge_tables(np.arange(200))
    del tables["rated_by"]["time"]
    with pytest.warns(UserWarning, match="in reverse, but no times: samples by time get edges of"):
        report = gz.import_tables(tables, tmp_path / "ds")
    assert report.relations[RATES].inverse == ("movie", "rated_by", "user")


# --- Which relations are paired ---


def paired(*relations: RelationPlan, declared: Any = None) -> list[tuple[str, str]]:
    found = pair_inverses(relations, declared).inverses
    return [(a[1], b[1]) for a, b in found]


def test_edges_must_be_equally_many_and_at_the_same_times() -> None:
    ends, times = rated()
    order = np.random.default_rng(3).permutation(200)
    rates = relation(RATES, ends, times)
    assert paired(rates, relation(BACK, turned(ends, order), times[order])) == [
        ("rates", "rev_rates")
    ]
    late = times[order].copy()
    late[7] += 1
    assert paired(rates, relation(BACK, turned(ends, order), late)) == []
    # One parallel edge instead of another edge: the same pairs, but not the same number of each.
    twice = ends[0].copy(), ends[1].copy()
    for end in twice:
        end[0] = end[1]
    assert paired(relation(RATES, ends), relation(BACK, turned(twice))) == []
    assert paired(relation(RATES, ends), relation(BACK, ends)) == []  # not in reverse
    assert paired(relation(RATES, ends, dedup=True), relation(BACK, turned(ends))) == []


def test_of_several_relations_the_declared_one_is_taken_then_rev_name() -> None:
    ends, _ = rated()
    other = relation(("movie", "rated_by", "user"), turned(ends))
    named = relation(BACK, turned(ends))
    rates = relation(RATES, ends)
    found = pair_inverses([other, rates, named])
    assert found.inverses == [(RATES, BACK)]
    assert found.cautions[0].endswith("is not its inverse: it is paired with another relation")
    assert len(found.cautions) == 2  # the other one says what it means
    assert paired(other, rates, named, declared={RATES: other.triple}) == [("rates", "rated_by")]
    assert paired(other, rates) == [("rated_by", "rates")]
    both_sides = {RATES: other.triple, other.triple: RATES}
    assert paired(other, rates, declared=both_sides) == [("rates", "rated_by")]
    with pytest.raises(InputError, match="as the inverse of two relations, expected one"):
        paired(other, rates, named, declared={RATES: BACK, other.triple: RATES})


def test_relations_without_edges_are_paired_by_name_only() -> None:
    none = np.empty(0, np.int64), np.empty(0, np.int64)
    assert paired(relation(RATES, none), relation(BACK, none)) == [("rates", "rev_rates")]
    other = pair_inverses([relation(RATES, none), relation(("movie", "sold_to", "user"), none)])
    assert other.inverses == []
    assert other.cautions == ()


def test_relations_that_hardly_share_edges_are_not_worth_a_caution() -> None:
    ends, _ = rated()
    far = ends[1] + 100, ends[0].copy()
    far[0][:10] -= 100  # one in 20 is the same
    assert pair_inverses([relation(RATES, ends), relation(BACK, far)]).cautions == ()


def test_samples_of_large_relations_tell_how_much_they_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inverses, "_SAMPLED", 500)
    monkeypatch.setattr(inverses, "_STEP", 1000)
    src, dst = np.arange(20_000), np.arange(20_000) % 777
    order = np.random.default_rng(4).permutation(20_000)
    other = dst[order], src[order].copy()
    other[1][:10_000] += 50_000  # half of the edges are others
    found = pair_inverses([relation(RATES, (src, dst)), relation(BACK, other)])
    assert found.inverses == []
    share = int(found.cautions[0].split("about ")[1].split("%")[0])
    assert 42 <= share <= 58  # four standard deviations of 500 coins
    assert paired(relation(RATES, (src, dst)), relation(BACK, (dst[order], src[order])))
