"""Columns that are dealt to several daemons: the same bytes as from one machine."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from certificates import make_certificate
from contents import file_bytes
from graphzero import _engine
from graphzero.client.daemon.daemon_calls import open_calls
from graphzero.proto import graphzero_pb2 as pb
from sharded_daemons import deal, free_ports, start_parts
from typed_dataset import write_typed_dataset
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

TOKEN = "a token of enough bytes"


def contents(batch: Any) -> dict[str, Any]:
    """Every tensor of a batch, typed or not."""
    if hasattr(batch, "node_types"):
        return {
            f"{owner}/{name}": np.asarray(value)
            for owner in (*batch.node_types, *batch.edge_types)
            for name in batch[owner].keys()  # noqa: SIM118 - it is no mapping
            for value in [batch[owner][name]]
        }
    return {name: np.asarray(batch[name]) for name in batch.keys()}  # noqa: SIM118


def same(one: Any, other: Any) -> None:
    first, second = contents(one), contents(other)
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert value.dtype == second[name].dtype, name
        assert np.array_equal(value, second[name]), name


def with_tls_and_token(directory: Path) -> tuple[Path, list[str]]:
    """A token's file, and the options of a daemon that uses it and a certificate."""
    certificate, key = map(str, make_certificate(directory))
    token = directory / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    tls = ["--tls-certificate", certificate, "--tls-key", key]
    return token, [*tls, "--token-file", str(token), "--peer-root-certificate", certificate]


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_typed_dataset(tmp_path_factory.mktemp("typed") / "films").path


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, dataset: Path) -> list[Path]:
    return deal(dataset, tmp_path_factory.mktemp("parts"), 3)


@pytest.fixture
def clients(
    start_daemon: Callable[..., Any], dataset: Path, parts: list[Path]
) -> Iterator[list[gz.Client]]:
    """Of the whole dataset, then of each part."""
    daemons = [start_daemon(dataset), *start_parts(start_daemon, parts, "--row-cache", "8M")]
    opened = [gz.connect(daemon.address) for daemon in daemons]
    yield opened
    for client in opened:
        client.close()


def test_every_request_has_the_same_bytes_as_one_machine(clients: list[gz.Client]) -> None:
    whole, *others = clients
    links, negatives = ([1, 2, 3], [4, 5, 6]), gz.Negatives("targets", 2)
    assert len({client.info().dataset.fingerprint for client in clients}) == 1
    for client in others:
        for seed in range(3):
            same(
                client.sample(range(seed, 500, 3), [5, 5], seed=seed),
                whole.sample(range(seed, 500, 3), [5, 5], seed=seed),
            )
        same(
            client.sample_links(*links, fanout=[4, 4], negatives=negatives, seed=9),
            whole.sample_links(*links, fanout=[4, 4], negatives=negatives, seed=9),
        )
        ids = np.random.default_rng(3).integers(0, 2000, 5000)
        assert np.array_equal(client.gather("x", ids), whole.gather("x", ids))
        assert np.array_equal(client.gather("when", [29_999, 0]), whole.gather("when", [29_999, 0]))
        loader = {"fanout": [3, 3], "batch_size": 100, "shuffle": True, "seed": 4}
        for mine, theirs in zip(
            client.loader("train", **loader), whole.loader("train", **loader), strict=True
        ):
            same(mine, theirs)


