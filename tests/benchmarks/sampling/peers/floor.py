"""The straightforward implementation of floor.cpp, given as a library in argument 5."""

import ctypes
import sys

import numpy as np
from measure import (
    FANOUT,
    LENGTH,
    NODE2VEC,
    ONE_HOP,
    ONE_HOP_SEEDS,
    WALKERS,
    Arguments,
    batch,
    report,
)

arguments = Arguments.read()
library = ctypes.CDLL(sys.argv[5])
library.FloorMultiHop.restype = ctypes.c_uint64
indptr, indices, seeds = (arguments.load(name) for name in ("indptr", "indices", "seeds"))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def hops(chosen: np.ndarray, fanout: list[int], number: int) -> tuple[int, int]:
    nodes = ctypes.c_uint64()
    edges = library.FloorMultiHop(
        pointer(indptr),
        pointer(indices),
        pointer(chosen),
        ctypes.c_uint64(len(chosen)),
        pointer(np.array(fanout, np.int64)),
        ctypes.c_uint64(len(fanout)),
        ctypes.c_uint64(number),
        ctypes.byref(nodes),
    )
    return edges, nodes.value


def steps(p: float, q: float, number: int) -> tuple[int, int]:
    out = np.empty((WALKERS, LENGTH + 1), np.int64)
    library.FloorWalk(
        pointer(indptr),
        pointer(indices),
        pointer(seeds),
        ctypes.c_uint64(WALKERS),
        ctypes.c_uint64(LENGTH),
        ctypes.c_double(p),
        ctypes.c_double(q),
        ctypes.c_uint64(number),
        ctypes.c_int(arguments.threads),
        pointer(out),
    )
    return WALKERS * LENGTH, 0


report("multi_hop", lambda n: hops(batch(seeds, n), FANOUT, n), arguments)
report("one_hop", lambda n: hops(seeds[:ONE_HOP_SEEDS], [ONE_HOP], n), arguments)
report("walk", lambda n: steps(1.0, 1.0, n), arguments)
report("node2vec", lambda n: steps(NODE2VEC["p"], NODE2VEC["q"], n), arguments)
