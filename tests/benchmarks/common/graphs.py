"""The graphs that every peer samples: undirected R-MAT, generated once, stored in every form.

A folder holds graph.gl (this project), indptr.npy and indices.npy (everyone else), and seeds.npy:
nodes with edges, in random order.
"""

import ctypes
import mmap
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import graphzero as gz
import numpy as np
from graphzero import _engine

HERE = Path(__file__).parent
SEEDS = 400_000


@dataclass(frozen=True)
class Shape:
    """A graph of 2**scale nodes; every input edge is stored in both directions."""

    name: str
    scale: int
    input_edges: int


SHAPES = {
    "tiny": Shape("65k/1M", 16, 1 << 19),
    "quick": Shape("260k/8M", 18, 4_000_000),
    "small": Shape("2M/60M", 21, 30_500_000),
    "large": Shape("16M/250M", 24, 126_000_000),
}


def build_library(source: Path, directory: Path) -> Path:
    """Compiles one C++ file into a shared library."""
    library = directory / f"{source.stem}.so"
    flags = ["-std=c++20", "-O3", "-fopenmp", "-shared", "-fPIC"]
    subprocess.run(["c++", *flags, str(source), "-o", str(library)], check=True)
    return library


def rmat_edges(shape: Shape, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    src = np.empty(shape.input_edges, np.uint32)
    dst = np.empty(shape.input_edges, np.uint32)
    with tempfile.TemporaryDirectory() as directory:
        library = ctypes.CDLL(str(build_library(HERE / "rmat.cpp", Path(directory))))
        library.FillRmat(
            ctypes.c_uint64(shape.input_edges),
            ctypes.c_uint(shape.scale),
            ctypes.c_uint64(seed),
            src.ctypes.data_as(ctypes.c_void_p),
            dst.ctypes.data_as(ctypes.c_void_p),
        )
    return src, dst


def generate(shape: Shape, directory: Path) -> None:
    """Writes the folder of a graph, unless it is there."""
    if (directory / "seeds.npy").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "graph.gl"
    src, dst = rmat_edges(shape)
    gz.write_graph(path, src, dst, num_nodes=1 << shape.scale, undirected=True, overwrite=True)
    del src, dst
    indptr, indices = stored_arrays(path)
    np.save(directory / "indptr.npy", indptr.astype(np.int64))
    np.save(directory / "indices.npy", indices.astype(np.int64))
    connected = np.flatnonzero(np.diff(indptr.astype(np.int64)))
    seeds = np.random.default_rng(1).permutation(connected)[:SEEDS]
    np.save(directory / "seeds.npy", np.resize(seeds, SEEDS))


def stored_arrays(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """indptr and indices as the file stores them."""
    sections = {s.name: s for s in _engine.Topology.open(str(path)).sections}
    arrays = []
    for name in ("out.indptr", "out.indices"):
        section = sections[name]
        arrays.append(
            np.memmap(path, section.dtype, "r", offset=section.offset, shape=(section.count,))
        )
    return arrays[0], arrays[1]


def warm(path: Path) -> int:
    """Brings a file into the page cache in order and on huge pages, where the kernel can.

    Returns the bytes that this process has mapped with huge pages.
    """
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            mapped.madvise(mmap.MADV_HUGEPAGE)
            view = np.frombuffer(mapped, np.uint8)
            int(view[:: mmap.PAGESIZE].sum())
            huge = huge_bytes(path)
            del view
    return huge


def huge_bytes(path: Path) -> int:
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            inside = line.endswith(str(path))
        elif inside and line.startswith("FilePmdMapped:"):
            return int(line.split()[1]) * 1024
    return 0