def test_rows_of_others_are_cached_and_counted(clients: list[gz.Client]) -> None:
    client = clients[1]
    ids = range(0, 2000, 2)
    for _ in range(3):
        client.gather("x", ids)
    with open_calls(client.info().address) as calls:
        (column,) = [c for c in calls.stats().columns if c.column == "x"]
    own = sum(row // 7 % 3 == 0 for row in ids)
    assert column.rows == 3 * own
    assert column.remote_rows == 3 * (1000 - own)
    assert column.remote_cache_hits == 2 * (1000 - own)
    assert column.remote_byte_size == (1000 - own) * 64


@pytest.mark.parametrize("feature_io", ["mapped", "direct"])
def test_quantised_rows_of_an_ordered_dataset_travel_as_they_are_stored(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path, feature_io: str
) -> None:
    gz.quantise(dataset, tmp_path / "small")
    gz.reorder(tmp_path / "small", tmp_path / "ordered", order="degree")
    reading = ("--feature-io", feature_io, "--row-cache", "8M", "--warm", "none")
    daemons = [
        start_daemon(tmp_path / "ordered", *reading),
        *start_parts(start_daemon, deal(tmp_path / "ordered", tmp_path / "parts", 2), *reading),
    ]
    whole, *others = [gz.connect(daemon.address) for daemon in daemons]
    exact = np.asarray(gz.FeatureStore(dataset / "x.gd").get_tensor())
    for client in others:
        for _ in range(2):  # from peers, then from the cache
            batch = client.sample(range(0, 500, 3), [5, 5], seed=1)
            same(batch, whole.sample(range(0, 500, 3), [5, 5], seed=1))
        values = np.asarray(batch.x)
        assert values.dtype == exact.dtype
        off = np.abs(values - exact[np.asarray(client.original_ids(batch.n_id))])
        assert 0 < off.max() < 0.02 * np.ptp(exact)
        with open_calls(client.info().address) as calls:
            (column,) = [c for c in calls.stats().columns if c.column == "x"]
        assert column.remote_cache_hits > 0
        assert column.remote_rows > column.remote_cache_hits
        # A byte a value, where float32 has four.
        travelled = column.remote_rows - column.remote_cache_hits
        assert column.remote_byte_size == travelled * exact.shape[1]
    for client in (whole, *others):
        client.close()


def test_types_and_times(start_daemon: Callable[..., Any], typed: Path, tmp_path: Path) -> None:
    keep = ["user/joined"]
    daemons = start_parts(start_daemon, deal(typed, tmp_path, 2, keep=keep))
    with gz.connect(start_daemon(typed).address) as whole:
        for daemon in daemons:
            with gz.connect(daemon.address) as client:
                for seed in range(3):
                    arguments: dict[str, Any] = {"fanout": [4, 3], "seed": seed}
                    seeds = {"user": range(0, 200, 3), "movie": range(40)}
                    same(client.sample(seeds, **arguments), whole.sample(seeds, **arguments))
                    timed = {"time": "joined", **arguments}
                    users = {"user": range(0, 100, 3)}
                    same(client.sample(users, **timed), whole.sample(users, **timed))


def test_a_column_that_is_needed_whole_is_refused_with_the_remedy(
    start_daemon: Callable[..., Any], typed: Path, tmp_path: Path
) -> None:
    daemon, _ = start_parts(start_daemon, deal(typed, tmp_path, 2))
    with (
        gz.connect(daemon.address) as client,
        pytest.raises(gz.InvalidRequest, match="shard the dataset with --keep user/joined"),
    ):
        client.sample({"user": [1, 2]}, [2], time="joined")


def test_without_peers_rows_of_others_are_an_error(
    start_daemon: Callable[..., Any], parts: list[Path]
) -> None:
    daemon = start_daemon(parts[0])
    assert "there are no --peers: requests for rows of other parts will fail" in daemon.output()
    with gz.connect(daemon.address) as client:
        assert client.gather("x", range(7)).shape == (7, 16)  # its own
        with pytest.raises(gz.InvalidRequest, match="start it with --peers"):
            client.gather("x", [7])


def test_a_peer_that_is_down_is_named_and_one_that_comes_back_is_found(
    start_daemon: Callable[..., Any], parts: list[Path]
) -> None:
    first, second, third = start_parts(start_daemon, parts)
    with gz.connect(first.address, timeout=2) as client:
        expected = client.gather("x", range(100))
        address = second.tcp_address
        second.kill()
        with pytest.raises(gz.ServerUnavailable, match=f"part 1.*{address}"):
            client.gather("x", range(500, 1000))
        second.start()
        assert np.array_equal(client.gather("x", range(100)), expected)
        assert client.gather("x", range(500, 1000)).shape == (500, 16)
    with gz.connect(third.address) as client:  # which has not known the one that was killed
        assert np.array_equal(client.gather("x", range(100)), expected)


def test_requests_end_at_their_deadline_while_a_peer_stands_still(
    start_daemon: Callable[..., Any], parts: list[Path]
) -> None:
    first, second, _ = start_parts(start_daemon, parts)
    with gz.connect(first.address) as client:
        client.gather("x", range(100))
        with second.held():
            with pytest.raises(gz.ServerUnavailable, match=r"part 1 at .* has not answered yet"):
                client.gather("x", range(1000, 1100), timeout=1.0)
            assert client.gather("x", range(7)).shape == (7, 16)  # its own rows need nobody
        assert client.gather("x", range(1000, 1100)).shape == (100, 16)


def test_requests_behind_those_that_wait_for_a_peer_are_sent_again_too(
    start_daemon: Callable[..., Any], parts: list[Path]
) -> None:
    """Their turn does not come before their time runs out; they name the peer all the same, and a
    client that retries waits for it."""
    first, second, _ = start_parts(start_daemon, parts, "--threads", "1")
    ids = [np.arange(1000 + n, 1100 + n) for n in range(12)]
    with gz.connect(first.address) as client, second.held():
        for waiting in [client.sample_async(few, [0], timeout=1.0) for few in ids]:
            with pytest.raises(gz.ServerUnavailable, match=r"time ran out: .*part 1 "):
                waiting.result()
    with gz.connect(first.address, retry=True) as client:
        with second.held():
            sent = [client.sample_async(few, [0], timeout=5.0) for few in ids]
            time.sleep(6.0)  # their first tries end meanwhile
        assert all(len(waiting.result().x) == 100 for waiting in sent)


def test_a_new_token_reaches_one_daemon_after_the_other(
    start_daemon: Callable[..., Any], parts: list[Path], tmp_path: Path
) -> None:
    token, options = with_tls_and_token(tmp_path)
    daemons = start_parts(start_daemon, parts, *options)
    with gz.connect(daemons[0].address) as client:
        expected = client.gather("x", range(100))
        token.write_text(TOKEN[::-1])
        daemons[0].process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reloaded " in daemons[0].output(), daemons[0].output)
        waiting = client.sample_async(range(200, 300), [0], timeout=DEADLINE_S)
        time.sleep(1.0)
        assert not waiting.done()
        for other in daemons[1:]:
            other.process.send_signal(signal.SIGHUP)
        assert len(waiting.result().x) == 100
        assert np.array_equal(client.gather("x", range(100)), expected)


def test_a_peer_with_other_data_is_refused(
    start_daemon: Callable[..., Any], parts: list[Path], dataset: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    gz.fetch(dataset, other)
    gz.write_features(other / "y.gd", np.zeros(2000, np.int64), overwrite=True)
    ports = free_ports(2)
    strangers = [deal(other, tmp_path / "strangers", 3)[1], dataset]
    for port, stranger in zip(ports, strangers, strict=True):
        start_daemon(stranger, "--listen", f"127.0.0.1:{port}")
    peers = ",".join(f"127.0.0.1:{port}" for port in ports)
    with (
        gz.connect(start_daemon(parts[0], "--peers", peers).address) as client,
        pytest.raises(gz.InvalidRequest) as failure,
    ):
        client.gather("x", [7])
    text = str(failure.value)
    assert "no peer has part 1 of 3" in text
    assert f"127.0.0.1:{ports[0]} has part 1 of 3 with fingerprint" in text
    assert f"127.0.0.1:{ports[1]} has dataset 'small', which is no part" in text


def test_tls_and_token_are_those_of_clients(
    start_daemon: Callable[..., Any], parts: list[Path], tmp_path: Path
) -> None:
    _, options = with_tls_and_token(tmp_path)
    first, *_ = start_parts(start_daemon, parts, *options)
    with gz.connect(first.address) as client:
        assert client.gather("x", range(100)).shape == (100, 16)
    with pytest.raises(RuntimeError, match="no --peer-root-certificate FILE to check it by"):
        start_daemon(parts[0], "--peers", "10.1.1.1:7171")


def test_a_token_does_not_go_to_peers_that_cannot_be_checked(
    start_daemon: Callable[..., Any], parts: list[Path], tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    access = ("--listen", "127.0.0.1:0", "--token-file", str(token))
    with pytest.raises(RuntimeError, match="no --peer-root-certificate FILE to check the peer by"):
        start_daemon(parts[0], *access, "--peers", "127.0.0.1:7171")


def test_what_a_peer_asks_for_is_checked(
    start_daemon: Callable[..., Any], parts: list[Path]
) -> None:
    import grpc
    from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub

    daemon, *_ = start_parts(start_daemon, parts)
    with gz.connect(daemon.address) as client, grpc.insecure_channel(daemon.tcp_address) as channel:
        info = client.info().dataset
        stub = SamplerServiceStub(channel)
        good: dict[str, Any] = {
            "dataset": info.name,
            "expected_fingerprint": bytes.fromhex(info.fingerprint),
            "shard": pb.Shard(part=0, parts=3),
            "sampler_version": client.info().sampler_version,
            "rows": [pb.RowsOfColumn(column="x", ids=np.arange(7).tobytes())],
        }
        (answer,) = stub.ReadRows(pb.ReadRowsRequest(**good))
        assert answer.rows == np.asarray(client.gather("x", range(7))).tobytes()
        x = pb.RowsOfColumn
        for change, code in [
            ({"shard": pb.Shard(part=1, parts=3)}, "FAILED_PRECONDITION"),
            ({"sampler_version": 99}, "FAILED_PRECONDITION"),
            ({"expected_fingerprint": b"another"}, "FAILED_PRECONDITION"),
            ({"dataset": "another"}, "NOT_FOUND"),
            ({"rows": [x(column="z", ids=bytes(8))]}, "NOT_FOUND"),
            ({"rows": [x(column="train", ids=bytes(8))]}, "INVALID_ARGUMENT"),
            ({"rows": [x(column="x", ids=b"")]}, "INVALID_ARGUMENT"),
            ({"rows": [x(column="x", ids=bytes(8))] * 100}, "INVALID_ARGUMENT"),
            ({"rows": [x(column="x", ids=b"1234567")]}, "INVALID_ARGUMENT"),
            ({"rows": [x(column="x", ids=np.array([7]).tobytes())]}, "INVALID_ARGUMENT"),
            ({"rows": [x(column="x", ids=np.array([-1]).tobytes())]}, "INVALID_ARGUMENT"),
            ({"rows": [x(column="x", ids=np.array([2**62]).tobytes())]}, "INVALID_ARGUMENT"),
        ]:
            with pytest.raises(grpc.RpcError) as failure:
                list(stub.ReadRows(pb.ReadRowsRequest(**{**good, **change})))
            assert failure.value.code().name == code, change
        # What would take the event loop long is refused before anything else is done with it.
        long = pb.ReadRowsRequest(**{**good, "rows": [x(column="x")] * 400_000})
        with pytest.raises(grpc.RpcError, match=r"found 400000 lists of rows, expected 1 to 2\d"):
            list(stub.ReadRows(long))
        assert client.gather("x", range(100)).shape == (100, 16)


HOSTILE = """
import graphzero.server.peers.answers as answers, os
from graphzero.proto import graphzero_pb2 as pb
real = answers._answer
def wrong(piece):
    rows = pb.ReadRowsResponse.FromString(real(piece)).rows
    kind = open(os.environ["KIND"]).read()
    sent = {"short": rows[:-1], "long": rows + rows, "none": b"", "fewer": rows[:-64],
            "huge": bytes(8 << 20)}
    sent = sent.get(kind, rows)
    return pb.ReadRowsResponse(place=9 if kind == "other" else 0, rows=sent).SerializeToString()
answers._answer = wrong
"""


def test_a_wrong_peer_can_only_make_requests_fail(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    kind = tmp_path / "kind"
    kind.write_text("short")
    one, two = deal(dataset, tmp_path / "parts", 2)
    (port,) = free_ports(1)
    start_daemon(two, "--listen", f"127.0.0.1:{port}", setup=HOSTILE, env={"KIND": str(kind)})
    daemon = start_daemon(one, "--peers", f"127.0.0.1:{port}")
    with gz.connect(daemon.address) as client:
        for wrong in ("short", "long", "none", "fewer", "other"):
            kind.write_text(wrong)
            with pytest.raises(gz.ServerError, match=r"part 1 at .* sent a wrong answer"):
                client.gather("x", range(7, 14))
            assert client.gather("x", range(7)).shape == (7, 16)


def test_rows_longer_than_a_message_usually_may_be(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    """Two datasets of one daemon: the second needs longer messages than the first."""
    for name, length in (("short", 4), ("long", 1_100_000)):
        whole = tmp_path / name
        gz.generate(whole, nodes=20, edges=60, dim=4, seed=1)
        values = np.arange(20 * length, dtype=np.float32).reshape(20, length)
        gz.write_features(whole / "wide.gd", values)
        for number, part in enumerate(deal(whole, tmp_path / f"parts of {name}", 2, block_rows=1)):
            part.rename(tmp_path / f"machine {number}-{name}")
    machines = [tmp_path / f"machine {number}" for number in range(2)]
    for number, machine in enumerate(machines):
        machine.mkdir()
        for name in ("short", "long"):
            (tmp_path / f"machine {number}-{name}").rename(machine / name)
    first, _ = start_parts(start_daemon, machines)
    for name, length in (("short", 4), ("long", 1_100_000)):
        with gz.connect(first.address, dataset=name) as client:
            found = np.asarray(client.gather("wide", [1]))
            expected = np.arange(length, 2 * length, dtype=np.float32)
            assert np.array_equal(found, expected[np.newaxis])


def test_a_message_beyond_the_limit_is_no_reason_to_ask_again(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    kind = tmp_path / "kind"
    kind.write_text("huge")
    one, two = deal(dataset, tmp_path / "parts", 2)
    (port,) = free_ports(1)
    start_daemon(two, "--listen", f"127.0.0.1:{port}", setup=HOSTILE, env={"KIND": str(kind)})
    daemon = start_daemon(one, "--peers", f"127.0.0.1:{port}")
    with (
        gz.connect(daemon.address) as client,
        pytest.raises(gz.ServerError, match=r"part 1 at .*: Received message larger than max"),
    ):
        client.gather("x", range(7, 14))


def test_a_part_is_fetched_as_it_is(
    start_daemon: Callable[..., Any], parts: list[Path], tmp_path: Path
) -> None:
    """Parts have one fingerprint, and are not taken for each other."""
    daemons = start_parts(start_daemon, parts)
    for part, daemon in zip(parts, daemons, strict=True):
        gz.fetch(daemon.socket, tmp_path / "copy", overwrite=True)
        assert file_bytes(tmp_path / "copy") == file_bytes(part)


def test_a_client_that_is_gone_leaves_nothing_at_work(
    start_daemon: Callable[..., Any], parts: list[Path]
) -> None:
    first, second, _ = start_parts(start_daemon, parts)
    program = f"import graphzero as gz; gz.connect({first.address!r}).gather('x', range(500))"
    with open_calls(first.socket) as calls:

        def running() -> int:
            return calls.stats().open_requests.running

        with second.held():
            victim = subprocess.Popen([sys.executable, "-c", program])
            wait_until(lambda: running() == 1, "a request that waits for its peer")
            victim.kill()
            victim.wait()
            wait_until(lambda: running() == 0, "an end of the request")


def test_parts_are_what_the_format_says(dataset: Path, tmp_path: Path) -> None:
    whole = np.asarray(gz.FeatureStore(dataset / "x.gd").get_tensor())
    directories = deal(dataset, tmp_path, 3)
    found = np.full_like(whole, np.nan)
    for number, part in enumerate(directories):
        matrix = _engine.Matrix.open(str(part / "x.gd"))
        assert (matrix.shard.part, matrix.shard.parts) == (number, 3)
        assert matrix.shard.total_rows == 2000
        rows = np.asarray(matrix.tensor())
        mine = np.arange(2000)[np.arange(2000) // 7 % 3 == number]
        found[mine] = rows
        assert gz.verify(part).ok
        # The graph is a link: it takes no space.
        assert (part / "graph.gl").stat().st_ino == (dataset / "graph.gl").stat().st_ino
    assert np.array_equal(found, whole)
    with pytest.raises(gz.InputError, match="is part 0 of 3 of a column"):
        gz.FeatureStore(directories[0] / "x.gd").get_tensor()
    with pytest.raises(gz.InputError, match="is part 0 of 3 itself"):
        gz.shard_dataset(directories[0], tmp_path / "again", 2, threshold=1)


def test_parts_have_the_bytes_of_the_reference_writer(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    whole = tmp_path / "whole"
    gz.generate(whole, nodes=50, edges=200, dim=4)
    arrays = {
        "a": rng.random((50, 6), dtype=np.float32),
        "b": rng.integers(0, 9, 50),
        "c": rng.random((50, 2, 3)).astype(np.float16),
    }
    about = b'{"columns":["seen"]}'
    for name, array in arrays.items():
        (whole / f"{name}.gd").unlink(missing_ok=True)
        rw.matrix(array, description=about).write(whole / f"{name}.gd")
    for part, directory in enumerate(deal(whole, tmp_path / "parts", 4, block_rows=3)):
        for name, array in arrays.items():
            expected = rw.matrix_part(array, part, 4, 3, description=about).bytes()
            assert (directory / f"{name}.gd").read_bytes() == expected


@pytest.mark.parametrize(
    ("part", "parts", "block_rows", "total"),
    [
        (2, 2, 3, 20),
        (0, 0, 3, 20),
        (0, 2, 0, 20),
        (0, 2, 3, 21),
        (1, 2, 3, 20),
        (0, 1 << 40, 3, 20),
    ],
)
def test_numbers_that_do_not_fit_are_refused(
    tmp_path: Path, part: int, parts: int, block_rows: int, total: int
) -> None:
    """Of a file with the 11 rows that part 0 of 2 in blocks of 3 has of 20."""
    numbers = struct.pack("<4Q", part, parts, block_rows, total) + bytes(16)
    rows = np.zeros((11, 2), np.float32)
    sections = [
        rw.array_section(rw.SHARD, np.frombuffer(numbers, np.uint64)),
        *rw.matrix_sections(rows, 8, None, b""),
    ]
    properties = rw.matrix_properties(11, 2, 8, 2, "node")
    file = tmp_path / "x.gd"
    rw.container(rw.MATRIX_MAGIC, properties, sections, required_flags=1).write(file)
    with pytest.raises(gz.FormatError, match="shard: found 11 rows as part"):
        gz.FeatureStore(file)
    for flags, kept in ((0, sections), (1, sections[1:]), (2, sections[1:])):
        rw.container(rw.MATRIX_MAGIC, properties, kept, required_flags=flags).write(file)
        with pytest.raises(gz.FormatError, match=r"shard|required flags"):
            gz.FeatureStore(file)


def test_one_part_at_a_time_is_the_same(dataset: Path, tmp_path: Path) -> None:
    deal(dataset, tmp_path / "all", 2)
    for part in range(2):
        deal(dataset, tmp_path / "single", 2, part=part)
    assert file_bytes(tmp_path / "all") == file_bytes(tmp_path / "single")


# The daemon ends as soon as it is idle, but not before a file is there: it may start slowly.
SOON = """
import os
from graphzero.transport.grpc_setup import import_grpc
import_grpc()
import graphzero.server.app as app
app._HOUSEKEEPING_EVERY_S = 0.05
real = app.Service.idle_seconds
app.Service.idle_seconds = lambda self: real(self) if os.path.exists({file!r}) else 0.0
"""


def test_a_daemon_that_peers_use_is_not_idle(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    one, two = deal(dataset, tmp_path / "parts", 2)
    (port,) = free_ports(1)
    first = start_daemon(one, "--peers", f"127.0.0.1:{port}", "--row-cache", "0")
    options = ("--listen", f"127.0.0.1:{port}", "--idle-exit", "3")
    begin = tmp_path / "begin"
    second = start_daemon(two, *options, setup=SOON.format(file=str(begin)))

    def use_for(seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert client.gather("x", range(7, 14)).shape == (7, 16)

    with gz.connect(first.address) as client:
        use_for(3.5)
        begin.touch()
        use_for(1.0)
        assert second.process.poll() is None
        second.wait_for_output("no session for 3 s")
        assert second.process.wait(DEADLINE_S) == 0
