"""Files of the future are refused or read without what is new, as FORMAT.md says."""

import struct
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from graphzero.files.paths import find_problems, open_file

GOLDEN = Path(__file__).parents[1] / "golden"
EDGES = rw.Edges(src=[0, 0, 2], dst=[1, 2, 0])
PROPERTIES = rw.matrix_properties(rows=2, cols=1, stride=4, ndim=1, role="node")
ROWS = rw.array_section(rw.ROWS, np.array([1, 2], np.float32))


def open_matrix(tmp_path, sections, **options):
    image = rw.container(rw.MATRIX_MAGIC, PROPERTIES, sections, **options)
    return gz.FeatureStore(image.write(tmp_path / "x.gd"))


def unknown(**options):
    return rw.Section(kind=99, dtype=1, count=2, size=8, data=b"whatever", **options)


def test_a_newer_minor_version_is_read(tmp_path):
    assert open_matrix(tmp_path, [ROWS], version=(1, 7)).get_tensor().tolist() == [1, 2]


def test_another_major_version_is_refused(tmp_path):
    with pytest.raises(gz.FormatError, match="version 2, expected version 1; a newer release"):
        open_matrix(tmp_path, [ROWS], version=(2, 0))


def test_an_unknown_required_flag_is_refused(tmp_path):
    with pytest.raises(gz.FormatError, match="required flags"):
        open_matrix(tmp_path, [ROWS], required_flags=4)


def test_an_unknown_optional_flag_is_ignored(tmp_path):
    assert open_matrix(tmp_path, [ROWS], optional_flags=1 << 31).num_nodes == 2


def test_an_unknown_section_that_must_be_understood_is_refused(tmp_path):
    with pytest.raises(gz.FormatError, match=r"kind 99.*a newer one may read it"):
        open_matrix(tmp_path, [ROWS, unknown()])


def test_an_unknown_section_that_may_be_ignored_is_ignored_and_yet_verified(tmp_path):
    store = open_matrix(tmp_path, [unknown(must_understand=False), ROWS])
    assert store.get_tensor().tolist() == [1, 2]
    assert find_problems(open_file(store.path)) == []
    damaged = bytearray(store.path.read_bytes())
    damaged[damaged.index(b"whatever")] ^= 1
    store.path.write_bytes(damaged)
    (problem,) = find_problems(open_file(store.path))
    assert "kind 99 block 0" in problem


@pytest.mark.parametrize("future", [{"encoding": 1}, {"relation": 1}, {"dtype": 77}])
def test_rows_of_another_encoding_relation_or_type_are_refused(tmp_path, future):
    section = {"kind": rw.ROWS, "dtype": 1, "count": 2, "size": 8, "data": bytes(8), **future}
    with pytest.raises(gz.FormatError, match="section 0"):
        open_matrix(tmp_path, [rw.Section(**section)])


def test_a_section_of_the_other_kind_of_file_is_refused(tmp_path):
    with pytest.raises(gz.FormatError, match="section 4"):
        gz.Graph(rw.topology(3, EDGES, extra=[ROWS]).write(tmp_path / "g.gl"))


def test_a_section_that_occurs_twice_is_refused(tmp_path):
    with pytest.raises(gz.FormatError, match="two rows sections"):
        open_matrix(tmp_path, [ROWS, ROWS])


def test_a_relation_that_may_be_ignored_leaves_the_graph_readable(tmp_path):
    extra = rw.array_section(16, np.zeros(4, np.uint64), relation=1, must_understand=False)
    path = rw.topology(3, EDGES, extra=[extra]).write(tmp_path / "g.gl")
    graph = gz.Graph(path, verify=True)
    assert graph.get_neighbours(0).tolist() == [1, 2]


def test_a_reader_from_before_schemas_refuses_a_typed_graph_by_name(tmp_path):
    """It does not know the kind of the section, and must: as this reader does not know kind 99."""
    types = [rw.NodeType("a", 3), rw.NodeType("b", 3)]
    relations = [rw.Relation(0, "r", 1, EDGES)]
    written = rw.typed_topology(types, relations).bytes()
    assert struct.unpack_from("<II", written, rw.HEADER.size) == (rw.SCHEMA, 1)  # must understand
    sections = [
        rw.Section(99, rw.DTYPES["uint8"], 3, 3, b"abc"),
        *rw.relation_sections(0, relations[0], types),
    ]
    properties = struct.pack("<4Q", 6, 6, 3, 3)
    image = rw.container(rw.TOPOLOGY_MAGIC, properties, sections)
    with pytest.raises(gz.FormatError, match=r"section 0 \(kind 99\).*a newer one may read it"):
        gz.Graph(image.write(tmp_path / "g.gl"))


def test_a_reader_from_before_schemas_refuses_other_relations_too(tmp_path):
    extra = rw.array_section(16, np.zeros(4, np.uint64), relation=1)
    with pytest.raises(gz.FormatError, match=r"section 4.*relation 1.*a newer one may read it"):
        gz.Graph(rw.topology(3, EDGES, extra=[extra]).write(tmp_path / "g.gl"))


def test_times_are_part_of_version_1(tmp_path):
    edges = rw.Edges(src=[0, 0, 2], dst=[1, 2, 0], times=[30, -20, 10])
    path = rw.topology(3, edges).write(tmp_path / "g.gl")
    assert gz.Graph(path, verify=True)._file.topology.has_times


@pytest.mark.parametrize("values", [np.array([[1]], np.int64), np.array([1.0], np.float32)])
def test_a_list_of_ids_is_one_dimension_of_integers(tmp_path, values):
    with pytest.raises(gz.FormatError, match="int32 or int64 of 1 dimension"):
        gz.FeatureStore(rw.matrix(values, role="ids").write(tmp_path / "x.gd"))


@pytest.mark.parametrize(
    ("rows", "cols", "stride", "ndim"),
    [
        (2, 0, 4, 2),
        (2, 2, 8, 1),
        (2, 1, 2, 1),
        (2, 1, 6, 1),
        (3, 1, 4, 1),
        (2, 1, 4, 3),
        (2, 1, 4, 0),
    ],
)
def test_properties_that_contradict_the_section_are_refused(tmp_path, rows, cols, stride, ndim):
    properties = struct.pack("<QQQII", rows, cols, stride, ndim, 0)
    image = rw.container(rw.MATRIX_MAGIC, properties, [ROWS])
    with pytest.raises(gz.FormatError):
        gz.FeatureStore(image.write(tmp_path / "x.gd"))


def test_an_empty_graph_and_an_empty_matrix_are_files_too(tmp_path):
    graph = gz.Graph(rw.topology(0, rw.Edges(src=[], dst=[])).write(tmp_path / "g.gl"), verify=True)
    assert (graph.num_nodes, graph.num_edges) == (0, 0)
    with pytest.raises(IndexError, match="there are no rows"):
        graph.get_degree(0)
    empty = rw.matrix(np.zeros((0, 3), np.float32)).write(tmp_path / "x.gd")
    assert gz.FeatureStore(empty, verify=True).get_tensor().shape == (0, 3)


@pytest.mark.parametrize("name", ["graphzero02.gl", "graphzero02_weighted.gl", "graphzero02.gd"])
@pytest.mark.parametrize("more", [1, 64])
def test_a_file_of_graphzero_02_that_is_longer_than_it_says_is_refused(tmp_path, name, more):
    file = tmp_path / name
    file.write_bytes((GOLDEN / name).read_bytes() + bytes(more))
    with pytest.raises(gz.FormatError, match="as the header says; the file is damaged"):
        open_file(file)
