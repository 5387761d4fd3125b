"""The graphs that every peer samples: undirected R-MAT, stored once and read by all."""

import ctypes
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Shape:
    """A graph of 2**scale nodes; every input edge is stored in both directions."""

    name: str
    scale: int
    input_edges: int


SHAPES = {
    "tiny": Shape("tiny", 12, 1 << 15),
    "small": Shape("2M/60M", 21, 30_500_000),
    "large": Shape("16M/250M", 24, 126_000_000),
}


def compile_library(source: str, directory: Path) -> ctypes.CDLL:
    """Builds one C++ file of this folder into a shared library and loads it."""
    library = directory / f"{Path(source).stem}.so"
    if not library.exists():
        flags = ["-std=c++20", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
        subprocess.run(["c++", *flags, str(HERE / source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def rmat_edges(shape: Shape, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    src = np.empty(shape.input_edges, np.uint32)
    dst = np.empty(shape.input_edges, np.uint32)
    with tempfile.TemporaryDirectory() as directory:
        compile_library("rmat.cpp", Path(directory)).FillRmat(
            ctypes.c_uint64(shape.input_edges),
            ctypes.c_uint(shape.scale),
            ctypes.c_uint64(seed),
            src.ctypes.data_as(ctypes.c_void_p),
            dst.ctypes.data_as(ctypes.c_void_p),
        )
    return src, dst
