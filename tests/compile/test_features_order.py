"""The file does not depend on memory, on threads or on where chunks of text happen to end."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphzero import _engine

pytestmark = pytest.mark.slow

Compiled = Callable[..., Any]
CompileTable = Callable[..., Any]

TINY = 1 << 20  # far below what the command line accepts: everything spills, ranges are divided
CHUNK = 256 << 10  # of text that a thread takes at a time


def table(rows: int, cols: int, seed: int = 0) -> tuple[list[str], Any]:
    values = np.random.default_rng(seed).standard_normal((rows, cols)).astype(np.float32)
    lines = [f"{i}," + ",".join(map(repr, row)) for i, row in enumerate(values.tolist())]
    return lines, values


def shuffled(lines: list[str], seed: int = 0) -> list[str]:
    lines = lines.copy()
    random.Random(seed).shuffle(lines)
    return lines


ORDERS: dict[str, Callable[[list[str]], list[str]]] = {
    "in order": lambda lines: lines,
    "shuffled": shuffled,
    "reversed": lambda lines: lines[::-1],
    "two swapped late": lambda lines: [*lines[:-2], lines[-1], lines[-2]],
    "second half first": lambda lines: lines[len(lines) // 2 :] + lines[: len(lines) // 2],
}


@pytest.mark.parametrize("order", ORDERS)
def test_output_is_identical_for_any_memory_and_threads(
    compile_table: CompileTable, tmp_path: Path, order: str
) -> None:
    lines, values = table(rows=30_000, cols=16)
    text = "\n".join(ORDERS[order](lines))
    files = set()
    for memory in (TINY, 64 << 20):
        for threads in (1, 2, 8):
            compile_table(text, memory=memory, threads=threads)
            files.add((tmp_path / "x.gd").read_bytes())
    assert len(files) == 1
    assert (_engine.Matrix.open(str(tmp_path / "x.gd")).tensor() == values).all()


def test_a_known_number_of_rows_gives_the_same_file(
    compile_table: CompileTable, tmp_path: Path
) -> None:
    lines, _ = table(rows=5_000, cols=7)
    compile_table("\n".join(shuffled(lines)))
    unknown = (tmp_path / "x.gd").read_bytes()
    compile_table("\n".join(shuffled(lines)), num_rows=5_000)
    assert (tmp_path / "x.gd").read_bytes() == unknown


def spilled_bytes(tmp_path: Path, text: str, **options: Any) -> int:
    (tmp_path / "x.csv").write_text(text)
    (tmp_path / "x.gd").unlink(missing_ok=True)
    report = _engine.compile_matrix_text(
        str(tmp_path / "x.csv"),
        str(tmp_path / "x.gd"),
        dtype="float32",
        role="node",
        num_rows=None,
        always_2d=False,
        row_align=0,
        nan=None,
        fill=None,
        skip_bad_lines=False,
        temp_dir=str(tmp_path),
        report=None,
        **options,
    )
    return int(report.spilled_bytes)


def test_rows_in_order_never_spill(tmp_path: Path) -> None:
    lines, _ = table(rows=20_000, cols=16)
    assert spilled_bytes(tmp_path, "\n".join(lines), memory=TINY, threads=2) == 0


def test_shuffled_rows_spill_only_when_memory_is_short(tmp_path: Path) -> None:
    lines, values = table(rows=20_000, cols=16)
    text = "\n".join(shuffled(lines))
    assert spilled_bytes(tmp_path, text, memory=TINY, threads=2) > values.nbytes
    assert spilled_bytes(tmp_path, text, memory=1 << 30, threads=2) == 0


def test_ids_far_beyond_the_estimate_are_sorted_too(compiled: Compiled) -> None:
    # The first lines are long, so few rows are expected; then come many short ones.
    head = [f"{i},{'1' * 60}.0" for i in range(5_000)]
    tail = [f"{i},{i % 10}" for i in range(5_000, 200_000)]
    x = compiled("\n".join(head + shuffled(tail)), memory=TINY, dtype="float64")
    assert x.shape == (200_000,)
    assert (x[5_000:] == np.arange(5_000, 200_000) % 10).all()


def test_rows_wider_than_a_spill_record_keep_their_bytes(compiled: Compiled) -> None:
    lines, values = table(rows=40, cols=9_000)
    assert (compiled("\n".join(shuffled(lines)), memory=TINY, threads=8) == values).all()


def test_lines_longer_than_a_chunk_are_read_whole(compiled: Compiled) -> None:
    lines, values = table(rows=5, cols=60_000)
    assert min(map(len, lines)) > 2 * CHUNK
    assert (compiled("\n".join(lines), threads=8) == values).all()


@pytest.mark.parametrize("shift", range(-3, 4))
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_may_end_anywhere_near_the_end_of_a_chunk(
    compiled: Compiled, shift: int, end: str
) -> None:
    comment = "#" + "x" * (CHUNK + shift - len(end) - 1) + end
    text = comment + end.join(f"{i},{i}" for i in range(100_000))
    assert (compiled(text, dtype="int32", threads=8) == np.arange(100_000)).all()


def test_a_line_straddling_every_chunk_is_parsed_once(compiled: Compiled) -> None:
    lines, values = table(rows=4_000, cols=33)
    text = "\n".join(lines)
    assert len(text) > 5 * CHUNK
    for threads in (1, 2, 8):
        assert (compiled(text, threads=threads) == values).all()
