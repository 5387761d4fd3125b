"""The page of --http in a real browser: a daemon under load, its states, themes and widths.

GRAPHZERO_SCREENSHOTS=DIR keeps what it looked like.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from daemon_process import DaemonProcess
from graphzero.client.daemon.daemon_calls import daemon_stats
from waiting import DEADLINE_S, wait_until

playwright_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright drives the browser: make test-page installs it"
)
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no chromium: make test-page installs it", allow_module_level=True)
pytestmark = pytest.mark.slow

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
TOKEN = "a token of enough bytes"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Page:
    """The page of one daemon, and what went wrong on it."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        self.context = browser.new_context(reduced_motion="reduce", **options)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.url = url
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        self.page.goto(url)

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def wait(self, condition: str, *arguments: Any) -> None:
        """Until the JavaScript is true."""
        self.page.wait_for_function(condition, arg=list(arguments), timeout=1000 * DEADLINE_S)

    def wait_for_state(self, state: str) -> None:
        self.wait("([s]) => document.getElementById('state').dataset.state === s", state)

    def number(self, stat: str) -> int:
        return int(self.page.get_attribute(f"[data-stat='{stat}']", "data-value"))

    def keep(self, name: str) -> None:
        directory = os.environ.get("GRAPHZERO_SCREENSHOTS")
        if directory:
            self.page.screenshot(path=Path(directory) / f"{name}.png", full_page=True)

    def close(self, *, expected: tuple[str, ...] = ()) -> None:
        """Fails if anything went wrong but what is expected, or was asked of another host."""
        self.context.close()
        unexpected = [e for e in self.errors if not any(text in e for text in expected)]
        assert not unexpected
        assert self.hosts == {self.url.split("/")[2]}


def url_of(daemon: DaemonProcess) -> str:
    line = next(text for text in daemon.output().splitlines() if "http://" in text)
    return "http://" + line.partition("http://")[2].split()[0] + "/"


@pytest.fixture(scope="module")
def daemon(dataset: Path) -> Iterator[DaemonProcess]:
    with tempfile.TemporaryDirectory(prefix="gz-") as place:
        options = ("--http", "127.0.0.1:0", "--feature-io", "direct", "--row-cache", "8M")
        daemon = DaemonProcess(dataset, Path(place) / "s.sock", *options)
        yield daemon
        daemon.stop()


@pytest.fixture
def load(daemon: DaemonProcess) -> Iterator[threading.Event]:
    """Two trainers, one of which is told off now and then, until the event is set."""
    stop = threading.Event()

    def train(wrong: bool) -> None:
        with gz.connect(daemon.address) as client:
            while not stop.wait(0.005):
                client.sample([1, 2, 3], fanout=[5, 5])
                if wrong:
                    with pytest.raises(gz.InvalidRequest):
                        client.sample([10**9], fanout=[2])

    trainers = [threading.Thread(target=train, args=(wrong,)) for wrong in (False, True)]
    for trainer in trainers:
        trainer.start()
    yield stop
    stop.set()
    for trainer in trainers:
        trainer.join(DEADLINE_S)


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_under_load_it_shows_everything_in_both_themes_at_two_widths(
    daemon: DaemonProcess, load: threading.Event, browser: Any, scheme: Any, width: int
) -> None:
    view = {"width": width, "height": 900}
    page = Page(browser, url_of(daemon), color_scheme=scheme, viewport=view)
    page.wait_for_state("serving")
    page.wait("() => document.querySelectorAll('#trainers tbody tr').length === 2")
    page.wait("() => document.querySelectorAll('#files canvas.parts').length === 5")
    page.wait("() => /batches.s/.test(document.getElementById('verdict').textContent)")
    page.wait("() => document.querySelectorAll('#events tbody tr').length > 0")
    assert "INVALID_ARGUMENT" in page.page.inner_text("#ended")
    assert page.page.locator("#disk tbody tr").count() > 0
    assert "2,000 nodes" in page.page.inner_text("#datasets")
    assert page.page.locator("#chart-rate canvas").count() == 1
    across = page.page.evaluate("document.documentElement.scrollWidth")
    assert across <= width, "the page is wider than the window"
    background = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(int(part) for part in background[4:-1].split(",")) > 3 * 128
    assert bright == (scheme == "light")
    page.keep(f"{scheme}-{width}")
    page.close()


def test_its_numbers_are_those_of_the_statistics(daemon: DaemonProcess, browser: Any) -> None:
    page = Page(browser, url_of(daemon))
    with gz.connect(daemon.address) as client:
        for _ in range(25):
            client.sample([1, 2, 3], fanout=[3])
        # What is last to come: the releases, and with them how long the trainer has waited.
        wait_until(lambda: not daemon_stats(daemon.address).sessions[0].blocks, "all released")
        stats = daemon_stats(daemon.address)
        page.wait(
            "([n, w]) => document.querySelector(\"[data-stat='requests']\")?.dataset.value === n"
            " && document.querySelector(\"[data-stat='waited_us']\")?.dataset.value === w",
            str(stats.requests),
            str(stats.waited_us),
        )
        page.wait("() => document.querySelectorAll('#trainers tbody tr').length === 1")
        assert page.number("result_byte_size") == stats.result_byte_size
        assert page.number("shm_used_byte_size") == stats.shm_used_byte_size
        assert page.number("session-requests") == stats.sessions[0].requests == 25
        shown = page.page.eval_on_selector_all(
            "[data-stat='ended']",
            "all => all.map(e => [e.dataset.kind, e.dataset.code, Number(e.dataset.value)])",
        )
        assert shown == [[e.kind, e.code, e.count] for e in stats.ended_requests]
        sizes = page.page.eval_on_selector_all(
            "[data-stat='file-bytes']", "all => all.map(e => Number(e.dataset.value))"
        )
        assert sizes == [file.byte_size for file in stats.files]
    page.close()


