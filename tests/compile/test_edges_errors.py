"""Bad edges: one message that says where, what was found, what was expected."""

from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
from edge_reference import EdgeList, ample, compile_file, compile_text, edge_lines, topology_bytes
from graphzero import InputError
from graphzero.conversion.compile_graph import GraphOptions

CHUNK = 256 << 10


def error_of(directory: Path, text: bytes | str, options: GraphOptions | None = None) -> str:
    """The message without the directory."""
    with pytest.raises(InputError) as caught:
        compile_text(directory, text, options)
    assert list(directory.glob("*.gl")) == []
    return str(caught.value).replace(f"{directory}/", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n2,-3\n", '2: found target "-3", expected an id from 0 to 2^63 - 1: "2,-3"'),
        ("0,1\n-1,3\n", '2: found source "-1", expected an id from 0 to 2^63 - 1: "-1,3"'),
        ("0,1\n1.0,3\n", '2: found source "1.0", expected an integer id: "1.0,3"'),
        (
            "0,1\n1,x3\n",
            '2: found target "x3", expected an integer id; --relabel takes texts: "1,x3"',
        ),
        ("0,1\n1e3,3\n", '2: found source "1e3", expected an integer id: "1e3,3"'),
        ("0,1\n1,\n", '2: found target "", expected an integer id: "1,"'),
        (
            "0,1\n0x10,3\n",
            '2: found source "0x10", expected an integer id; --relabel takes texts: "0x10,3"',
        ),
        ("0,1\n+1,3\n", '2: found source "+1", expected an integer id: "+1,3"'),
        ("0,1\n1 2,3\n", '2: found source "1 2", expected an integer id: "1 2,3"'),
        (
            "0,1\n0,9223372036854775808\n",
            '2: found target "9223372036854775808", expected an id from 0 to 2^63 - 1: '
            '"0,9223372036854775808"',
        ),
        (
            "0,1\n99999999999999999999999,1\n",
            '2: found source "99999999999999999999999", expected an id from 0 to 2^63 - 1: '
            '"99999999999999999999999,1"',
        ),
        ("0,1\n0\n", '2: expected 2 columns, found 1: "0"'),
        ("0,1\n0,1,2\n", '2: expected 2 columns, found 3: "0,1,2"'),
        ("0,1,2\n0,1\n", '2: expected 3 columns, found 2: "0,1"'),
        ("0,1\n0;1\n", '2: expected 2 columns, found 1: "0;1"'),
        ("0 1\n0 1 2\n", '2: expected 2 columns, found 3: "0 1 2"'),
        ("# c\n\n7\n", '3: expected 2 or 3 columns, found 1: "7"'),
        (
            "0,1,2,3\n",
            "1: expected 2 or 3 columns, found 4 (--source and --target choose columns by name): "
            '"0,1,2,3"',
        ),
        ("0,1,nan\n", '1: found weight "nan", expected a finite number >= 0: "0,1,nan"'),
        ("0,1,inf\n", '1: found weight "inf", expected a finite number >= 0: "0,1,inf"'),
        ("0,1,-0.5\n", '1: found weight "-0.5", expected a finite number >= 0: "0,1,-0.5"'),
        ("0,1,1e39\n", '1: found weight "1e39", expected a finite number >= 0: "0,1,1e39"'),
        ("0,1,1e999\n", '1: found weight "1e999", expected a finite number >= 0: "0,1,1e999"'),
        ("0,1,a\n", '1: found weight "a", expected a finite number >= 0: "0,1,a"'),
        (
            "a,b\nc,d\n",
            '2: found source "c", expected an integer id; --relabel takes texts: "c,d"',
        ),
        (
            b"0,1\n\xe4\x01\xff,2\n",
            '2: found source "???", expected an integer id; --relabel takes texts: "???,2"',
        ),
        (
            "0,1\n" + "x" * 70 + ",1\n",
            f'2: found source "{"x" * 60}...", expected an integer id; --relabel takes texts: '
            f'"{"x" * 60}..."',
        ),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_text(
    tmp_path: Path, text: bytes | str, message: str
) -> None:
    assert error_of(tmp_path, text) == f"edges.csv line {message}"


def test_an_id_beyond_the_given_number_of_nodes_is_named(tmp_path: Path) -> None:
    message = (
        'edges.csv line 2: found target "5", expected an id below 5, the given number of nodes'
    )
    assert error_of(tmp_path, "0,4\n1,5\n", GraphOptions(num_nodes=5)) == f'{message}: "1,5"'


def test_the_largest_id_is_not_too_large(tmp_path: Path) -> None:
    # 2^63 - 1 is an id; that the graph would be implausible is another matter.
    assert "the largest node id is 9223372036854775807 but" in error_of(
        tmp_path, f"0,{2**63 - 1}\n"
    )


def test_no_edges_and_no_number_of_nodes_is_an_error(tmp_path: Path) -> None:
    assert error_of(tmp_path, "# nothing\n") == (
        "edges.csv: found no edges, expected some; if there are none, give the number of nodes "
        "(--num-nodes)"
    )


@pytest.mark.parametrize("largest", [100_000_000, 5_000_000_000])
def test_ids_far_beyond_the_number_of_edges_are_taken_for_a_mistake(
    tmp_path: Path, largest: int
) -> None:
    assert error_of(tmp_path, f"0,1\n2,{largest}\n") == (
        f"edges.csv: the largest node id is {largest} but there are only 2 edges: ids are expected "
        "to run from 0 to the number of nodes; if they do, give it (--num-nodes)"
    )


def test_more_nodes_than_a_file_can_hold_is_an_error(tmp_path: Path) -> None:
    assert error_of(tmp_path, "0,1\n", GraphOptions(num_nodes=2**62)) == (
        "edges.csv: found 4611686018427387904 nodes, expected at most 288230376151711744, for "
        "which one file has room"
    )


@pytest.mark.parametrize("dedup", [False, True])
def test_more_nodes_than_the_disk_has_room_for_is_an_error(tmp_path: Path, dedup: bool) -> None:
    options = GraphOptions(num_nodes=2**50, dedup=dedup, direction="out")
    edges = EdgeList.make(*np.random.default_rng(0).integers(0, 100_000, (2, 20_000)))
    with pytest.raises(OSError, match=r"cannot reserve \d+ bytes: No space left on device"):
        compile_text(tmp_path, edge_lines(edges), options)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cannot open: No such file or directory"):
        compile_file(tmp_path / "none.csv")


def test_a_directory_is_not_read_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").mkdir()
    with pytest.raises(InputError, match="found a folder without a"):
        compile_file(tmp_path / "edges.csv")


# Errors in two chunks: threads meet them in any order.
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_first_error_in_the_file_is_reported_whatever_thread_meets_it(
    tmp_path: Path, threads: int
) -> None:
    lines = ["1,2"] * (4 * CHUNK // 4)
    for bad in (70_000, 140_000, 210_000, 250_000):
        lines[bad] = f"bad,{bad}"
    source = tmp_path / "edges.csv"
    source.write_text("\n".join(lines))
    for _ in range(5):
        with pytest.raises(InputError, match=r"line 70001: .*\"bad,70000\"$"):
            compile_file(source, resources=ample(tmp_path, threads))


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_skipped_lines_are_counted_and_the_first_of_them_shown(
    tmp_path: Path, threads: int
) -> None:
    rng = np.random.default_rng(3)
    lines = [f"{a},{b}" for a, b in rng.integers(0, 1000, (200_000, 2))]
    bad = np.sort(rng.choice(len(lines), 300, replace=False)).tolist()
    for line in bad:
        lines[line] = f"oops,{line}"
    made = compile_text(
        tmp_path, "\n".join(lines), skip_errors=True, resources=ample(tmp_path, threads)
    )
    assert made.report.skipped == 300
    assert made.report.messages == tuple(
        f'{tmp_path}/edges.csv line {line + 1}: found source "oops", expected an integer id; '
        f'--relabel takes texts: "oops,{line}"'
        for line in bad[:5]
    )


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("threads", [1, 8])
def test_edge_ids_count_skipped_lines_too(tmp_path: Path, weighted: bool, threads: int) -> None:
    rng = np.random.default_rng(4)
    count = 100_000
    weights = rng.random(count).astype(np.float32) if weighted else None
    edges = EdgeList.make(*rng.integers(0, 500, (2, count)), weights)
    lines = edge_lines(edges).splitlines()
    good = rng.random(count) > 0.01
    for i in np.flatnonzero(~good):
        lines[i] = "1;2"
    options = GraphOptions(edge_ids=True)
    made = compile_text(
        tmp_path,
        "s,t,w\n# a comment has no number\n" + "\n".join(lines),
        options,
        skip_errors=True,
        resources=ample(tmp_path, threads),
    )
    assert made.report.input_rows == count
    assert made.data == topology_bytes(edges.take(good), options)


@pytest.mark.parametrize(
    ("src", "dst", "weights", "message"),
    [
        ([0, -1], [1, 2], None, "row 1: found source -1, expected an id from 0 to 2^63 - 1"),
        ([0, 1], [1, -(2**63)], None, f"row 1: found target {-(2**63)}, expected an id from 0 to"),
        ([0, 1], [1, 2**63], None, f"row 1: found target {2**63}, expected an id from 0 to 2^63"),
        ([0.5, 1], [1, 2], None, "src: found float64 of shape (2,), expected integers of shape"),
        ([[0], [1]], [1, 2], None, "src: found int64 of shape (2, 1), expected integers of shape"),
        ([0, 1], [1], None, "edges: found lengths src 2, dst 1, expected them equal"),
        ([0, 1], [1, 2], [1], "edges: found lengths src 2, dst 2, weights 1, expected them equal"),
        ([0, 1], [1, 2], [[1, 2]], "edges: found weights of shape (1, 2), expected (E,)"),
        ([0, 1], [1, 2], [1, np.nan], "row 1: found weight nan, expected a finite value >= 0"),
        ([0, 1], [1, 2], [1, -2], "row 1: found weight -2.000000, expected a finite value >= 0"),
        ([True], [False], None, "src: found bool of shape (1,), expected integers of shape (E,)"),
    ],
)
def test_bad_arrays_are_refused(
    tmp_path: Path, src: object, dst: object, weights: object, message: str
) -> None:
    if isinstance(dst, list) and dst[-1] == 2**63:
        dst = np.array(dst, np.uint64)
    with pytest.raises(InputError) as caught:
        gz.write_graph(tmp_path / "g.gl", src, dst, weights=weights)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []
