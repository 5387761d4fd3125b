from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero.base.quantities import parse_count, parse_size
from graphzero.base.resources import make_resources


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("128", 128),
        ("500k", 500_000),
        ("20M", 20_000_000),
        ("1.5M", 1_500_000),
        ("0.1G", 100_000_000),
        ("3B", 3_000_000_000),
        ("2T", 2_000_000_000_000),
    ],
)
def test_count_units_are_powers_of_a_thousand(text: str, value: int) -> None:
    assert parse_count(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("4096", 4096), ("1k", 1024), ("512M", 512 << 20), ("1.5G", 3 << 29)]
)
def test_size_units_are_powers_of_1024(text: str, value: int) -> None:
    assert parse_size(text) == value


@pytest.mark.parametrize("text", ["", "M", "-1", "1e6", "1,000", "10X", "1 M", "1.", ".5M", "٣"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a count such as 500k or 20M"):
        parse_count(text)
    with pytest.raises(ValueError, match=r"expected a size such as 512M or 4G"):
        parse_size(text)


@pytest.mark.parametrize("memory", ["128M", 128 << 20, np.int64(128 << 20)])
def test_memory_is_a_number_of_bytes_or_a_text(tmp_path: Path, memory: Any) -> None:
    assert make_resources(memory, 1, tmp_path).memory == 128 << 20
    edges = tmp_path / "edges.csv"
    edges.write_text("0,1\n1,2\n")
    assert gz.import_files(edges, tmp_path / "ds", memory=memory).graph.num_edges == 2


@pytest.mark.parametrize(
    ("memory", "error", "found"),
    [
        ("lots", ValueError, "'lots'"),
        (-1, ValueError, "-1"),
        (1e9, TypeError, "1000000000.0"),
        (1 << 70, ValueError, str(1 << 70)),
        ("99999999T", ValueError, "99999999T"),
    ],
)
def test_other_memory_is_refused_by_name(
    tmp_path: Path, memory: Any, error: type[Exception], found: str
) -> None:
    (tmp_path / "edges.csv").write_text("0,1\n")
    with pytest.raises(error, match=f"^memory: found {found}, expected"):
        gz.import_files(tmp_path / "edges.csv", tmp_path / "ds", memory=memory)
    assert not (tmp_path / "ds").exists()
