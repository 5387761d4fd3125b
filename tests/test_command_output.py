"""Numbers and progress as people see them."""

import re

import pytest
from graphzero.base import progress as progress_module
from graphzero.base.progress import JobProgress
from graphzero.base.text import (
    count_text,
    counted_text,
    line_text,
    names_text,
    quoted,
    rate_text,
    size_text,
    table_text,
)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (40 * 10**9, "37.3 GiB"),
        (2**60, "1024.0 PiB"),
    ],
)
def test_sizes_are_in_powers_of_1024(size, text):
    assert size_text(size) == text


def test_counts_have_commas():
    assert count_text(1234567) == "1,234,567"


def test_tables_align_their_values():
    assert table_text([("a", "1"), ("long", "2")]) == "  a     1\n  long  2"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("train.py[42]", "train.py[42]"),
        ("Zürich, 東京", "Zürich, 東京"),
        ("a\n2026-01-01 INFO forged", "a\\n2026-01-01 INFO forged"),
        ("\x1b[2J\x07\x7f\x9b", "\\x1b[2J\\x07\\x7f\\x9b"),
        ("\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"),
        ("a\u2028b\u200bc", "a\\u2028b\\u200bc"),
        ("b\udcff\ud800", "b\\xff\\ud800"),
    ],
)
def test_foreign_text_becomes_one_harmless_line(text, line):
    assert line_text(text) == line
    line.encode()


@pytest.mark.parametrize("text", ["x" * 10**7, "\x00" * 10**7, "\U000e0001" * 40])
def test_foreign_text_is_cut_after_it_was_escaped(text):
    assert len(line_text(text, 50)) == 50
    assert line_text(text, 50).endswith("…")
    assert line_text("x" * 50, 50) == "x" * 50


def test_names_are_quoted_and_long_lists_of_them_stay_short():
    assert quoted("a\nb") == "'a\\nb'"
    assert names_text(["b", "a"]) == "'a', 'b'"
    assert names_text([f"{i:04}" for i in range(1000)], 2) == "'0000', '0001' and 998 more"


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test moves by hand."""
    now = [100.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_a_line_now_and_then_with_rate_and_time_left(clock, capsys):
    with JobProgress("x.gd", unit="B") as progress:
        for second in range(26):
            clock[0] = 100.0 + second
            progress("verify", second * 2**20, 100 * 2**20)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "verify x.gd: 10 % of 100.0 MiB, 1.0 MiB/s, 90 s left",
        "verify x.gd: 20 % of 100.0 MiB, 1.0 MiB/s, 80 s left",
    ]


@pytest.mark.parametrize(
    ("phase", "line"),
    [
        ("writing rows", "10 % of 50.0 k rows, 500.0 rows/s, 90 s left"),
        ("reading edges", "10 %, 1.0 %/s, 90 s left"),
        ("writing labels", "10 %, 1.0 %/s, 90 s left"),
    ],
)
def test_what_is_counted_is_named_where_it_is_known(phase, line, clock, capsys):
    with JobProgress("x.gd") as progress:
        progress(phase, 0, 50_000)
        clock[0] += 10
        progress(phase, 5_000, 50_000)
    assert capsys.readouterr().err == f"{phase} x.gd: {line}\n"


def test_a_bar_counts_percents_where_a_phase_names_nothing(clock, capsys, monkeypatch):
    monkeypatch.setattr(progress_module.sys.stderr, "isatty", lambda: True, raising=False)
    with JobProgress("x.csv") as progress:
        progress("reading edges", 0, 5_000)
        clock[0] += 1
        progress("reading edges", 2_500, 5_000)
        assert (progress._bar.n, progress._bar.total) == (50, 100)
    assert " %/s]" in capsys.readouterr().err


def test_one_is_no_plural():
    assert counted_text(1, "edge") == "1 edge"
    assert counted_text(0, "edge") == "0 edges"
    assert counted_text(1234, "edge") == "1,234 edges"


def test_a_rate_needs_some_time():
    assert rate_text(3 << 20, 2.0) == " (1.5 MiB/s)"
    assert rate_text(186, 0.01) == ""


def test_what_is_quick_says_nothing(clock, capsys):
    with JobProgress("x.gd", unit="B") as progress:
        progress("verify", 0, 100)
        progress("verify", 100, 100)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(clock, capsys, monkeypatch):
    monkeypatch.setattr(progress_module.sys.stderr, "isatty", lambda: True, raising=False)
    with JobProgress("x.gd", unit="B") as progress:
        progress("verify", 0, 100)
        clock[0] += 1
        progress("verify", 50, 100)
    assert "\rverify x.gd: " in capsys.readouterr().err


def test_a_bar_begins_where_the_job_is_with_its_mean_rate(clock, capsys, monkeypatch):
    monkeypatch.setattr(progress_module.sys.stderr, "isatty", lambda: True, raising=False)
    with JobProgress("x.gd", unit="B") as progress:
        progress("verify", 0, 100 << 20)
        clock[0] += 10
        progress("verify", 60 << 20, 100 << 20)
    first = capsys.readouterr().err.split("\r")[1]
    assert first.startswith("verify x.gd:  60%|")
    assert re.search(r"60\.0M/100M \[00:10<00:06, 6\.2\dMB/s\]", first)
