"""The worked example of FORMAT.md is the file that writers make."""

from pathlib import Path

import graphzero as gz
import reference_writer as rw
from hexdump import hexdump

DOCUMENT = Path(__file__).parents[2] / "native" / "store" / "FORMAT.md"


def worked_example() -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    return text.split("## A worked example", 1)[1].split("```")[1].strip()


def test_reference_writer_makes_the_worked_example():
    image = rw.topology(3, rw.Edges(src=[0, 0, 2], dst=[1, 2, 0]), directions=["out"])
    assert hexdump(image.bytes()) == worked_example()


def test_write_graph_makes_the_worked_example(tmp_path):
    gz.write_graph(tmp_path / "g.gl", [0, 0, 2], [1, 2, 0], direction="out")
    assert hexdump((tmp_path / "g.gl").read_bytes()) == worked_example()


def test_header_and_entry_have_the_documented_sizes():
    assert (rw.HEADER.size, rw.ENTRY.size) == (256, 96)
