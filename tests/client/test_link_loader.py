"""Loaders over links: what they go through, ranks, resuming, and what their batches tell."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from contents import batch_contents, same_sample, same_typed_sample, typed_contents
from typed_dataset import FOLLOWS, HAS, RATES, REV_RATES, TypedData, write_typed_dataset

pytestmark = pytest.mark.slow

FANOUT = [3, 2]
SOURCES = np.arange(90)
TARGETS = (SOURCES * 7 + 3) % 2000
LINKS = np.stack([SOURCES, TARGETS])
NEGATIVES = gz.Negatives("targets", 2)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TypedData:
    return write_typed_dataset(tmp_path_factory.mktemp("typed") / "shop")


@pytest.fixture
def shop(data: TypedData, daemon_of: Callable[[Path], Any]) -> Any:
    with gz.connect(daemon_of(data.path).address) as connected:
        yield connected


def edges_by_id(data: TypedData, relation: Any) -> tuple[Any, Any, Any]:
    """Sources, targets and times, in the order of edge ids."""
    edges = data.edges[relation]
    order = np.argsort(edges.edge_ids)
    times = None if edges.times is None else np.array(edges.times)[order]
    return np.array(edges.src)[order], np.array(edges.dst)[order], times


def late_ratings(data: TypedData, count: int | None = None) -> Any:
    """Edge ids of ratings at whose time there are movies to draw negatives from."""
    return np.flatnonzero(edges_by_id(data, RATES)[2] > -45)[:count]


def ends_of(batches: Any) -> list[list[tuple[int, int]]]:
    """The links of each batch, without its negatives."""
    found = []
    for batch in batches:
        count = len(batch.input_id)
        typed = isinstance(batch, gz.TypedBatch)
        ids = [batch[name].n_id if typed else batch.n_id for name in _end_types(batch)]
        sources = ids[0][batch.source_index[:count]]
        targets = ids[1][batch.target_index[:count]]
        found.append(list(zip(sources.tolist(), targets.tolist(), strict=True)))
    return found


def _end_types(batch: Any) -> tuple[Any, Any]:
    relation = getattr(batch, "link_relation", None)
    return (None, None) if relation is None else (relation[0], relation[2])


def contents(batches: Any) -> list[Any]:
    """Everything that must be equal for batches to be the same."""
    found = []
    for batch in batches:
        of = typed_contents if isinstance(batch, gz.TypedBatch) else batch_contents
        fields = (batch.input_id, batch.edge_label, batch.edge_label_time, batch.target_index)
        found.append((of(batch), [None if f is None else f.tolist() for f in fields]))
    return found


def test_an_epoch_has_every_link_once(client: gz.Client) -> None:
    loader = client.link_loader(LINKS, FANOUT, 40, negatives=NEGATIVES)
    assert len(loader) == 3
    batches = list(loader)
    assert [batch.input_id.tolist() for batch in batches] == [
        list(range(0, 40)), list(range(40, 80)), list(range(80, 90))
    ]  # fmt: skip
    expected = list(zip(SOURCES.tolist(), TARGETS.tolist(), strict=True))
    assert ends_of(batches) == [expected[:40], expected[40:80], expected[80:]]
    assert [len(batch.target_index) for batch in batches] == [120, 120, 30]
    assert batches[0].edge_label is None
    assert batches[0].edge_label_time is None


def test_a_batch_is_that_of_sample_links(client: gz.Client, graph: gz.Graph) -> None:
    options: dict[str, Any] = {"exclude_seed_edges": "both", "negatives": NEGATIVES}
    for batch in client.link_loader(LINKS, FANOUT, 32, shuffle=True, seed=4, **options):
        at = batch.input_id.numpy()
        expected = graph.sample_links(SOURCES[at], TARGETS[at], FANOUT, seed=batch.seed, **options)
        same_sample(batch, expected)
        assert np.array_equal(batch.target_index, expected.target_index)


@pytest.mark.parametrize(
    "form",
    [
        lambda sources, targets: (sources.tolist(), targets.tolist()),
        lambda sources, targets: [sources, targets],
        lambda sources, targets: torch.from_numpy(np.stack([sources, targets])),
    ],
)
def test_ends_come_as_users_have_them(client: gz.Client, form: Any) -> None:
    expected = contents(client.link_loader(LINKS, FANOUT, 40))
    assert contents(client.link_loader(form(SOURCES, TARGETS), FANOUT, 40)) == expected


def test_labels_follow_their_links(client: gz.Client) -> None:
    labels = torch.rand(90, 3)
    for batch in client.link_loader(LINKS, FANOUT, 20, edge_label=labels, shuffle=True):
        assert torch.equal(batch.edge_label, labels[batch.input_id])
        again = pickle.loads(pickle.dumps(batch))
        assert torch.equal(again.edge_label, batch.edge_label)


def test_without_links_all_edges_are_the_links(client: gz.Client, whole: Any) -> None:
    """In the order of the input, so that columns of edges are labels."""
    (batch,) = client.link_loader(None, [1], whole.num_edges, edge_label="when", columns=[])
    ends = torch.stack([batch.n_id[batch.source_index], batch.n_id[batch.target_index]])
    assert torch.equal(ends, whole.edge_index)
    assert torch.equal(batch.edge_label, whole.when)


def test_edges_may_be_named_by_id_by_mask_and_by_split(shop: gz.Client, data: TypedData) -> None:
    sources, targets, _ = edges_by_id(data, RATES)
    mask = np.zeros(2000, bool)
    mask[[5, 900]] = True
    cases: list[tuple[Any, list[int]]] = [
        ((RATES, [900, 5, 5]), [900, 5, 5]),
        ((RATES, torch.tensor([900, 5])), [900, 5]),
        (("rates", mask), [5, 900]),
        ((RATES, "train"), data.columns["user.rates.movie/train"].tolist()),
        (RATES, list(range(2000))),
        ("rates", list(range(2000))),
        ((RATES, None), list(range(2000))),
    ]
    for links, ids in cases:
        batches = list(shop.link_loader(links, [1], 1000, edge_label="rating", columns=[]))
        found = [link for batch in ends_of(batches) for link in batch]
        assert found == list(zip(sources[ids].tolist(), targets[ids].tolist(), strict=True))
        labels = torch.cat([batch.edge_label for batch in batches])
        assert np.array_equal(labels, data.columns["user.rates.movie/rating"][ids])


def test_a_view_turns_the_edges_of_its_relation(shop: gz.Client, data: TypedData) -> None:
    sources, targets, _ = edges_by_id(data, RATES)
    (batch,) = shop.link_loader((REV_RATES, [7, 8]), [1], 2, edge_label="rating")
    turned = zip(targets[[7, 8]].tolist(), sources[[7, 8]].tolist(), strict=True)
    assert ends_of([batch]) == [list(turned)]
    assert np.array_equal(batch.edge_label, data.columns["user.rates.movie/rating"][[7, 8]])


def test_edges_without_ids_are_in_the_order_of_the_file(shop: gz.Client, data: TypedData) -> None:
    (batch,) = shop.link_loader(HAS, [1], 400)
    edges = data.edges[HAS]
    assert sorted(ends_of([batch])[0]) == sorted(zip(edges.src, edges.dst, strict=True))
    with pytest.raises(gz.InvalidRequest, match="no times of their own"):
        shop.link_loader(HAS, [1], 10, time="own")
    with pytest.raises(gz.InvalidRequest, match=r"edges of .*has.* have none.*--edge-ids"):
        shop.link_loader((HAS, [1]), [1], 10)


def test_an_undirected_edge_is_one_link_by_its_id(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    (tmp_path / "edges.csv").write_text("3,1\n1,2\n2,0\n")
    gz.import_files(tmp_path / "edges.csv", tmp_path / "ring", undirected=True, edge_ids=True)
    with gz.connect(start_daemon(tmp_path / "ring").address) as client:
        (one,) = client.link_loader([2, 0, 1], [1], 3)
        assert ends_of([one]) == [[(0, 2), (1, 3), (1, 2)]]
        (every,) = client.link_loader(None, [1], 6)
        assert sorted(ends_of([every])[0]) == [(0, 2), (1, 2), (1, 3), (2, 0), (2, 1), (3, 1)]


def test_ends_may_be_original_ids(tmp_path: Path, start_daemon: Callable[..., Any]) -> None:
    (tmp_path / "calls.csv").write_text("ann,bob\nbob,eve\neve,ann\n")
    gz.import_files(tmp_path / "calls.csv", tmp_path / "calls", relabel=True, edge_ids=True)
    with gz.connect(start_daemon(tmp_path / "calls").address) as client:
        links = ["eve", "ann"], ["ann", "bob"]
        (batch,) = client.link_loader(links, [1], 2, original_ids=True)
        ((first, second),) = ends_of([batch])
        assert client.original_ids([*first, *second]) == ["eve", "ann", "ann", "bob"]
        for edges in (None, [0, 1], np.ones(3, bool)):
            with pytest.raises(gz.InvalidRequest, match="original_ids is set, but the links are"):
                client.link_loader(edges, [1], 2, original_ids=True)


@pytest.mark.parametrize("relation", [RATES, FOLLOWS])
def test_typed_batches_are_those_of_the_embedded_engine(
    shop: gz.Client, data: TypedData, relation: Any
) -> None:
    sources, targets, times = edges_by_id(data, relation)
    graph = gz.Graph(data.path)
    ids = np.arange(900) if times is None else late_ratings(data)
    timed = {} if times is None else {"time": "own"}
    options: dict[str, Any] = {"negatives": gz.Negatives("targets", 2, reject=True)}
    loader = shop.link_loader((relation, ids), FANOUT, 300, shuffle=True, **options, **timed)
    seen = 0
    for batch in loader:
        at = ids[batch.input_id]
        seen += len(at)
        expected = graph.sample_links(
            sources[at], targets[at], FANOUT, relation=relation, seed=batch.seed, **options,
            time=None if times is None else times[at],
        )  # fmt: skip
        same_typed_sample(batch, expected)
        assert batch.link_relation == relation
        if times is not None:
            assert np.array_equal(batch.edge_label_time, times[at])
    assert seen == len(ids) > 800


@pytest.mark.parametrize("exclude", [None, "own"])
def test_times_that_are_given_leave_out_the_edges_that_links_are(
    shop: gz.Client, data: TypedData, exclude: Any
) -> None:
    """At the end of time every edge is history; the link's own would give the answer away."""
    loader = shop.link_loader(
        (RATES, "train"), [-1], 50, time=50, columns=[], exclude_seed_edges=exclude
    )
    leaks = 0
    for batch in loader:
        own = data.columns["user.rates.movie/train"][batch.input_id]
        for relation in (RATES, REV_RATES):
            edges = batch[relation]
            of_tree = batch["user" if relation == REV_RATES else "movie"].batch
            trees = of_tree[edges.edge_index[1]] % len(own)
            leaks += int((edges.e_id.numpy() == own[trees]).sum())
            assert edges.num_edges > 0
    assert leaks == 0
    seen = shop.link_loader((RATES, [1]), [-1], 1, time=50, exclude_seed_edges=False)
    assert 1 in next(iter(seen))[RATES].e_id


