"""gzip and Zstandard text gives the very bytes that the plain text gives."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from edge_reference import EdgeList, ample, compile_file, compile_text, edge_lines, tiny
from graphzero import InputError
from graphzero.conversion.compile_column import ColumnRequest, compile_column
from graphzero.conversion.compile_graph import GraphOptions

Compress = Callable[[bytes], bytes]


def gzip_members(data: bytes) -> bytes:
    """Several members one after the other, cut in the middle of lines, and padding."""
    third = len(data) // 3
    parts = data[:third], data[third : 2 * third], b"", data[2 * third :]
    return b"".join(map(gzip.compress, parts)) + b"\0" * 600


def zstd_frames(data: bytes) -> bytes:
    half = len(data) // 2
    compressor = zstandard.ZstdCompressor()
    return compressor.compress(data[:half]) + compressor.compress(data[half:])


COMPRESSIONS = [
    pytest.param(gzip.compress, id="gzip"),
    pytest.param(gzip_members, id="gzip-members"),
    pytest.param(zstandard.ZstdCompressor().compress, id="zstd"),
    pytest.param(zstd_frames, id="zstd-frames"),
]


@pytest.fixture(scope="module")
def many_edges() -> EdgeList:
    """Text of several chunks."""
    rng = np.random.default_rng(0)
    return EdgeList.make(*rng.integers(0, 50_000, (2, 120_000)), rng.random(120_000))


@pytest.mark.parametrize("compress", COMPRESSIONS)
@pytest.mark.parametrize("threads", [1, 4])
def test_edges_are_those_of_the_plain_text(
    tmp_path: Path, many_edges: EdgeList, compress: Compress, threads: int
) -> None:
    text = ("source,target,weight\n" + edge_lines(many_edges)).encode()
    options = GraphOptions(edge_ids=True)
    plain = compile_text(tmp_path, text, options, resources=ample(tmp_path))
    packed = compile_text(
        tmp_path, compress(text), options, resources=ample(tmp_path, threads=threads)
    )
    assert packed == plain


def test_ids_beyond_32_bits_read_the_stream_again(tmp_path: Path) -> None:
    """They come late, so the first pass begins with narrow records and starts over."""
    lines = "".join(f"{i},{i + 1}\n" for i in range(60_000)) + f"1,{2**32 + 5}\n"
    with pytest.raises(InputError, match=r"largest node id is 4294967301 but .* only 60001 edges"):
        compile_text(tmp_path, gzip.compress(lines.encode()), GraphOptions(direction="out"))


@pytest.mark.parametrize("compress", COMPRESSIONS)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, compress: Compress) -> None:
    lines = [f"{i},{i + 1}" for i in range(70_000)]
    lines[60_000] = "7,x"
    with pytest.raises(InputError, match=r"edges\.csv line 60001: found target \"x\""):
        compile_text(tmp_path, compress("\n".join(lines).encode()))


def test_skipped_lines_are_counted_and_shown(tmp_path: Path) -> None:
    lines = [f"{i},{i + 1}" for i in range(70_000)]
    lines[3] = "bad"
    lines[65_000] = "1,2,3"
    done = compile_text(tmp_path, gzip.compress("\n".join(lines).encode()), skip_errors=True)
    assert done.report.skipped == 2
    assert [m.split(": ")[0].rpartition(" ")[2] for m in done.report.messages] == ["4", "65001"]


def random_lines() -> bytes:
    ends = np.random.default_rng(0).integers(0, 1000, (9_000, 2))
    return b"".join(b"%d,%d\n" % (a, b) for a, b in ends.tolist())


@pytest.mark.parametrize("kept", [5, 100, -1, -8])
def test_a_gzip_file_cut_short_is_named(tmp_path: Path, kept: int) -> None:
    data = gzip.compress(random_lines())
    with pytest.raises(InputError, match=r"edges\.csv: the gzip data ends too soon"):
        compile_text(tmp_path, data[:kept])


@pytest.mark.parametrize("kept", [6, 100, -1])
def test_a_zstd_file_cut_short_is_named(tmp_path: Path, kept: int) -> None:
    data = zstandard.ZstdCompressor().compress(random_lines())
    with pytest.raises(InputError, match=r"edges\.csv: the Zstandard data ends too soon"):
        compile_text(tmp_path, data[:kept])


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_damaged_data_is_named(tmp_path: Path, compress: Compress) -> None:
    data = bytearray(compress(random_lines()))
    data[len(data) // 2 : len(data) // 2 + 50] = b"\xff" * 50
    with pytest.raises(InputError, match=r"edges\.csv: damaged (gzip|Zstandard) data"):
        compile_text(tmp_path, bytes(data))


@pytest.mark.parametrize("compress", COMPRESSIONS)
@pytest.mark.parametrize("shuffled", [False, True])
def test_columns_are_those_of_the_plain_text(
    tmp_path: Path, compress: Compress, shuffled: bool
) -> None:
    rng = np.random.default_rng(1)
    ids = rng.permutation(30_000) if shuffled else np.arange(30_000)
    values = rng.random((30_000, 2)).tolist()
    lines = "".join(f"{i},{a:.4f},{b:.3e}\n" for i, (a, b) in zip(ids, values, strict=True))
    files = {"plain.csv": lines.encode(), "packed.csv": compress(lines.encode())}
    results = []
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        out = tmp_path / f"{name}.gd"
        compile_column(
            str(tmp_path / name),
            str(out),
            ColumnRequest(memory=64 << 20, threads=3, temp_dir=str(tmp_path)),
        )
        results.append(out.read_bytes())
    assert results[0] == results[1]


def test_a_repeated_id_in_compressed_text_names_both_lines(tmp_path: Path) -> None:
    lines = [f"{i},1" for i in range(50_000)]
    lines[49_000] = "17,1"
    (tmp_path / "x.csv").write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(InputError, match=r"x\.csv line 49001: node id 17 again, first on line 18"):
        compile_column(
            str(tmp_path / "x.csv"),
            str(tmp_path / "x.gd"),
            ColumnRequest(memory=64 << 20, threads=2, temp_dir=str(tmp_path)),
        )


def test_a_long_comment_and_a_byte_order_mark_come_before_the_data(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + b"# " + b"x" * 400_000 + b"\nsource,target\n0,1\n2,0\n"
    plain = compile_text(tmp_path, text)
    assert compile_text(tmp_path, gzip.compress(text)) == plain
    assert plain.report.num_edges == 2


def test_little_memory_gives_the_same_file(tmp_path: Path, many_edges: EdgeList) -> None:
    source = tmp_path / "edges.csv.gz"
    source.write_bytes(gzip.compress(edge_lines(many_edges).encode()))
    little = compile_file(source, resources=tiny(tmp_path, 2, 1 << 20))
    assert little.data == compile_file(source).data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bz2.compress(b"0,1\n"), "found bzip2 data, expected text"),
        (lzma.compress(b"0,1\n"), "found xz data, expected text"),
        (b"PK\x03\x04 and more", "found a zip archive, expected text; unpack it"),
        (b"PAR1 and more", r"found a Parquet file, expected text; name it \.parquet"),
        (b"\x93NUMPY\x01\x00", r"found a NumPy array, expected text; name it \.npy"),
        ("0,1\n".encode("utf-16"), "found UTF-16, expected UTF-8; convert the file"),
    ],
)
def test_what_is_no_text_is_told(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "e.csv").write_bytes(data)
    with pytest.raises(InputError, match=rf"e\.csv: {message}"):
        compile_file(tmp_path / "e.csv")


def test_a_folder_without_tables_is_told(tmp_path: Path) -> None:
    (tmp_path / "e/year=2020").mkdir(parents=True)
    with pytest.raises(InputError, match=r"e: found a folder without a \.parquet, \.arrow, \.csv"):
        compile_file(tmp_path / "e")
