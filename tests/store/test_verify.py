"""`verify` names what is wrong and where, also what checksums cannot tell."""

import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import golden
import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from graphzero import _engine
from graphzero.commands.cli import main
from graphzero.files.paths import find_problems, open_file
from legacy_writer import legacy_topology

MIB = 1 << 20
DIRECTED = golden.DIRECTORY / "directed.gl"


def graph_image(sections, *, num_nodes=3, num_edges=3, flags=rw.SORTED, edge_id_bound=3):
    properties = struct.pack("<4Q", num_nodes, num_nodes, num_edges, edge_id_bound)
    return rw.container(rw.TOPOLOGY_MAGIC, properties, sections, optional_flags=flags)


def out_sections(indptr=(0, 2, 2, 3), indices=(1, 2, 0), weights=None, edge_ids=None):
    sections = [
        rw.array_section(16, np.array(indptr, np.uint64)),
        rw.array_section(17, np.array(indices, np.uint32)),
    ]
    if weights is not None:
        sections.append(rw.array_section(18, np.array(weights, np.float32)))
    if edge_ids is not None:
        sections.append(rw.array_section(19, np.array(edge_ids, np.uint32)))
    return sections


def in_sections(indptr=(0, 1, 2, 3), indices=(2, 0, 0)):
    return [
        rw.array_section(32, np.array(indptr, np.uint64)),
        rw.array_section(33, np.array(indices, np.uint32)),
    ]


def problems_of(image, path):
    return find_problems(open_file(image.write(path)))


def test_sound_files_have_no_problems(tmp_path):
    image = graph_image(out_sections() + in_sections())
    assert problems_of(image, tmp_path / "g.gl") == []


# Right checksums, wrong content: what a buggy or hostile writer makes.
@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (out_sections(indptr=(0, 2, 1, 3)), "out.indptr item 2: found 1, expected from 2 to 3"),
        (out_sections(indptr=(0, 2, 2, 9)), "out.indptr item 3: found 9, expected from 2 to 3"),
        (out_sections(indptr=(1, 2, 2, 3)), "out.indptr item 0: found 1, expected 0"),
        (out_sections(indptr=(0, 2, 2, 2)), "out.indptr item 3: found 2, expected 3"),
        (out_sections(indices=(1, 3, 0)), "out.indices slot 1: found 3, expected below 3"),
        (
            out_sections(indices=(2, 1, 0)),
            "out.indices row 0 slot 1: found neighbour 1 after 2, "
            "expected rows sorted by (neighbour, edge id)",
        ),
        (
            out_sections(indices=(1, 1, 0), edge_ids=(2, 1, 0)),
            "out.indices row 0 slot 1: found neighbour 1 after 1, "
            "expected rows sorted by (neighbour, edge id)",
        ),
        (out_sections(edge_ids=(0, 1, 3)), "out.edge_ids slot 2: found 3, expected below 3"),
        (
            out_sections(weights=(0, 1, -1)),
            "out.weights slot 2: found -1.000000, expected a finite weight, 0 or more",
        ),
        (
            out_sections(weights=(0, np.nan, 1)),
            "out.weights slot 1: found nan, expected a finite weight, 0 or more",
        ),
        (
            out_sections(weights=(np.inf, 0, 1)),
            "out.weights slot 0: found inf, expected a finite weight, 0 or more",
        ),
        (
            out_sections() + in_sections(indices=(1, 0, 0)),
            "out.indices and in.indices: found different edges, "
            "expected the same in both directions",
        ),
    ],
)
def test_wrong_values_are_named_by_section_and_place(tmp_path, sections, expected):
    path = tmp_path / "g.gl"
    assert problems_of(graph_image(sections), path) == [f"{path}: {expected}"]


def test_equal_neighbours_may_follow_each_other_unless_flagged(tmp_path):
    sections = out_sections(indices=(1, 1, 0), edge_ids=(0, 1, 2))
    assert problems_of(graph_image(sections), tmp_path / "a.gl") == []
    flags = rw.SORTED | rw.MULTI_EDGES_DROPPED
    (problem,) = problems_of(graph_image(sections, flags=flags), tmp_path / "b.gl")
    assert "row 0 slot 1" in problem
    assert "without repeats" in problem


def test_order_is_free_where_the_flag_does_not_claim_it(tmp_path):
    assert (
        problems_of(graph_image(out_sections(indices=(2, 1, 0)), flags=0), tmp_path / "g.gl") == []
    )


