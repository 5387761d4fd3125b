"""Edge lists in text: every way to write the same edges gives the same file."""

from pathlib import Path

import numpy as np
import pytest
from edge_reference import EdgeList, ample, compile_text, edge_lines, topology_bytes
from graphzero.conversion.compile_graph import GraphOptions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CHUNK = 256 << 10  # the engine reads a file in pieces of this size

PLAIN = EdgeList.make([0, 3, 1, 3], [1, 2, 0, 3])
WEIGHTED = EdgeList.make([0, 3, 1, 3], [1, 2, 0, 3], [0.5, 1e-3, 7, 0])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("0,1\n3,2\n1,0\n3,3\n", id="commas"),
        pytest.param("0\t1\n3\t2\n1\t0\n3\t3\n", id="tabs"),
        pytest.param("0;1\n3;2\n1;0\n3;3\n", id="semicolons"),
        pytest.param("0 1\n3 2\n1 0\n3 3\n", id="blanks"),
        pytest.param("  0   1\n3 \t 2  \n1 0\n 3 3\n", id="runs-of-blanks"),
        pytest.param("0 , 1\n3, 2\n 1 ,0 \n3,3\n", id="blanks-around-commas"),
        pytest.param("0,1\n3,2\n1,0\n3,3", id="no-final-newline"),
        pytest.param("0,1\r\n3,2\r\n1,0\r\n3,3\r\n", id="crlf"),
        pytest.param("0,1\r\n3,2\n1,0\r\n3,3", id="mixed-line-ends"),
        pytest.param("\ufeff0,1\n3,2\n1,0\n3,3\n", id="byte-order-mark"),
        pytest.param("\ufeffsource,target\n0,1\n3,2\n1,0\n3,3\n", id="mark-and-header"),
        pytest.param("source,target\n0,1\n3,2\n1,0\n3,3\n", id="header"),
        pytest.param('"source id","target id"\n0,1\n3,2\n1,0\n3,3\n', id="quoted-header"),
        pytest.param("source\ttarget\n0 1\n3 2\n1 0\n3 3\n", id="header-with-other-delimiter"),
        pytest.param("# a\n% b\n0,1\n  # c\n3,2\n1,0\n3,3\n#d", id="comments"),
        pytest.param("# a\nsource,target\n# b\n0,1\n3,2\n1,0\n3,3\n", id="comments-and-header"),
        pytest.param("\n\n0,1\n\n3,2\n  \n\t\n1,0\n\r\n3,3\n\n\n", id="blank-lines"),
        pytest.param("000,0000000001\n3,2\n1,00000000000000000000\n3,3\n", id="leading-zeros"),
    ],
)
def test_every_way_to_write_edges_gives_the_same_file(tmp_path: Path, text: str) -> None:
    assert compile_text(tmp_path, text).data == topology_bytes(PLAIN, GraphOptions())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("0,1,0.5\n3,2,1e-3\n1,0,7\n3,3,0\n", id="commas"),
        pytest.param("0 1 0.5\n3 2 .001\n1 0 7.0\n3 3 0e5", id="blanks-no-final-newline"),
        pytest.param("s\tt\tw\r\n0\t1\t5E-1\r\n3\t2\t0.001\r\n1\t0\t07\r\n3\t3\t0\r\n", id="crlf"),
        pytest.param("0;1; 0.5\n3;2;0.0010000\n1;0;7.\n3;3;0.0\n", id="semicolons"),
    ],
)
def test_a_third_column_is_the_weight(tmp_path: Path, text: str) -> None:
    assert compile_text(tmp_path, text).data == topology_bytes(WEIGHTED, GraphOptions())


def test_weights_are_rounded_as_numpy_rounds_them(tmp_path: Path) -> None:
    texts = ["0.1", "16777217", "3.4028235e38", "1e-45", "0.30000001192092896", "123456789.125"]
    lines = "".join(f"0,{i},{text}\n" for i, text in enumerate(texts))
    weights = np.array(texts, np.float64).astype(np.float32)
    expected = EdgeList.make([0] * len(texts), range(len(texts)), weights)
    assert compile_text(tmp_path, lines).data == topology_bytes(expected, GraphOptions())


# Ends of files and lines at every place around the border between two chunks.
@pytest.mark.parametrize("shift", range(-6, 7))
@pytest.mark.parametrize("final_newline", [True, False], ids=["newline", "no-newline"])
def test_a_line_across_a_chunk_border_is_read_once(
    tmp_path: Path, shift: int, final_newline: bool
) -> None:
    head = "#" * (CHUNK + shift - 1) + "\n"
    text = head + "12345,67890\n" + ("1,2\n" if final_newline else "1,2")
    edges = EdgeList.make([12345, 1], [67890, 2])
    options = GraphOptions(edge_ids=True)
    assert compile_text(tmp_path, text, options).data == topology_bytes(edges, options)


def test_a_line_longer_than_several_chunks_is_read_once(tmp_path: Path) -> None:
    text = "0,1\n" + " " * (3 * CHUNK) + "2,3\n" + "%" * (2 * CHUNK) + "\n4,5"
    edges = EdgeList.make([0, 2, 4], [1, 3, 5])
    assert compile_text(tmp_path, text).data == topology_bytes(edges, GraphOptions())


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_files_of_many_chunks_read_like_their_numbers(
    tmp_path: Path, threads: int, weighted: bool
) -> None:
    rng = np.random.default_rng(threads)
    count = 150_000
    # Ids of all lengths, so that lines straddle borders at any place.
    ids = rng.integers(0, 10 ** rng.integers(1, 6, (2, count)))
    weights = rng.random(count).astype(np.float32) if weighted else None
    edges = EdgeList.make(ids[0], ids[1], weights)
    text = edge_lines(edges)
    assert len(text) > 4 * CHUNK
    options = GraphOptions(edge_ids=True)
    made = compile_text(tmp_path, text, options, resources=ample(tmp_path, threads))
    assert made.data == topology_bytes(edges, options)
    assert made.report.input_rows == count


# Lines as people write them: any of the delimiters, comments and blank lines between.
NOISE = st.sampled_from(["", "   ", "# comment 1,2", "%", "\t", " # , ,"])
EDGE = st.tuples(st.integers(0, 300), st.integers(0, 300))


@given(
    edges=st.lists(EDGE, min_size=1, max_size=40),
    noise=st.lists(st.tuples(st.integers(0, 40), NOISE), max_size=10),
    delimiter=st.sampled_from([",", ";", "\t", " "]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    header=st.booleans(),
    final=st.booleans(),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_noise_between_lines_changes_nothing(
    tmp_path: Path,
    edges: list[tuple[int, int]],
    noise: list[tuple[int, str]],
    delimiter: str,
    line_end: str,
    header: bool,
    final: bool,
) -> None:
    lines = [f"{a}{delimiter}{b}" for a, b in edges]
    for place, text in noise:
        lines.insert(min(place, len(lines)), text)
    if header:
        lines.insert(0, f"source{delimiter}target")
    text = line_end.join(lines) + (line_end if final else "")
    expected = EdgeList.make(*zip(*edges, strict=True))
    assert compile_text(tmp_path, text).data == topology_bytes(expected, GraphOptions())
