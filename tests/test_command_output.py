"""Numbers and progress as people see them."""

import pytest
from graphzero import _progress
from graphzero._progress import JobProgress
from graphzero._text import count_text, size_text, table_text


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


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test moves by hand."""
    now = [100.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
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


def test_what_is_quick_says_nothing(clock, capsys):
    with JobProgress("x.gd", unit="B") as progress:
        progress("verify", 0, 100)
        progress("verify", 100, 100)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(clock, capsys, monkeypatch):
    monkeypatch.setattr(_progress.sys.stderr, "isatty", lambda: True, raising=False)
    with JobProgress("x.gd", unit="B") as progress:
        progress("verify", 0, 100)
        clock[0] += 1
        progress("verify", 50, 100)
    assert "\rverify x.gd: " in capsys.readouterr().err