def test_an_older_time_of_a_link_is_not_seen_through_its_batch(
    shop: gz.Client, data: TypedData
) -> None:
    times = edges_by_id(data, RATES)[2]
    loader = shop.link_loader((RATES, "train"), FANOUT, 64, time="own", shuffle=True, columns=[])
    for batch in loader:
        for relation in (RATES, REV_RATES):
            edges = batch[relation]
            of_tree = batch["user" if relation == REV_RATES else "movie"].batch
            until = batch.seed_time[of_tree[edges.edge_index[1]]].numpy()
            assert (times[edges.e_id] <= until).all()


@pytest.mark.parametrize("world_size", [2, 3])
@pytest.mark.parametrize("remainder", [0, 1, -1])
def test_ranks_share_an_epoch(client: gz.Client, world_size: int, remainder: int) -> None:
    count = 3 * world_size * 8 + remainder
    links = np.stack([np.arange(count), np.arange(count)[::-1]])
    loaders = [
        client.link_loader(links, [2], 8, shuffle=True, rank=rank, world_size=world_size)
        for rank in range(world_size)
    ]
    epochs = [[batch.input_id.tolist() for batch in loader] for loader in loaders]
    assert len({len(loader) for loader in loaders} | {len(epoch) for epoch in epochs}) == 1
    assert sorted(at for epoch in epochs for batch in epoch for at in batch) == list(range(count))
    assert all(batch for epoch in epochs for batch in epoch)
    with pytest.raises(ValueError, match="2 links for 3 ranks"):
        client.link_loader(links[:, :2], [2], 8, rank=0, world_size=3)


