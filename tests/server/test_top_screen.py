"""`graphzero top` as people see it: a real daemon, a real terminal, keys."""

from __future__ import annotations

import re
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from graphzero.commands.top_numbers import History
from graphzero.commands.top_screen import View, duration_text, screen, sparkline
from graphzero.proto import graphzero_pb2 as pb
from terminal import Terminal
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

FAULT = "from graphzero import _engine; _engine.set_read_fault('x.gd', -5)"


def top(daemon: Any, columns: int = 80, lines: int = 24, **rest: Any) -> Terminal:
    arguments = ("top", "--interval", "0.1", daemon.address)
    return Terminal(*arguments, columns=columns, lines=lines, **rest)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (132, 40), (50, 10)])
def test_the_screen_fits_and_q_quits(
    start_daemon: Callable[..., Any], dataset: Path, raw: Any, columns: int, lines: int
) -> None:
    daemon = start_daemon(dataset, "--feature-io", "direct", "--row-cache", "8M")
    sessions = [raw(daemon.address, client_name=f"train.py[{n}]" + "x" * 90) for n in range(30)]
    sessions[0].sample(2, [1], [2], columns=["x"])
    sessions[0].receive()
    with top(daemon, columns, lines) as terminal:
        text = terminal.wait_for("more: j and k scroll")
        shown = terminal.lines()
        assert "serving  30 trainers of 64" in shown[0]
        assert re.search(r"\d\d:\d\d:\d\d *$", shown[0])
        assert "q  quits" in shown[-1]
        assert ("guaranteed failed" in " ".join(text.split())) == (columns == 132)
        terminal.press("xyz")
        terminal.press("q")
        assert terminal.process.wait(DEADLINE_S) == 0
        assert termios.tcgetattr(terminal.its)[:6] == terminal.settings[:6]
        terminal.lines()
        # The cursor is back, and so is what was on the screen before.
        for off, on in ((b"\x1b[?25l", b"\x1b[?25h"), (b"\x1b[?1049h", b"\x1b[?1049l")):
            assert terminal.raw.rfind(on) > terminal.raw.rfind(off) >= 0
    for session in sessions:
        session.close()