def test_a_symmetric_file_holds_the_reverse_of_every_edge(tmp_path):
    flags = rw.SORTED | rw.SYMMETRIC
    two_ways = out_sections(indptr=(0, 2, 3, 4), indices=(1, 2, 0, 0))
    image = graph_image(two_ways, num_edges=4, flags=flags)
    assert problems_of(image, tmp_path / "a.gl") == []
    one_way = out_sections(indptr=(0, 2, 3, 4), indices=(1, 2, 0, 1))
    (problem,) = problems_of(graph_image(one_way, num_edges=4, flags=flags), tmp_path / "b.gl")
    assert "an edge without its reverse" in problem


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (rw.matrix(np.array([1, -2], np.int64), role="ids"), "rows row 1: found -2"),
        (rw.matrix(np.array([1, -2], np.int32), role="ids", row_stride=8), "rows row 1: found -2"),
        (
            rw.matrix(np.array([[0, 1], [2, 0]], np.uint8), dtype="bool"),
            "rows row 1 byte 0: found 2, expected 0 or 1",
        ),
    ],
)
def test_matrix_values_that_mean_nothing_are_named(tmp_path, image, expected):
    (problem,) = problems_of(image, tmp_path / "x.gd")
    assert expected in problem


def test_row_padding_is_zero(tmp_path):
    image = rw.matrix(np.array([[1, 2, 3], [4, 5, 6]], np.int8), row_stride=4)
    data = bytearray(image.parts[1][1])
    data[7] = 9
    properties = rw.matrix_properties(2, 3, 4, 2, "node")
    section = rw.Section(rw.ROWS, rw.DTYPES["int8"], 2, 8, bytes(data))
    (problem,) = problems_of(
        rw.container(rw.MATRIX_MAGIC, properties, [section]), tmp_path / "x.gd"
    )
    assert "rows row 1 byte 3: found 9, expected 0 in the padding" in problem