@pytest.mark.parametrize("taken", [0, 1, 8, 9])
@pytest.mark.parametrize("typed", [False, True])
def test_a_loader_resumes_with_the_very_next_batch(
    client: gz.Client, shop: gz.Client, data: TypedData, taken: int, typed: bool
) -> None:
    """Nine batches an epoch: after none, some, all but one, all."""

    def make() -> gz.Loader:
        options: dict[str, Any] = {"negatives": NEGATIVES, "shuffle": True, "seed": 3}
        if typed:
            return shop.link_loader(
                (RATES, late_ratings(data, 90)), FANOUT, 10, time="own", **options
            )
        return client.link_loader(LINKS, FANOUT, 10, edge_label=SOURCES, **options)

    whole = make()
    two_epochs = [*contents(whole), *contents(whole)]
    assert two_epochs[:9] != two_epochs[9:]
    saved = make()
    iterator = iter(saved)
    for _ in range(taken):
        next(iterator)
    resumed = make()
    resumed.load_state_dict(saved.state_dict())
    rest = contents(resumed)
    assert rest == two_epochs[taken : taken + len(rest)]
    assert len(rest) == (9 - taken if taken < 9 else 9)


def test_a_state_of_other_links_is_refused(client: gz.Client, shop: gz.Client) -> None:
    state = client.link_loader(LINKS, FANOUT, 10).state_dict()
    with pytest.raises(ValueError, match="a loader of other seeds"):
        client.link_loader(LINKS[::-1].copy(), FANOUT, 10).load_state_dict(state)
    with pytest.raises(ValueError, match="a loader of other seeds"):
        client.loader(range(90), FANOUT, 10).load_state_dict(state)
    with pytest.raises(gz.DatasetChanged):
        shop.link_loader((RATES, range(90)), FANOUT, 10).load_state_dict(state)
    at_times = shop.link_loader((RATES, range(90)), FANOUT, 10, time="own").state_dict()
    with pytest.raises(ValueError, match="a loader of other seeds"):
        shop.link_loader((RATES, range(90)), FANOUT, 10, time=3).load_state_dict(at_times)


