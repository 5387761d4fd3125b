"""Alerts and dashboard: every query of them, against what a real daemon under load tells."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import yaml
from daemon_process import DaemonProcess
from prometheus_client.parser import text_string_to_metric_families
from waiting import DEADLINE_S, wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"
CONFIG = DEPLOY / "prometheus/prometheus.yaml"
ALERTS = DEPLOY / "prometheus/alerts.yaml"
DASHBOARD = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
UNIT_TESTS = Path(__file__).with_name("alerts_test.yaml")

PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]] + [
    (found["name"], found["expr"]) for found in DASHBOARD["annotations"]["list"]
]
RULES = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
ALERT_QUERIES = [(rule["alert"], rule["expr"]) for rule in RULES]
# Labels that Prometheus itself adds to what it scrapes.
ADDED = {"instance", "job"}


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} here (Debian: apt-get install prometheus)")
    return found


def as_grafana_asks(expression: str) -> str:
    return expression.replace("$__rate_interval", "1m").replace("$instance", ".*")


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """One that has read from the disk, found rows in its cache, and refused a request."""
    with tempfile.TemporaryDirectory(prefix="gz-") as place:
        data = Path(place) / "data"
        gz.generate(data, nodes=20_000, edges=100_000)
        # The cache is too small for all rows, so that reads go on.
        options = ("--http", "127.0.0.1:0", "--feature-io", "direct", "--row-cache", "1M")
        daemon = DaemonProcess(data, Path(place) / "s.sock", *options)
        load(daemon)
        yield daemon
        assert daemon.stop() == 0


def load(daemon: DaemonProcess) -> None:
    with gz.connect(daemon.address) as client:
        for seed in range(20):
            client.sample(range(1000 * seed, 1000 * seed + 100), [5, 5])
        with pytest.raises(gz.InvalidRequest):
            client.sample([1_000_000], [2])


def port_of(daemon: DaemonProcess) -> int:
    found = re.search(r"http://127\.0\.0\.1:(\d+)", daemon.output())
    assert found is not None, daemon.output()
    return int(found[1])


@pytest.fixture(scope="module")
def labels(daemon: DaemonProcess) -> dict[str, dict[str, set[str]]]:
    """By the name of a time series: its labels, and the values that each has."""

    def read() -> dict[str, dict[str, set[str]]]:
        found: dict[str, dict[str, set[str]]] = {}
        address = f"http://127.0.0.1:{port_of(daemon)}/metrics"
        with urllib.request.urlopen(address, timeout=DEADLINE_S) as answer:
            text = answer.read().decode()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                known = found.setdefault(sample.name, {})
                for label, value in sample.labels.items():
                    known.setdefault(label, set()).add(value)
        return found

    # Which parts of files are in memory is asked for by the first scrape, and known by a later one.
    wait_until(lambda: "graphzero_file_resident_bytes" in read(), "the daemon looked at its files")
    return read()


@pytest.mark.parametrize(("title", "expression"), [*QUERIES, *ALERT_QUERIES])
def test_a_query_names_time_series_and_labels_that_there_are(
    labels: dict[str, dict[str, set[str]]], title: str, expression: str
) -> None:
    names = set(re.findall(r"graphzero_\w+", expression))
    assert names or expression.startswith("up{"), "it asks for nothing of the daemon's"
    assert names <= labels.keys()
    known = ADDED.union(*(labels[name].keys() for name in names))
    grouped = re.findall(r"\b(?:by|on|ignoring)\s*\(([^)]*)\)", expression)
    assert {label.strip() for group in grouped for label in group.split(",")} <= known
    for name, chosen in re.findall(r"(graphzero_\w+)\{([^}]*)\}", expression):
        assert set(re.findall(r"(\w+)\s*[!=]~?\s*\"", chosen)) <= labels[name].keys() | ADDED
        for label, value in re.findall(r'(\w+)\s*=\s*"([^"]*)"', chosen):
            assert value in labels[name][label], f"{name} has no {label}={value!r}"


def test_the_dashboard_shows_almost_every_time_series(
    labels: dict[str, dict[str, set[str]]],
) -> None:
    told = {re.sub(r"_(bucket|sum|count)$", "", name) for name in labels}
    shown = {
        re.sub(r"_(bucket|sum|count)$", "", name)
        for _, expression in QUERIES + ALERT_QUERIES
        for name in re.findall(r"graphzero_\w+", expression)
    }
    assert len(shown & told) >= 0.6 * len(told)


def test_panels_have_places_and_numbers_of_their_own() -> None:
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        own = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not own & cells, panel["title"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        cells |= own


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    for rule in RULES:
        assert rule["annotations"].keys() == {"summary", "action"}, rule["alert"]
        assert "$labels.instance" in rule["annotations"]["summary"], rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]


def test_promtool_accepts_the_configuration_and_the_alerts() -> None:
    done = subprocess.run(
        [program("promtool"), "check", "config", str(CONFIG)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(RULES)} rules found" in done.stdout


def test_alerts_fire_when_they_should_and_only_then() -> None:
    """The cases are in alerts_test.yaml, in promtool's own format."""
    done = subprocess.run(
        [program("promtool"), "test", "rules", str(UNIT_TESTS)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    fired = re.findall(r'labels: \'\{alertname="(\w+)"', UNIT_TESTS.read_text())
    assert set(fired) == {rule["alert"] for rule in RULES}


class Prometheus:
    """A real one that scrapes the daemon every second, by the configuration of deploy/."""

    def __init__(self, daemon: DaemonProcess, place: Path) -> None:
        config = yaml.safe_load(CONFIG.read_text())
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [str(ALERTS)]
        (job,) = config["scrape_configs"]
        job["static_configs"][0]["targets"] = [f"127.0.0.1:{port_of(daemon)}"]
        (place / "prometheus.yaml").write_text(yaml.safe_dump(config))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._address = f"127.0.0.1:{probe.getsockname()[1]}"
        command = [
            program("prometheus"),
            f"--config.file={place / 'prometheus.yaml'}",
            f"--storage.tsdb.path={place / 'data'}",
            f"--web.listen-address={self._address}",
        ]
        self._log = (place / "log").open("wb")
        self.process = subprocess.Popen(command, stdout=self._log, stderr=self._log)

    def ask(self, path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(
            f"http://{self._address}/api/v1/{path}?{query}", timeout=DEADLINE_S
        ) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[Any]:
        found: list[Any] = self.ask("query", query=expression)["result"]
        return found

    def is_ready(self) -> bool:
        try:
            return bool(self.query("rate(graphzero_requests_begun_total[1m])"))
        except OSError:
            assert self.process.poll() is None, "prometheus ended"
            return False


@pytest.fixture(scope="module")
def prometheus(
    daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    running = Prometheus(daemon, tmp_path_factory.mktemp("prometheus"))
    try:
        wait_until(running.is_ready, "two scrapes")
        load(daemon)
        known = 'sum(increase(graphzero_requests_total{code!="OK"}[1m])) > 0'
        wait_until(lambda: running.query(known), "the load was scraped")
        yield running
    finally:
        running.process.terminate()
        running.process.wait()


@pytest.mark.slow
@pytest.mark.parametrize(("title", "expression"), QUERIES)
def test_a_panel_has_something_to_show(prometheus: Prometheus, title: str, expression: str) -> None:
    found = prometheus.query(as_grafana_asks(expression))
    if title == "Starts":  # an annotation of a daemon that began anew, which this one did not
        assert found == []
    else:
        values = [float(series["value"][1]) for series in found]
        assert any(value >= 0 for value in values)  # a column that was not read has no latency
        assert not any(value < 0 for value in values)


@pytest.mark.slow
def test_the_alerts_are_evaluated_and_a_daemon_that_is_well_raises_none(
    prometheus: Prometheus,
) -> None:
    def rules() -> list[Any]:
        return [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]

    wait_until(lambda: all(rule["health"] == "ok" for rule in rules()), "all were evaluated")
    assert {rule["name"] for rule in rules()} == {rule["alert"] for rule in RULES}
    assert [rule["name"] for rule in rules() if rule["state"] != "inactive"] == []