# A reader skips the section, so it does not say in which order the ids ascend.
@pytest.mark.parametrize(
    ("future", "ordered"),
    [({"encoding": 7}, False), ({"relation": 1}, False), ({"relation": 1}, True)],
    ids=["encoding", "relation", "relation beside an order"],
)
def test_an_order_of_ids_that_readers_skip_is_checked_by_its_checksum_only(
    tmp_path, future, ordered
):
    # Longer than a block, and than the order of the three ids.
    skipped = np.zeros(MIB // 8 + 1, np.uint64)
    sections = [
        rw.array_section(rw.ROWS_BY_ID, skipped, must_understand=False, **future),
        rw.array_section(rw.ROWS, np.array([30, 10, 20])),
    ]
    if ordered:
        sections.insert(1, rw.array_section(rw.ROWS_BY_ID, np.array([1, 2, 0], np.uint32)))
    properties = rw.matrix_properties(rows=3, cols=1, stride=8, ndim=1, role="node")
    image = rw.container(rw.MATRIX_MAGIC, properties, sections)
    assert problems_of(image, tmp_path / "x.gd") == []
    flip(tmp_path / "x.gd", 4096 + MIB)
    (problem,) = find_problems(open_file(tmp_path / "x.gd"))
    assert "rows_by_id block 1" in problem


@pytest.fixture
def large(tmp_path):
    """A matrix of five and a half blocks."""
    values = np.random.default_rng(0).integers(0, 256, (11 * MIB // 2 // 64, 64), np.uint8)
    return rw.matrix(values).write(tmp_path / "large.gd")


@pytest.mark.parametrize("block", range(6))
def test_damage_is_named_to_the_block(large, block):
    flip(large, 4096 + block * MIB + 77)
    (problem,) = find_problems(open_file(large))
    end = 4096 + min((block + 1) * MIB, 11 * MIB // 2)
    assert f"rows block {block} (bytes {4096 + block * MIB} to {end})" in problem


def test_damage_to_the_table_of_checksums_is_not_taken_for_damage_to_data(large):
    checksums = open_file(large).sections[1]
    flip(large, checksums.offset + 9)
    (problem,) = find_problems(open_file(large))
    assert "checksums section" in problem


def test_problems_are_the_same_at_any_number_of_threads(large):
    for at in (0, 3 * MIB, 5 * MIB):
        flip(large, 4096 + at)
    results = [_engine.verify(open_file(large), threads=n) for n in (1, 2, 8)]
    assert len(results[0]) == 3
    assert results[0] == results[1] == results[2]


def test_rows_that_cross_blocks_are_checked_over_the_edge(tmp_path):
    """One row longer than a block, falling exactly where a block begins."""
    per_block = MIB // 4
    indices = np.arange(2 * per_block, dtype=np.uint32)
    indices[per_block - 1], indices[per_block] = per_block, per_block - 1
    # The neighbours of node 0 lie in a set of their own.
    properties = struct.pack("<4Q", 1, len(indices), len(indices), len(indices))
    image = rw.container(
        rw.TOPOLOGY_MAGIC,
        properties,
        out_sections(indptr=(0, len(indices)), indices=indices),
        optional_flags=rw.SORTED,
    )
    problems = problems_of(image, tmp_path / "g.gl")
    assert any(f"row 0 slot {per_block}:" in problem for problem in problems)


def test_files_of_graphzero_0_2_are_checked_by_value(tmp_path):
    path = tmp_path / "old.gl"
    path.write_bytes(legacy_topology([[1, 2], [0], [3]]))
    (problem,) = find_problems(open_file(path))
    assert "out.indices slot 3: found 3, expected below 3" in problem


def test_what_a_process_wrote_to_its_views_is_not_damage(tmp_path):
    """Also where two blocks meet, and after the name has gone to another file."""
    path = tmp_path / "g.gl"
    gz.write_graph(path, np.zeros(600_000, np.int64), np.arange(600_000), direction="out")
    topology = open_file(path)
    topology.neighbours(0, "out")[:] = 0
    rw.matrix(np.ones(3)).write(tmp_path / "other").replace(path)
    assert find_problems(topology) == []


def test_progress_counts_up_to_the_size_of_the_file(large):
    seen = []
    find_problems(open_file(large), lambda *report: seen.append(report))
    phase, done, total = seen[-1]
    assert phase == "verify"
    assert total == large.stat().st_size
    assert 0.99 * total < done <= total


def test_an_exception_of_the_progress_callback_ends_it(large):
    def stop(phase, done, total):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        find_problems(open_file(large), stop)


def flip(path, at):
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


@pytest.fixture
def dataset(tmp_path):
    """Graph, column and split that belong together."""
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "graph.gl").write_bytes(DIRECTED.read_bytes())
    rw.matrix(np.ones((4, 2), np.float32)).write(directory / "x.gd")
    rw.matrix(np.array([0, 3]), role="ids").write(directory / "train.gd")
    rw.matrix(np.ones(5, np.float32), role="edge").write(directory / "attr.gd")
    return directory


def test_command_says_ok_for_each_file(dataset, capsys):
    assert main(["verify", str(dataset)]) == 0
    *lines, summary = capsys.readouterr().out.splitlines()
    assert summary == "4 files, all intact"
    assert [line.split()[0] for line in lines] == ["ok"] * 4
    names = [Path(line.split()[1]).name for line in lines]
    assert names == ["graph.gl", "attr.gd", "train.gd", "x.gd"]


def test_command_verifies_every_dataset_in_a_directory(dataset, capsys):
    assert main(["verify", str(dataset.parent)]) == 0
    assert capsys.readouterr().out.count("ok ") == 4


def test_command_names_all_that_is_damaged_and_exits_with_1(dataset, capsys):
    flip(dataset / "graph.gl", 8192)
    flip(dataset / "x.gd", 0)
    assert main(["verify", str(dataset)]) == 1
    output = capsys.readouterr().out
    assert "graph.gl: out.indices block 0 (bytes 8192 to 8212)" in output
    assert "x.gd: byte 0: found an unknown kind of file" in output
    assert output.count("DAMAGED") == 2
    assert output.count("ok ") == 2
    assert output.endswith("\n2 of 4 files are damaged\n")


@pytest.mark.parametrize("command", ["verify", "info"])
def test_a_file_of_another_kind_is_not_called_damaged(tmp_path, capsys, command):
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    assert main([command, str(tmp_path / "edges.csv")]) == 1
    output = capsys.readouterr()
    assert "DAMAGED" not in output.out
    assert "graphzero convert" in output.err


def test_info_says_how_a_table_becomes_a_dataset(tmp_path, capsys):
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n0,1\n")
    assert main(["info", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"graphzero info: error: {path}: not a dataset file; graphzero convert --edges {path} "
        "--out DIR makes a dataset from it\n"
    )


def test_command_finds_columns_that_do_not_belong_to_the_graph(dataset, capsys):
    rw.matrix(np.ones((3, 2), np.float32)).write(dataset / "x.gd")
    rw.matrix(np.array([0, 4]), role="ids").write(dataset / "train.gd")
    rw.matrix(np.ones(9, np.float32), role="edge").write(dataset / "attr.gd")
    assert main(["verify", str(dataset)]) == 1
    output = capsys.readouterr().out
    assert "x.gd: rows: found 3, expected 4, one for each node of graph.gl" in output
    assert "attr.gd: rows: found 9, expected 5, one for each edge of graph.gl" in output
    assert "train.gd: row 1: found node 4, expected below 4" in output
    assert output.endswith("\n4 files, of which some do not fit together\n")


def test_command_says_what_it_cannot_read(tmp_path, capsys):
    assert main(["verify", str(tmp_path / "absent.gl")]) == 1
    assert "absent.gl: cannot open: No such file" in capsys.readouterr().out
    assert main(["verify", str(tmp_path)]) == 1
    assert "found neither graph.gl nor a .gd file" in capsys.readouterr().err


def test_interrupt_ends_the_command_at_once(tmp_path):
    path = tmp_path / "huge.gd"
    rw.zero_matrix(rows=40 * 10**9 // 512, cols=128, dtype="float32").write(path)
    code = "import sys; from graphzero.commands.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "verify", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    maps = Path(f"/proc/{process.pid}/maps")
    while b"huge.gd" not in maps.read_bytes():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert errors.strip() == "graphzero: interrupted"
