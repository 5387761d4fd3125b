"""The worked examples of FORMAT.md are what writers make."""

from pathlib import Path

import graphzero as gz
import numpy as np
import reference_writer as rw
from graphzero import _engine
from hexdump import hexdump

DOCUMENT = Path(__file__).parents[2] / "native" / "store" / "FORMAT.md"


def example(heading: str) -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    return text.split(f"## {heading}\n", 1)[1].split("```")[1].strip()


def worked_example() -> str:
    return example("A worked example")


def test_reference_writer_makes_the_worked_example():
    image = rw.topology(3, rw.Edges(src=[0, 0, 2], dst=[1, 2, 0]), directions=["out"])
    assert hexdump(image.bytes()) == worked_example()


def test_write_graph_makes_the_worked_example(tmp_path):
    gz.write_graph(tmp_path / "g.gl", [0, 0, 2], [1, 2, 0], direction="out")
    assert hexdump((tmp_path / "g.gl").read_bytes()) == worked_example()


# Users 0, 2 and 2 bought items 1, 0 and 1.
TYPES = [rw.NodeType("user", 3), rw.NodeType("item", 2, times=[5, 7])]
BOUGHT = rw.Edges([0, 2, 2], [1, 0, 1], times=[9, 6, 8])


def test_reference_writer_makes_the_worked_schema():
    schema = rw.schema_bytes(TYPES, [rw.Relation(0, "buys", 1, BOUGHT)], [rw.View("bought_by", 0)])
    assert hexdump(schema) == example("A worked schema")


def test_the_compiler_makes_the_worked_schema_without_slot_times(tmp_path):
    path = tmp_path / "g.gl"
    edges = _engine.EdgeInput.arrays(
        "edges",
        *(np.array(a, np.int64) for a in (BOUGHT.src, BOUGHT.dst)),
        None,
        np.array(BOUGHT.times, np.int64),
    )
    _engine.compile_typed_topology(
        str(path),
        types=[
            _engine.TypeSpec.make("user", 3),
            _engine.TypeSpec.make("item", 2, np.array([5, 7], np.int64)),
        ],
        relations=[_engine.RelationSpec.make(0, "buys", 1, edges)],
        views=[("bought_by", 0)],
        resources=_engine.Resources.make(memory=64 << 20, threads=1, temp_dir=str(tmp_path)),
    )
    sections = _engine.Topology.open(str(path)).sections
    schema = sections[0]
    assert schema.name == "schema"
    data = path.read_bytes()[schema.offset : schema.offset + schema.stored_bytes]
    assert hexdump(data) == example("A worked schema")
    assert not [s for s in sections if s.name.endswith("slot_times")]


def test_header_entry_and_records_have_the_documented_sizes():
    assert (rw.HEADER.size, rw.ENTRY.size) == (256, 96)
    assert (rw.SCHEMA_HEAD.size, rw.TYPE_RECORD.size, rw.RELATION_RECORD.size) == (16, 32, 64)
    assert rw.QUANTISATION_HEAD.size == 32


QUANTISED_VALUES = np.array([[0, -1], [0.25, 1], [1, 0.5]], np.float32)


def test_reference_writer_makes_the_worked_quantisation():
    made = rw.quantised(QUANTISED_VALUES)
    assert hexdump(made.section) == example("A worked quantisation")
    assert made.codes.tolist() == [[0, 0], [64, 255], [255, 191]]


def test_write_features_makes_the_worked_quantisation(tmp_path):
    gz.write_features(tmp_path / "x.gd", QUANTISED_VALUES, dtype="q8")
    (section, rows, _) = _engine.Matrix.open(str(tmp_path / "x.gd")).sections
    data = (tmp_path / "x.gd").read_bytes()
    found = data[section.offset : section.offset + section.stored_bytes]
    assert hexdump(found) == example("A worked quantisation")
    assert data[rows.offset : rows.offset + 6] == bytes([0, 0, 64, 255, 255, 191])
