"""How the daemon reads feature rows, what it says about it, and what it does when a disk fails."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.files.topology_file import TopologyFile
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.datasets.hot_rows import hot_nodes
from graphzero.server.datasets.io_stats import RowCacheCounter
from waiting import wait_until

pytestmark = pytest.mark.slow

PATHS = ["mapped", "cached", "direct"]
HELPERS = Path(__file__).parents[1] / "helpers"
FAULT = "from graphzero import _engine; _engine.set_read_fault({!r}, {})"


def column_stats(daemon: Any, name: str) -> Any:
    return next(c for c in daemon_stats(daemon.address).columns if c.column == name)


@pytest.mark.parametrize("path", PATHS)
def test_batches_are_the_same_on_every_path(
    start_daemon: Callable[..., Any], dataset: Path, path: str
) -> None:
    daemon = start_daemon(dataset, "--feature-io", path)
    expected = gz.Graph(dataset).sample([5, 17, 1999], [10, 5], seed=3)
    with gz.connect(daemon.address) as client:
        batch = client.sample([5, 17, 1999], fanout=[10, 5], seed=3)
        np.testing.assert_array_equal(batch.n_id, expected.n_id)
        for name in ("x", "y"):
            values = gz.FeatureStore(dataset / f"{name}.gd").get_tensor()
            np.testing.assert_array_equal(batch[name], values[expected.n_id])
    assert column_stats(daemon, "x").path == path
    assert f"small/x is {path} (as asked for)" in daemon.output()


def test_batches_are_the_same_from_a_staged_graph(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--topology-io", "staged", "--feature-io", "direct")
    graph = gz.Graph(dataset, io="mapped")
    with gz.connect(daemon.address) as client:
        for weighted in (False, True):
            options = {"fanout": [10, 5], "seed": 3, "weighted": weighted}
            batch = client.sample([5, 17, 1999], **options)
            expected = graph.sample([5, 17, 1999], **options)
            for name in ("n_id", "edge_index", "e_id", "edge_weight"):
                np.testing.assert_array_equal(batch[name], getattr(expected, name))
    stats = column_stats(daemon, "graph.gl")
    assert stats.path == "staged"
    assert stats.reads > 0
    assert "small/graph.gl is staged (as asked for; row starts of up to" in daemon.output()


def test_row_starts_of_a_staged_graph_are_kept_and_told(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--topology-io", "staged")
    daemon.wait_for_output("warm start keeps row starts of")
    kept = column_stats(daemon, "graph.gl").row_starts_byte_size
    assert 0 < kept <= TopologyFile(dataset / "graph.gl").most_row_starts_bytes
    with gz.connect(daemon.address) as client:
        before = column_stats(daemon, "graph.gl").gathers
        client.sample([1, 2, 3], fanout=[4], columns=[])
        # Neighbours, edge ids and weights; where rows begin is known.
        assert column_stats(daemon, "graph.gl").gathers - before == 3


def test_nothing_is_kept_if_nothing_is_to_be_warm(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--topology-io", "staged", "--warm", "none")
    with gz.connect(daemon.address) as client:
        client.sample([1, 2, 3], fanout=[4], columns=[])
    assert column_stats(daemon, "graph.gl").row_starts_byte_size == 0


def test_row_starts_that_cannot_be_read_are_told_and_the_rest_is_served(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    shutil.copytree(dataset, tmp_path / "damaged")
    path = tmp_path / "damaged" / "graph.gl"
    sections = TopologyFile(path).topology.sections
    place = next(s.offset for s in sections if s.name == "in.indptr") + 8 * 100
    with path.open("r+b") as file:
        file.seek(place)
        file.write((2**60).to_bytes(8, "little"))
    daemon = start_daemon(tmp_path, "--topology-io", "staged")
    daemon.wait_for_output("warm start does not keep all row starts of")
    assert "in.indptr does not rise" in daemon.output()
    with gz.connect(daemon.address) as client:
        client.sample([1, 2, 3], fanout=[1], columns=[])
        with pytest.raises(gz.ClientError, match="indptr of node 99"):
            client.sample([99], fanout=[4], columns=[])


REQUESTS: dict[str, Callable[[Any], Any]] = {
    "sample": lambda client: client.sample([3], fanout=[5], columns=[]),
    "weighted": lambda client: client.sample([3], fanout=[5], columns=[], weighted=True),
    "induced": lambda client: client.sample([3], fanout=[5], columns=[], subgraph="induced"),
    "walk": lambda client: client.random_walk([3, 4], 5),
    "node2vec": lambda client: client.random_walk([3, 4], 5, p=0.5, q=2.0),
    "links": lambda client: client.sample_links(
        [3], [4], fanout=[], columns=[], negatives=gz.Negatives("pairs", 9, reject=True)
    ),
}


def test_a_graph_that_cannot_be_read_fails_each_kind_of_request(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    for name in ("bad", "good"):
        shutil.copytree(dataset, tmp_path / name)
    setup = FAULT.format("bad/graph.gl", -errno.EIO)
    daemon = start_daemon(tmp_path, "--topology-io", "staged", setup=setup)
    with (
        gz.connect(daemon.address, dataset="bad") as client,
        gz.connect(daemon.address, dataset="good") as other,
    ):
        for request in REQUESTS.values():
            with pytest.raises(gz.ServerError, match=r"cannot read at byte \d+.*bad/graph\.gl"):
                request(client)
            assert request(other) is not None
        assert client.gather("x", [3]) is not None
        del request

    def nothing_is_held() -> bool:
        stats = daemon_stats(daemon.address)
        return (stats.shm_used_byte_size, len(stats.sessions)) == (0, 0)

    wait_until(nothing_is_held, "no session and no shared memory")


def test_a_disk_that_recovers_is_used_again(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    """A hundred failed reads, then as if nothing had been."""
    setup = FAULT.format("small/graph.gl", -errno.EIO).replace(")", ", times=100)")
    daemon = start_daemon(dataset, "--topology-io", "staged", setup=setup)
    graph = gz.Graph(dataset, io="mapped")
    failed = 0
    with gz.connect(daemon.address) as client:
        while failed <= 100:
            try:
                walks = client.random_walk(np.arange(500), 5, seed=1)
                break
            except gz.ServerError:
                failed += 1
        expected = graph.random_walk(np.arange(500), 5, seed=1)
        np.testing.assert_array_equal(walks.nodes, expected.nodes)
    assert failed > 0


def test_trainers_share_one_row_cache(start_daemon: Callable[..., Any], dataset: Path) -> None:
    options = ("--feature-io", "direct", "--row-cache", "8M", "--warm", "topology")
    daemon = start_daemon(dataset, *options)
    ids = np.arange(0, 2000, 2)
    values = gz.FeatureStore(dataset / "x.gd").get_tensor()
    for _ in range(3):
        with gz.connect(daemon.address) as client:
            np.testing.assert_array_equal(client.gather("x", ids), values[ids])
    stats = column_stats(daemon, "x")
    assert (stats.gathers, stats.rows, stats.cache_hits) == (3, 3000, 2000)
    assert stats.mapped_rows == 0
    assert sum(stats.read_latency) == stats.reads > 0
    assert stats.read_byte_size >= 1000 * 64
    cache = daemon_stats(daemon.address).row_cache
    assert cache.capacity_byte_size == 8 << 20
    assert cache.rows == 1000
    assert "row cache of 8.0 MiB" in daemon.output()


def test_a_reload_keeps_the_rows_of_datasets_that_did_not_change(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    for name in ("same", "new"):
        shutil.copytree(dataset, tmp_path / name)
    options = ("--feature-io", "direct", "--row-cache", "8M", "--warm", "topology")
    daemon = start_daemon(tmp_path, *options)

    def read() -> dict[str, int]:
        for name in ("same", "new"):
            with gz.connect(daemon.address, dataset=name) as client:
                client.gather("x", np.arange(1000))
        columns = daemon_stats(daemon.address).columns
        return {c.dataset: c.cache_hits for c in columns if c.column == "x"}

    assert read() == {"same": 0, "new": 0}
    os.utime(tmp_path / "new" / "x.gd")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for_output("reloaded 2 datasets")
    assert "new, same (unchanged)" in daemon.output()
    assert read() == {"same": 1000, "new": 0}


def test_top_shows_what_reading_costs(start_daemon: Callable[..., Any], dataset: Path) -> None:
    options = ("--feature-io", "direct", "--row-cache", "8M", "--warm", "topology")
    daemon = start_daemon(dataset, *options)
    with gz.connect(daemon.address) as client:
        client.gather("x", [1, 2, 3])
        client.gather("x", [1, 2, 3])
    command = [sys.executable, "-m", "graphzero", "top", "--once", str(daemon.socket)]
    page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "row cache" in page
    line = next(line for line in page.splitlines() if "small/x, direct" in line)
    assert "50.0%" in line


def test_rows_of_nodes_with_edges_are_in_the_row_cache_after_a_warm_start(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--feature-io", "direct", "--row-cache", "8M")
    daemon.wait_for_output("rows into the row cache")
    before = column_stats(daemon, "x")
    with gz.connect(daemon.address) as client:
        batch = client.sample(np.arange(100), fanout=[10, 5], seed=1, columns=["x"])
        values = gz.FeatureStore(dataset / "x.gd").get_tensor()
        np.testing.assert_array_equal(batch.x, values[batch.n_id])
    after = column_stats(daemon, "x")
    found = len(batch.n_id) - 100  # seeds may have no out-edges; what a hop finds has
    assert after.cache_hits - before.cache_hits >= found > 1000
    assert after.reads - before.reads <= 100


@pytest.mark.parametrize("most", [0, 1, 700, 1999, 2000, 5000])
def test_hot_nodes_are_those_of_the_highest_degrees(dataset: Path, most: int) -> None:
    graph = TopologyFile(dataset / "graph.gl")
    degrees = np.array([graph.topology.degree(node, "out") for node in range(graph.num_nodes)])
    nodes = np.concatenate(list(hot_nodes(graph, most)))
    np.testing.assert_array_equal(nodes, np.unique(nodes))
    expected = np.sort(degrees[degrees > 0])[::-1][:most]
    np.testing.assert_array_equal(np.sort(degrees[nodes])[::-1], expected)


def test_no_row_cache(start_daemon: Callable[..., Any], dataset: Path) -> None:
    daemon = start_daemon(dataset, "--feature-io", "direct", "--row-cache", "0")
    with gz.connect(daemon.address) as client:
        for _ in range(2):
            client.gather("x", [1, 2, 3])
    assert column_stats(daemon, "x").cache_hits == 0
    assert not daemon_stats(daemon.address).HasField("row_cache")


@pytest.mark.parametrize("option", [("--feature-io", "fast"), ("--row-cache", "much")])
def test_options_that_make_no_sense_are_refused(dataset: Path, option: tuple[str, str]) -> None:
    command = [sys.executable, "-m", "graphzero.server", "--data", str(dataset), *option]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert option[0].removeprefix("--") in done.stderr
    assert option[1] in done.stderr


@pytest.mark.parametrize("path", ["cached", "direct"])
def test_a_failing_disk_fails_the_request_and_nothing_else(
    start_daemon: Callable[..., Any], dataset: Path, path: str
) -> None:
    setup = FAULT.format("small/x.gd", -errno.EIO)
    daemon = start_daemon(dataset, "--feature-io", path, setup=setup)
    if path == "direct":
        daemon.wait_for_output("warm start cannot fill the row cache")
    with gz.connect(daemon.address) as client:
        with pytest.raises(gz.ServerError, match=r"cannot read at byte \d+.*Input/output.*x\.gd"):
            client.gather("x", [3])
        with pytest.raises(gz.ServerError, match=r"x\.gd"):
            client.sample([3], fanout=[5])
        values = gz.FeatureStore(dataset / "y.gd").get_tensor()
        np.testing.assert_array_equal(client.gather("y", [3, 4]), values[[3, 4]])
        assert client.sample([3], fanout=[5], columns=["y"]).y is not None
    assert daemon.process.poll() is None
    # Whoever looks after the daemon reads its log, not the trainers'.
    logged = [line for line in daemon.output().splitlines() if "ERROR session 1 of" in line]
    assert len(logged) == 2
    assert all("Input/output" in line and "x.gd" in line for line in logged)


def gather_all(client: gz.Client) -> Any:
    return client.gather("x", np.arange(2000))


def sample_all(client: gz.Client) -> Any:
    return client.sample(np.arange(2000), fanout=[5], columns=[], weighted=True)


def walk_from_all(client: gz.Client) -> Any:
    return client.random_walk(np.arange(2000), 5, p=0.5, q=2.0)


@pytest.mark.parametrize(
    ("options", "file", "request_all"),
    [
        (("--feature-io", "cached"), "x.gd", gather_all),
        (("--feature-io", "direct", "--row-cache", "0"), "x.gd", gather_all),
        (("--topology-io", "staged"), "graph.gl", sample_all),
        (("--topology-io", "staged"), "graph.gl", walk_from_all),
    ],
    ids=["cached", "direct", "staged sample", "staged walk"],
)
def test_truncation_under_load_fails_that_dataset_only(
    start_daemon: Callable[..., Any],
    dataset: Path,
    tmp_path: Path,
    options: tuple[str, ...],
    file: str,
    request_all: Callable[[gz.Client], Any],
) -> None:
    for name in ("cut", "whole"):
        shutil.copytree(dataset, tmp_path / name)
    daemon = start_daemon(tmp_path, *options, "--warm", "none")
    seen: dict[str, Exception] = {}
    served = {"cut": threading.Event(), "whole": threading.Event()}
    stop = threading.Event()

    def train(name: str) -> None:
        with gz.connect(daemon.address, dataset=name) as client:
            while not stop.is_set():
                try:
                    request_all(client)
                except gz.ClientError as error:
                    seen[name] = error
                    return
                served[name].set()

    trainers = {name: threading.Thread(target=train, args=(name,)) for name in served}
    for thread in trainers.values():
        thread.start()
    for event in served.values():
        assert event.wait(60)
    path = tmp_path / "cut" / file
    os.truncate(path, path.stat().st_size // 8)
    trainers["cut"].join(60)
    served["whole"].clear()
    assert served["whole"].wait(60)
    stop.set()
    trainers["whole"].join(60)
    assert "whole" not in seen
    assert isinstance(seen["cut"], gz.ServerError)
    assert "the file was cut short" in str(seen["cut"])
    assert str(path) in str(seen["cut"])


WITHOUT_IO_URING = f"""
import sys
sys.path.insert(0, {str(HELPERS)!r})
from system_calls import forbid_io_uring
forbid_io_uring()
"""


def test_a_machine_without_io_uring_is_warned_of(
    start_daemon: Callable[..., Any], dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRAPHZERO_IO_ENGINE", raising=False)
    without = start_daemon(dataset, "--feature-io", "direct", setup=WITHOUT_IO_URING)
    without.wait_for_output("warning: rows are read by a pool of threads")
    assert "allow the system calls io_uring_setup" in without.output()
    assert "reads by pread" in without.output()
    assert daemon_stats(without.address).io_engine == "pread"
    # Whoever chose it knows.
    chosen = start_daemon(dataset, "--feature-io", "direct", env={"GRAPHZERO_IO_ENGINE": "pread"})
    chosen.wait_for_output("reads by pread")
    assert chosen.stop() == 0
    assert "warning: rows are read" not in chosen.output()


def test_a_gather_under_way_makes_no_misses_below_none() -> None:
    """It has counted what it found in the cache, and not yet how many rows it wanted."""
    column = pb.ColumnStats(path="direct", rows=10, cache_hits=96)
    other = pb.ColumnStats(path="direct", rows=10, cache_hits=4, mapped_rows=1)
    assert hits_and_misses(RowCacheCounter(), [column, other]) == (100, 5)


def hits_and_misses(counter: RowCacheCounter, columns: list[pb.ColumnStats]) -> tuple[int, int]:
    stats = counter.stats(_engine.RowCache(1 << 20), columns)
    assert stats is not None
    return stats.hits, stats.misses


def test_what_the_row_cache_counts_never_falls() -> None:
    """Not while a gather is under way, and not when a dataset is replaced or gone."""
    counter = RowCacheCounter()

    def column(dataset: str, rows: int, hits: int) -> pb.ColumnStats:
        return pb.ColumnStats(
            dataset=dataset, column="x", path="direct", rows=rows, cache_hits=hits
        )

    a = column("a", 100, 40)
    assert hits_and_misses(counter, [a, column("b", 10, 1)]) == (41, 69)
    assert hits_and_misses(counter, [a, column("b", 10, 6)]) == (46, 69)  # under way
    assert hits_and_misses(counter, [a, column("b", 20, 6)]) == (46, 74)
    assert hits_and_misses(counter, [a, column("b", 5, 2)]) == (48, 77)  # opened anew
    assert hits_and_misses(counter, [a, column("b", 3, 2)]) == (50, 78)  # and once more
    assert hits_and_misses(counter, [a]) == (50, 78)
    assert hits_and_misses(counter, [a, column("b", 1, 1)]) == (51, 78)