def test_it_shows_rates_trainers_and_who_waits(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    with top(daemon) as terminal:
        terminal.wait_for(f'no trainer yet: gz.connect("{daemon.address}")')
        with gz.connect(daemon.address) as client:
            loader = client.loader(None, [5, 3], 16)

            def shows_a_rate() -> bool:
                for _ in loader:  # an epoch may be over before the screen is drawn anew
                    if re.search(r"requests +[\d,.]*[1-9][\d.]*/s .*[▁-█]", terminal.text()):
                        return True
                return False

            wait_until(shows_a_rate, terminal.text)
            text = terminal.wait_for("trainers wait ")
            assert re.search(r"results +[\d.]+ [KM]iB/s", text)
            assert re.search(r"shared +\d+% [█░]", text)
            assert re.search(r"right now +\d+ running.*wait for worker: \d+, shared: \d+", text)
            assert re.search(r"time in +█.*queue \d+% memory \d+% sampling \d+% gathering", text)
            assert re.search(r" 1 +[\d,.]+ +\d+% +<\d+ \w+ +<\d+ \w+ +\d+ .*, small", text)
        terminal.wait_for("no trainer yet")


def test_a_daemon_that_goes_away_is_waited_for(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    with top(daemon) as terminal:
        terminal.wait_for(f"pid {daemon.pid}")
        daemon.kill()
        terminal.wait_for("no answer")
        daemon.start()
        terminal.wait_for(lambda text: "serving" in text and f"pid {daemon.pid}" in text)
        assert "no answer" not in terminal.text()


def test_keys_pause_sort_and_scroll(
    start_daemon: Callable[..., Any], dataset: Path, raw: Any
) -> None:
    daemon = start_daemon(dataset)
    sessions = [raw(daemon.address, client_name=f"trainer-{n}") for n in range(20)]
    with top(daemon) as terminal:
        terminal.wait_for("sorts by rate")
        terminal.press("ssss")
        text = terminal.wait_for("sorts by id")
        assert "trainer-0," in text
        assert "trainer-19," not in text
        terminal.press("j" * 5 + "\x1b[B" * 40)
        assert "trainer-0," not in terminal.wait_for("trainer-19,")
        terminal.press("k" * 60)
        terminal.wait_for("trainer-0,")
        terminal.press("p")
        terminal.wait_for("paused")
        for session in sessions:
            session.close()
        daemon.wait_for_output("session 20 closed")
        assert "20 trainers" in terminal.text()
        terminal.press("p")
        terminal.wait_for("no trainer yet")


def _is_whole(text: str, lines: int) -> bool:
    """Whether there are so many, from the first to the last of a screen."""
    found = text.split("\n")
    return len(found) == lines and "graphzero" in found[0] and "q  quits" in found[-1]


def test_it_follows_the_size_of_the_terminal(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    with top(daemon) as terminal:
        terminal.wait_for("q  quits")
        for columns, lines in ((120, 30), (60, 12)):
            terminal.resize(columns, lines)
            terminal.wait_for(lambda text, at=lines: _is_whole(text, at))


def test_failures_are_shown_with_their_messages(
    start_daemon: Callable[..., Any], dataset: Path, raw: Any
) -> None:
    daemon = start_daemon(dataset, "--feature-io", "direct", "--row-cache", "0", setup=FAULT)
    session = raw(daemon.address, client_name="train.py\x1b[2J")
    session.sample(2, [1], [2], columns=["x"])
    session.receive()
    with top(daemon, 120) as terminal:
        assert "train.py\\x1b[2J: " in terminal.wait_for("DATA_LOSS")
        assert "1 failed" in terminal.text()
    session.close()


def test_colours_and_blocks_only_where_they_are_wanted(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    with top(daemon, env={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("serving")
        assert not re.search(rb"\x1b\[[\d;]*3[0-7][;m]", terminal.raw)
    with top(daemon, env={"PYTHONIOENCODING": "ascii"}) as terminal:
        terminal.wait_for("* serving")
        assert terminal.raw.isascii()
    with top(daemon, env={"TERM": "dumb"}) as terminal:
        terminal.wait_for("requests ")
        assert terminal.process.wait(DEADLINE_S) == 0
        assert b"\x1b" not in terminal.raw


def test_no_daemon_is_an_error_and_no_screen(runtime_directory: Path) -> None:
    with Terminal("top", str(runtime_directory / "none"), columns=80, lines=24) as terminal:
        terminal.wait_for("graphzero top: error: no daemon at")
        assert terminal.process.wait(DEADLINE_S) == 1
        assert b"\x1b[?1049h" not in terminal.raw


# --- numbers and drawing ---


def answer(seconds: float, requests: int, instance: str = "a", **rest: Any) -> Any:
    session = pb.SessionStats(session_id=1, requests=requests, waited_us=int(seconds * 5e5))
    return pb.GetStatsResponse(
        instance_id=instance,
        uptime_ms=int(1000 * seconds),
        requests=requests,
        num_sessions=1,
        sessions=[session],
        **rest,
    )


def test_rates_are_those_since_the_answer_before() -> None:
    history = History()
    for seconds, requests in ((10, 100), (12, 300), (13, 350)):
        history.add(answer(seconds, requests))
    assert history.now is not None
    assert list(history.lately["request_rate"]) == [100, 50]
    assert history.now.trainers[0].rate == 50
    assert history.now.wait_share == 0.5


def test_another_daemon_begins_anew() -> None:
    history = History()
    history.add(answer(10, 100))
    history.add(answer(11, 200))
    history.add(answer(1, 5, "b"))
    assert history.now is not None
    assert history.now.request_rate == 0
    assert history.lately == {}
    history.add(answer(2, 15, "b"))
    assert list(history.lately["request_rate"]) == [10]


def test_columns_that_were_replaced_never_give_negative_rates() -> None:
    history = History()
    for seconds, reads in ((1, 100), (2, 5)):
        column = pb.ColumnStats(dataset="d", column="x", reads=reads, read_latency=[reads, 0])
        history.add(answer(seconds, 1, columns=[column]))
    assert history.now is not None
    assert history.now.reads_rate == 5
    assert min(history.now.read_latency) >= 0


def test_a_sparkline_shows_the_latest_points_and_everything_above_nothing() -> None:
    assert sparkline([0, 1, 1000, 500], 4, is_ascii=False) == " ▁█▄"
    assert sparkline([1, 2, 3, 4], 2, is_ascii=False, most=4.0) == "▆█"
    assert sparkline([4], 3, is_ascii=True) == "  #"
    assert sparkline([], 3, is_ascii=False) == "   "


@pytest.mark.parametrize(("used", "cells"), [(4, 0), (20, 1)])
def test_a_bar_of_0_percent_has_no_filled_cell(used: int, cells: int) -> None:
    history = History()
    history.add(answer(1, 1, shm_used_byte_size=used, shm_limit_byte_size=1000))
    shown = screen(View("unix:/s", 80, 24, history.now, history.lately))
    (line,) = [line.plain for line in shown if line.plain.startswith("shared ")]
    assert line.count("█") == cells


def test_an_empty_table_says_so() -> None:
    history = History()
    history.add(pb.GetStatsResponse(uptime_ms=1000))
    shown = [line.plain for line in screen(View("unix:/s", 80, 24, history.now, history.lately))]
    header = next(at for at, line in enumerate(shown) if "trainer, dataset" in line)
    assert shown[header + 1] == "no trainers"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 m 0 s"), (3725, "1 h 2 m"), (200_000, "2 d 7 h")],
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize("lines", range(1, 60))
@pytest.mark.parametrize("columns", [1, 20, 80, 200])
def test_every_size_gets_exactly_its_lines(columns: int, lines: int) -> None:
    history = History()
    history.add(answer(1, 1))
    history.add(answer(2, 9))
    shown = screen(View("unix:/s", columns, lines, history.now, history.lately))
    assert len(shown) == lines
    assert max(line.cell_len for line in shown) <= columns