def test_states_no_trainer_gone_and_reconnected(
    start_daemon: Callable[..., Any], dataset: Path, browser: Any
) -> None:
    daemon = start_daemon(dataset, "--http", "127.0.0.1:0")
    page = Page(browser, url_of(daemon))
    page.wait_for_state("idle")
    assert page.page.is_visible("#no-trainers")
    assert page.page.inner_text("#state") == "no trainer yet"
    page.keep("no-trainer")
    daemon.kill()
    page.wait_for_state("gone")
    assert "does not answer" in page.page.inner_text("#verdict")
    page.keep("gone")
    port = page.url.rpartition(":")[2].strip("/")
    daemon._options = ("--http", f"127.0.0.1:{port}")
    daemon.start()
    page.wait(
        "() => new Set(['reconnected', 'idle']).has(document.getElementById('state').dataset.state)"
    )
    with gz.connect(daemon.address) as client:
        client.sample([1], fanout=[2])
        page.wait_for_state("serving")
        page.wait("() => document.querySelector(\"[data-stat='requests']\").dataset.value === '1'")
    page.close(expected=("ERR_CONNECTION_REFUSED", "Failed to load resource"))


def test_a_token_is_asked_for_once_and_stands_in_no_address(
    start_daemon: Callable[..., Any], dataset: Path, browser: Any, tmp_path: Path
) -> None:
    secret = tmp_path / "token"
    secret.write_text(TOKEN)
    secret.chmod(0o600)
    daemon = start_daemon(dataset, "--http", "127.0.0.1:0", "--token-file", str(secret))
    page = Page(browser, url_of(daemon))
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.page.fill("#token", "wrong")
    page.page.keyboard.press("Enter")
    page.wait("() => document.getElementById('login-error').textContent !== ''")
    page.page.fill("#token", TOKEN)
    page.page.keyboard.press("Enter")
    page.wait_for_state("idle")
    page.page.reload()
    page.wait_for_state("idle")  # by its cookie
    page.close(expected=("401",))
    by_link = Page(browser, f"{url_of(daemon)}#token={TOKEN.replace(' ', '+')}")
    by_link.wait_for_state("idle")
    assert by_link.page.evaluate("location.hash") == ""
    by_link.close(expected=("401",))
    assert not any("token" in url for url in asked)
    assert TOKEN not in daemon.output()


def test_it_can_be_used_by_keyboard_and_read_by_a_screen_reader(
    daemon: DaemonProcess, browser: Any
) -> None:
    page = Page(browser, url_of(daemon))
    page.wait_for_state("idle")
    focused = []
    for _ in range(4):
        page.page.keyboard.press("Tab")
        focused.append(page.page.evaluate("(e => e.id || e.className)(document.activeElement)"))
    assert focused[:2] == ["skip", "theme"]
    outline = page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.page.focus("#theme")
    for theme in ("light", "dark", "auto"):
        page.page.keyboard.press("Enter")
        assert page.page.inner_text("#theme") == theme
    found = page.page.evaluate(
        """() => ({
            main: document.querySelectorAll('main').length,
            live: document.getElementById('state').getAttribute('aria-live'),
            heads: [...document.querySelectorAll('thead th')].every(h => h.scope === 'col'),
            names: [...document.querySelectorAll('[role=img], canvas.parts')].every(
                e => e.getAttribute('aria-label') !== null),
            labelled: [...document.querySelectorAll('main section')].every(
                s => s.getAttribute('aria-label') || s.getAttribute('aria-labelledby')),
            levels: [...document.querySelectorAll('h1, h2, h3')].map(h => h.tagName),
        })"""
    )
    assert (found["main"], found["live"]) == (1, "polite")
    assert found["heads"]
    assert found["names"]
    assert found["labelled"]
    assert found["levels"][0] == "H1"
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_enough(daemon: DaemonProcess, browser: Any, scheme: Any) -> None:
    page = Page(browser, url_of(daemon), color_scheme=scheme)
    page.wait_for_state("idle")
    colours = page.page.evaluate(
        """() => Object.fromEntries(
            ['bg', 'card', 'text', 'muted', 'good', 'warn', 'bad', 'a'].map(name => [
                name,
                getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(),
            ]))"""
    )

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for name in ("text", "muted", "good", "warn", "bad", "a"):
        for ground in ("bg", "card"):
            dark, bright = sorted((light(colours[name]), light(colours[ground])))
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (name, ground)
    page.close()
