"""The worked example of FORMAT.md is the file that writers make."""

from pathlib import Path

import numpy as np
import reference_writer as rw
from graphzero import _engine
from hexdump import hexdump

DOCUMENT = Path(__file__).parents[2] / "native" / "store" / "FORMAT.md"


def worked_example() -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    return text.split("## A worked example", 1)[1].split("```")[1].strip()


def test_reference_writer_makes_the_worked_example():
    image = rw.topology(3, rw.Edges(src=[0, 0, 2], dst=[1, 2, 0]), directions=["out"])
    assert hexdump(image.bytes()) == worked_example()


def test_the_engine_writes_the_worked_example(tmp_path):
    path = tmp_path / "example.gl"
    _engine.compile_edges_arrays(
        "edges",
        np.array([0, 0, 2]),
        np.array([1, 2, 0]),
        None,
        str(path),
        options=_engine.TopologyOptions.make(
            undirected=False,
            symmetric_source=False,
            out=True,
            in_=False,
            dedup=False,
            edge_ids=False,
            num_nodes=None,
        ),
        resources=_engine.Resources.make(memory=64 << 20, threads=1, temp_dir=str(tmp_path)),
    )
    assert hexdump(path.read_bytes()) == worked_example()


def test_header_and_entry_have_the_documented_sizes():
    assert (rw.HEADER.size, rw.ENTRY.size) == (256, 96)
