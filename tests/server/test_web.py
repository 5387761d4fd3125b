"""--http: the same numbers as the statistics call for those who may see them, and rude ones."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket as socketlib
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from certificates import make_certificate
from daemon_process import DaemonProcess
from daemon_watch import Watch
from graphzero.base.errors import InputError
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.commands.messages import message_fields
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.settings.config import make_config
from graphzero.server.web import connection, prometheus, server
from graphzero.server.web.numbers import NotAnswered, Numbers
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

TOKEN = "a token of enough bytes"


class Web:
    """A client of one daemon's side port."""

    def __init__(self, daemon: Any, scheme: str = "http") -> None:
        line = next(text for text in daemon.output().splitlines() if f"{scheme}://" in text)
        host, _, port = line.partition("://")[2].split()[0].rpartition(":")
        self.address = host, int(port)
        self.context: ssl.SSLContext | None = None

    def ask(
        self, path: str, method: str = "GET", **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        made: Any = http.client.HTTPConnection(*self.address, timeout=DEADLINE_S)
        if self.context is not None:
            made = http.client.HTTPSConnection(
                *self.address, timeout=DEADLINE_S, context=self.context
            )
        made.request(method, path, headers=headers)
        answer = made.getresponse()
        body = answer.read()
        made.close()
        return answer.status, answer.headers, body

    def json(self, path: str) -> Any:
        status, _, body = self.ask(path)
        assert status == 200
        return json.loads(body)

    def connect(self) -> socketlib.socket:
        return socketlib.create_connection(self.address, timeout=DEADLINE_S)

    def say(self, message: bytes) -> bytes:
        """All that comes back until the daemon closes the connection."""
        with self.connect() as raw:
            raw.sendall(message)
            answer = b""
            while piece := raw.recv(65536):
                answer += piece
        return answer


@pytest.fixture(scope="module")
def daemon(dataset: Path) -> Iterator[DaemonProcess]:
    """For all tests of this module that leave it as it was."""
    with tempfile.TemporaryDirectory(prefix="gz-") as place:
        daemon = DaemonProcess(
            dataset, Path(place) / "s.sock", "--http", "127.0.0.1:0", "--feature-io", "direct"
        )
        yield daemon
        assert daemon.stop() == 0
        assert "Traceback" not in daemon.output(), daemon.output()


@pytest.fixture
def web(daemon: DaemonProcess) -> Web:
    return Web(daemon)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    return path


def test_a_client_that_wants_the_connection_closed_is_answered(web: Web) -> None:
    """Python's urllib says so, for instance."""
    assert web.ask("/livez", Connection="close")[0] == 200
    answer = web.say(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_an_offer_to_speak_another_protocol_is_not_taken(web: Web) -> None:
    """As curl --http2 makes it."""
    offer = {
        "Connection": "Upgrade, HTTP2-Settings",
        "Upgrade": "h2c",
        "HTTP2-Settings": "AAMAAABk",
    }
    assert web.ask("/livez", **offer)[0] == 200
    assert web.ask("/livez", method="CONNECT")[0] == 405


# --- numbers ---


def samples(text: bytes) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_all_three_tell_the_same_after_a_known_load(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--http", "127.0.0.1:0", "--feature-io", "direct")
    web = Web(daemon)
    with gz.connect(daemon.address) as client:
        for _ in range(7):
            client.sample([1, 2, 3], fanout=[3, 2])
        with pytest.raises(gz.InvalidRequest):
            client.sample([10**9], fanout=[2])
        client.gather("x", [1, 2])

        def quiet() -> bool:  # every answer was handed to gRPC, and its memory is back
            stats = daemon_stats(daemon.address)
            delivered = sum(s.count for s in stats.stages if s.stage == "delivery")
            return delivered == 8 and not stats.sessions[0].blocks

        wait_until(quiet, "all answers delivered")
        stats = daemon_stats(daemon.address)
        document = web.json("/api/stats")
        found = samples(web.ask("/metrics")[2])
    changing = {"uptime_ms", "sessions", "files"}
    expected = {k: v for k, v in message_fields(stats).items() if k not in changing}
    assert {name: document[name] for name in expected} == expected

    def number(name: str, **labels: str) -> float:
        return found[f"graphzero_{name}", frozenset(labels.items())]

    assert number("requests_total", kind="sample", code="OK") == 7
    assert number("requests_total", kind="sample", code="INVALID_ARGUMENT") == 1
    assert number("requests_begun_total") == stats.requests == 9
    assert number("sampled_nodes_total") == stats.sampled_nodes
    assert number("sampled_edges_total") == stats.sampled_edges
    assert number("result_bytes_total") == stats.result_byte_size
    assert number("trainer_wait_seconds_total") == stats.waited_us / 1e6
    assert number("shared_memory_used_bytes") == stats.shm_used_byte_size
    for stage in stats.stages:
        labels = {"kind": stage.kind, "stage": stage.stage}
        name = "request_stage_seconds"
        if stage.stage == "total":
            name = "request_seconds"
            del labels["stage"]
        assert number(f"{name}_count", **labels) == stage.count
        assert number(f"{name}_sum", **labels) == stage.sum_us / 1e6
        assert number(f"{name}_bucket", le="+Inf", **labels) == stage.count
    for column in stats.columns:
        of = {"dataset": column.dataset, "column": column.column}
        assert number("disk_reads_total", **of) == column.reads
        assert number("disk_read_bytes_total", **of) == column.read_byte_size
        assert number("column_remote_rows_total", **of) == column.remote_rows == 0
    client_name = stats.sessions[0].client_name
    assert not any(client_name in value for _, labels in found for _, value in labels)


def test_metrics_are_sound_by_prometheus_own_parsers(web: Web) -> None:
    status, headers, text = web.ask("/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=")
    families = {family.name: family for family in text_string_to_metric_families(text.decode())}
    assert all(family.documentation and family.type != "unknown" for family in families.values())
    for family in families.values():
        for sample in family.samples:
            assert sample.name.startswith("graphzero_")
            assert family.type != "counter" or sample.name.endswith("_total")
    accept = "application/openmetrics-text; version=1.0.0"
    _, headers, text = web.ask("/metrics", Accept=accept)
    assert headers["content-type"].startswith("application/openmetrics-text")
    assert {family.name for family in openmetrics_families(text.decode())} >= {
        "graphzero_requests_waiting", "graphzero_file_resident_bytes"
    }  # fmt: skip


def test_buckets_are_cumulative_and_end_with_everything() -> None:
    entries = [0] * 32
    entries[0], entries[4], entries[5], entries[31] = 1, 2, 3, 4
    buckets = dict(prometheus._buckets(entries))
    assert buckets["1.6e-05"] == 3
    assert buckets["6.4e-05"] == 6
    assert buckets["67.108864"] == 6
    assert buckets["+Inf"] == 10
    assert list(buckets.values()) == sorted(buckets.values())


def test_the_last_minutes_are_there_when_the_page_opens(web: Web) -> None:
    wait_until(lambda: len(web.json("/api/history")["points"]) >= 2, "two seconds of history")
    points = web.json("/api/history")["points"]
    assert points[0]["unix_ms"] < points[1]["unix_ms"]
    assert set(points[0]) >= {"results", "latency", "result_byte_size", "waited_us"}


def test_datasets_are_described_with_their_columns(web: Web) -> None:
    (found,) = web.json("/api/datasets")["datasets"]
    assert (found["name"], found["num_nodes"]) == ("small", 2000)
    assert {"x", "y"} <= {column["name"] for column in found["columns"]}


# --- health ---


def test_a_daemon_that_drains_is_alive_and_not_ready(
    start_daemon: Callable[..., Any], dataset: Path, gate: Any, raw: Any
) -> None:
    daemon = start_daemon(
        dataset, "--http", "127.0.0.1:0", "--drain-timeout", "60", setup=gate.setup
    )
    web = Web(daemon)
    assert [web.ask(path)[0] for path in ("/livez", "/readyz")] == [200, 200]
    session = raw(daemon.address)
    session.sample(2, [1], [2])
    wait_until(
        lambda: daemon_stats(daemon.address).open_requests.running == 1, "a request at a worker"
    )
    daemon.process.send_signal(signal.SIGTERM)
    wait_until(lambda: web.ask("/readyz")[0] == 503, "not ready while it drains")
    assert web.ask("/livez")[0] == 200
    gate.open()
    assert session.receive().result.tensors
    assert daemon.process.wait(timeout=DEADLINE_S) == 0


# --- who may look ---


@pytest.mark.parametrize("address", ["0.0.0.0:7172", "example.org:7172", "[::]:7172"])
def test_addresses_that_others_reach_need_tls_and_a_token(address: str) -> None:
    with pytest.raises(InputError, match=r"--http .*--tls-certificate, --tls-key and --token-file"):
        make_config({"data": "/d", "http": address})


def test_a_port_in_other_hands_is_named(dataset: Path, start_daemon: Callable[..., Any]) -> None:
    with socketlib.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(RuntimeError, match=rf"--http 127.0.0.1:{port}: another process"):
            start_daemon(dataset, "--http", f"127.0.0.1:{port}")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7172", "", "127.0.0.1.evil.example"]
)
def test_a_name_that_was_made_to_stand_for_this_machine_gets_nothing(web: Web, host: str) -> None:
    for path in ("/", "/metrics", "/api/stats", "/livez"):
        status, _, body = web.ask(path, Host=host)
        assert status == 421, path
        assert b"localhost" in body


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:80", "LOCALHOST:1"])
def test_names_of_this_machine_are_served(web: Web, host: str) -> None:
    assert web.ask("/api/stats", Host=host)[0] == 200


def test_with_a_token_numbers_are_for_those_who_have_it(
    start_daemon: Callable[..., Any], dataset: Path, secret: Path
) -> None:
    daemon = start_daemon(dataset, "--http", "127.0.0.1:0", "--token-file", str(secret))
    web = Web(daemon)
    for path in ("/metrics", "/api/stats", "/api/datasets", "/api/history", "/api/login"):
        for wrong in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "graphzero_=x; =;"}):
            assert web.ask(path, **wrong)[0] == 401, path
        assert web.ask(f"{path}?token={TOKEN.replace(' ', '%20')}")[0] == 401
    assert web.ask("/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200
    for public in ("/", "/page.js", "/livez", "/readyz"):
        assert web.ask(public)[0] == 200
    status, headers, _ = web.ask("/api/login", Authorization=f"Bearer {TOKEN}")
    cookie = headers["set-cookie"]
    assert status == 204
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    # Beside those of other programs on this machine, also such that http.cookies refuses.
    for other in ("other=1", "path=/", "flag", 'j={"a":1}', "k[]=1", "a=b c"):
        assert web.ask("/api/stats", Cookie=f"{other}; {cookie.partition(';')[0]}")[0] == 200
    secret.write_text("another token of enough bytes")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(
        lambda: web.ask("/api/stats", Cookie=cookie.partition(";")[0])[0] == 401,
        "a cookie that ends with its token",
    )


def test_with_a_certificate_it_is_https_and_survives_who_speaks_none(
    start_daemon: Callable[..., Any], dataset: Path, secret: Path, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    daemon = start_daemon(
        dataset, "--http", "127.0.0.1:0", "--token-file", str(secret),
        "--tls-certificate", str(certificate), "--tls-key", str(key),
    )  # fmt: skip
    web = Web(daemon, "https")
    assert web.say(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + 100 * b"x") == b""
    web.context = ssl.create_default_context(cafile=str(certificate))
    _, headers, _ = web.ask("/api/login", Authorization=f"Bearer {TOKEN}")
    assert "Secure" in headers["set-cookie"]
    assert web.ask("/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200
    # A reload shows the new certificate, and one that does not go with its key changes nothing.
    old_key = key.read_bytes()
    (tmp_path / "fresh").mkdir()
    fresh, fresh_key = make_certificate(tmp_path / "fresh")
    certificate.write_bytes(fresh.read_bytes())
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for_output("stay as they were: --tls-key")
    assert web.ask("/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200
    key.write_bytes(fresh_key.read_bytes())
    assert key.read_bytes() != old_key
    daemon.process.send_signal(signal.SIGHUP)
    renewed = ssl.create_default_context(cafile=str(fresh))

    def shows_the_new_one() -> bool:
        web.context = renewed
        try:
            return web.ask("/livez")[0] == 200
        except ssl.SSLCertVerificationError:
            return False

    wait_until(shows_the_new_one, "the new certificate")


# --- the page's files ---


def test_files_of_the_page_are_safe_to_show_and_cheap_to_ask_again(web: Web) -> None:
    for path in ("/", "/page.js", "/page.css", "/uplot.js"):
        status, headers, body = web.ask(path)
        assert (status, bool(body)) == (200, True)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert (headers["x-content-type-options"], headers["x-frame-options"]) == (
            "nosniff",
            "DENY",
        )
        again = web.ask(path, **{"If-None-Match": headers["etag"]})
        assert (again[0], again[2]) == (304, b"")
    status, headers, body = web.ask("/", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 0


# --- rude ones ---


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"])
def test_nothing_can_be_changed(web: Web, method: str) -> None:
    status, headers, _ = web.ask("/api/stats", method=method, **{"Content-Length": "0"})
    assert status in (405, 413)
    assert status == 413 or headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/vendor/uplot/LICENSE", "//etc/passwd",
        "/page/../page.js", "/page.js/", "/api", "/api/stats/", "http://127.0.0.1/api/stats", "*",
    ],
)  # fmt: skip
def test_only_what_is_listed_is_there(web: Web, path: str) -> None:
    assert web.ask(path)[0] == 404


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + 100_000 * b"x" + b"\r\n\r\n", 431),
        (b"GET /" + 100_000 * b"x", 431),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + 50 * b"\x00" + b"\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 405),
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_ends(
    web: Web, message: bytes, status: int
) -> None:
    try:
        answer = web.say(message)
    except ConnectionResetError:  # it closed before it had read all of that
        answer = b""
    assert answer == b"" or answer.startswith(f"HTTP/1.1 {status}".encode())
    assert web.ask("/livez")[0] == 200


def test_requests_follow_each_other_on_one_connection(web: Web) -> None:
    made = http.client.HTTPConnection(*web.address, timeout=DEADLINE_S)
    for _ in range(5):
        made.request("GET", "/api/stats")
        assert json.loads(made.getresponse().read())["pid"]
    made.close()


def test_connections_that_wait_together_are_not_all_open_at_once() -> None:
    """No turn of the loop may pass between two connections that are queued already."""
    listening = socketlib.create_server(("127.0.0.1", 0), backlog=100)
    waiting = [
        socketlib.create_connection(listening.getsockname()[:2], timeout=DEADLINE_S)
        for _ in range(2 * server.MAX_CONNECTIONS)
    ]
    most = 0

    class Counted(server.WebServer):
        async def _serve(self, accepted: socketlib.socket, routes: Any) -> None:
            nonlocal most
            most = max(most, len(self._connections))
            accepted.close()

    counted = Counted([listening], lambda: Any, None)  # type: ignore[arg-type]
    counted.start()
    for each in waiting:
        assert each.recv(1) == b""
        each.close()
    assert counted.stop(DEADLINE_S)
    assert most < server.MAX_CONNECTIONS // 2


def test_a_daemon_that_does_not_answer_is_told_of_to_all_at_once() -> None:
    """Those who ask together share one question, so that none waits for the others' time-outs."""

    class Counted(Numbers):
        questions = 0

        async def _ask(self, question: Callable[[], Any]) -> Any:
            self.questions += 1
            return await super()._ask(question)

    async def ask(loop: asyncio.AbstractEventLoop) -> list[Any]:
        numbers = Counted(loop, pb.GetStatsResponse, pb.ListDatasetsResponse, list)
        asked = (numbers.statistics() for _ in range(8))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert numbers.questions == 1
        return answers

    hanging = asyncio.new_event_loop()  # never runs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphzero.server.web.numbers.ANSWER_S", 0.1)
        assert all(isinstance(answer, NotAnswered) for answer in asyncio.run(ask(hanging)))
    hanging.run_until_complete(asyncio.sleep(0))  # what it was asked meanwhile
    hanging.close()
    running = asyncio.new_event_loop()
    thread = threading.Thread(target=running.run_forever)
    thread.start()
    assert asyncio.run(ask(running)) == [pb.GetStatsResponse()] * 8
    running.call_soon_threadsafe(running.stop)
    thread.join(DEADLINE_S)
    running.close()


def test_many_who_say_nothing_keep_nobody_out_and_cost_little(daemon: Any, web: Web) -> None:
    watch = Watch(daemon)
    usual = len(watch.descriptors())
    with gz.connect(daemon.address) as client:
        silent = [web.connect() for _ in range(300)]
        for number, each in enumerate(silent):
            if number % 2:
                each.sendall(b"GET / HTTP/1.1\r\nX-a: ")  # a slow loris
        for _ in range(3):
            assert web.ask("/livez")[0] == 200
            assert len(client.sample([1, 2], fanout=[2]).n_id)
        assert len(watch.descriptors()) <= usual + server.MAX_CONNECTIONS + 10
        for each in silent:
            each.close()
    wait_until(lambda: len(watch.descriptors()) <= usual + 5, "all connections closed")


def test_a_request_that_never_ends_is_cut_off(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    setup = "import graphzero.server.web.connection as c; c.REQUEST_S = 0.2; c.IDLE_S = 0.4"
    web = Web(start_daemon(dataset, "--http", "127.0.0.1:0", setup=setup))
    assert connection.REQUEST_S >= 5
    with web.connect() as slow, web.connect() as silent:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        ended = [False]

        def closed() -> bool:
            try:
                slow.sendall(b"X: y\r\n")
            except OSError:
                ended[0] = True
            return ended[0]

        wait_until(closed, "the slow one cut off")
        assert silent.recv(1) == b""


@pytest.fixture
def unread(web: Web) -> Iterator[list[socketlib.socket]]:
    made: list[socketlib.socket] = []
    yield made
    for each in made:
        each.close()


def test_those_who_ask_and_do_not_read_cost_a_bounded_part(
    daemon: Any, web: Web, unread: list[socketlib.socket]
) -> None:
    def resident() -> int:
        status = Path(f"/proc/{daemon.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) << 10

    web.ask("/metrics")
    before = resident()
    for _ in range(60):
        each = web.connect()
        unread.append(each)
        each.sendall(50 * b"GET /uplot.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for _ in range(20):
        assert web.ask("/metrics")[0] == 200
    assert resident() - before < 64 << 20