def test_the_same_batches_after_a_restart_and_a_kill(
    start_daemon: Callable[..., Any], data: TypedData
) -> None:
    daemon = start_daemon(data.path)
    with gz.connect(daemon.address, retry=True) as client:
        options: dict[str, Any] = {"shuffle": True, "time": "own", "negatives": NEGATIVES}
        loader = client.link_loader((RATES, late_ratings(data)), FANOUT, 200, **options)
        expected = contents(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        seen = contents(next(batches) for _ in range(3))
        daemon.kill()
        daemon.start()
        seen += contents(next(batches) for _ in range(2))
        assert daemon.stop() == 0
        daemon.start()
        seen += contents(batches)
        assert seen == expected


@pytest.mark.parametrize("prefetch", [0, 1, 9])
def test_batches_do_not_depend_on_prefetch(shop: gz.Client, data: TypedData, prefetch: int) -> None:
    links = RATES, late_ratings(data, 90)
    options: dict[str, Any] = {"shuffle": True, "time": "own", "negatives": NEGATIVES}
    expected = contents(shop.link_loader(links, FANOUT, 10, **options))
    loader = shop.link_loader(links, FANOUT, 10, prefetch=prefetch, **options)
    assert contents(loader) == expected


def test_fields_of_links_go_where_their_batch_goes(shop: gz.Client) -> None:
    (batch,) = shop.link_loader((RATES, range(9)), FANOUT, 9, time="own", edge_label="rating")
    assert pickle.loads(pickle.dumps(batch)).edge_label.tolist() == batch.edge_label.tolist()
    assert isinstance(batch.numpy().input_id, np.ndarray)
    assert batch.clone().edge_label_time.tolist() == batch.edge_label_time.tolist()
    batch.release()
    assert batch.edge_label is None


@pytest.mark.parametrize(
    ("links", "options", "kind", "message"),
    [
        ([[1, 2], [3]], {}, ValueError, "links has 2 sources, 1 targets"),
        ([[1], [2000]], {}, gz.InvalidRequest, r"links\[1\]\[0\] is 2000, expected 0 to 1999"),
        ([[0.5], [1.5]], {}, TypeError, "float"),
        (np.zeros((3, 2), int), {}, ValueError, "links has 3 rows, expected 2"),
        (np.empty((2, 0), int), {}, ValueError, "0 links for 1 ranks"),
        ([10**9], {}, gz.InvalidRequest, "have no edge id 1000000000"),
        ([-1], {}, gz.InvalidRequest, "have no edge id -1"),
        (np.ones(3, bool), {}, ValueError, r"mask of shape \(3,\).*a bool for each edge id"),
        ("train", {}, gz.NotFound, "no split 'train' of edges, it has none"),
        (LINKS, {"edge_label": [1, 2]}, ValueError, r"shape \(2,\), expected 90 labels"),
        (LINKS, {"edge_label": ["a"] * 90}, TypeError, "edge_label: found <U1, expected numbers"),
        (LINKS, {"edge_label": "when"}, gz.InvalidRequest, "nobody knows which edge each link"),
        (LINKS, {"edge_label": "x"}, gz.NotFound, "expected an array or a column of edges: when"),
        (LINKS, {"time": 3}, gz.InvalidRequest, "has no times, of edges or of nodes"),
        (LINKS, {"time": "own"}, gz.InvalidRequest, "no times of their own"),
        (LINKS, {"time": "y"}, gz.InvalidRequest, "time is 'y', expected times"),
        (LINKS, {"exclude_seed_edges": "own"}, ValueError, "expected times of the links"),
        (LINKS, {"exclude_seed_edges": "all"}, ValueError, "exclude_seed_edges is 'all'"),
        (LINKS, {"link_edge_ids": [1]}, ValueError, "1 link_edge_ids, expected 90"),
        (LINKS, {"negatives": 3}, TypeError, "negatives is 3, expected graphzero.Negatives"),
        (LINKS, {"batch_size": None}, ValueError, "batch_size is missing"),
    ],
)
def test_what_makes_no_sense_is_named(
    client: gz.Client, links: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        client.link_loader(links, FANOUT, **{"batch_size": 10, **options})


def test_a_label_of_a_type_that_numpy_lacks_is_named(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    (tmp_path / "edges.csv").write_text("0,1\n1,0\n")
    gz.import_files(tmp_path / "edges.csv", tmp_path / "two", edge_ids=True)
    gz.write_features(tmp_path / "two" / "w.gd", torch.ones(2, dtype=torch.bfloat16), role="edge")
    with (
        gz.connect(start_daemon(tmp_path / "two").address) as client,
        pytest.raises(gz.InvalidRequest, match=r"'w', a column of bfloat16.*give an array"),
    ):
        client.link_loader(None, [1], 2, edge_label="w")


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (LINKS, r"links have no relation, .*expected \(relation, links\)"),
        (("user", "buys", "movie"), "expected one of"),
        (("buys", LINKS), "the relation of links is 'buys'"),
        ((RATES, [[0], [120]]), r"links\[1\]\[0\] is 120, expected 0 to 119.*type 'movie'"),
        ((RATES, "valid"), r"no split 'valid' of edges of .*rates.*, it has train"),
    ],
)
def test_what_makes_no_sense_with_types_is_named(shop: gz.Client, links: Any, message: str) -> None:
    with pytest.raises((gz.InvalidRequest, gz.NotFound), match=message):
        shop.link_loader(links, FANOUT, 10)


@pytest.mark.parametrize("kind", ["targets", "pairs"])
def test_a_link_before_all_candidates_is_named_when_the_loader_is_made(
    shop: gz.Client, data: TypedData, kind: Any
) -> None:
    first = min(data.times["movie"])
    links = (RATES, [[0, 1, 2], [3, 4, 5]])
    options: dict[str, Any] = {"negatives": gz.Negatives(kind, 2), "columns": []}
    message = rf"link 1 is at time {first - 1}, the earliest of 3: .*exists from {first} on; leave"
    with pytest.raises(gz.InvalidRequest, match=message):
        shop.link_loader(links, FANOUT, 1, time=[50, first - 1, 50], **options)
    loader = shop.link_loader(links, FANOUT, 1, time=[50, first, 50], **options)
    assert len(list(loader)) == 3
    # Users have no times, so that there are targets for the links of the view at any time.
    back = (REV_RATES, [[0], [3]])
    list(shop.link_loader(back, FANOUT, 1, time=-(10**6), negatives=gz.Negatives("targets")))


def test_edge_ids_that_no_edge_has_are_named(shop: gz.Client, data: TypedData) -> None:
    links = (RATES, [[0, 1], [2, 3]])
    with pytest.raises(gz.InvalidRequest, match=r"link_edge_ids\[1\] is 2000, expected 0 to 1999"):
        shop.link_loader(links, FANOUT, 2, time=50, link_edge_ids=[3, 2000])
    with pytest.raises(gz.InvalidRequest, match=r"link_edge_ids\[0\] is -4, expected 0 to 1999"):
        shop.sample_links([0], [2], FANOUT, relation=RATES, time=50, link_edge_ids=[-4])


def test_edges_need_files_and_ends_do_not(
    client: gz.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses

    elsewhere = dataclasses.replace(client.info().dataset, path="/nowhere/products")
    monkeypatch.setattr(client, "_dataset", elsewhere)
    with pytest.raises(gz.ServerUnavailable, match=r"/nowhere.*give the links as \(sources"):
        client.link_loader(None, FANOUT, 10)
    assert len(list(client.link_loader(LINKS, FANOUT, 45))) == 2


def test_an_older_daemon_is_not_asked_for_what_it_would_ignore(client: gz.Client) -> None:
    features = client._pool.welcome.features
    before = list(features)
    features.remove("links")
    try:
        with pytest.raises(gz.InvalidRequest, match="cannot do 'links'"):
            client.link_loader(LINKS, FANOUT, 10)
    finally:
        del features[:]
        features.extend(before)
