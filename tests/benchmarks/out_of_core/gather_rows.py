"""Gathers rows for some seconds in one way and prints what that gave, as JSON."""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import mmap
import os
import time
from concurrent.futures import ThreadPoolExecutor

import graphzero as gz
import numpy as np
from row_ids import BATCH, batch_ids


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--way", required=True, help="cached, direct, mmap or mmap-random")
    parser.add_argument("--ids", default="uniform", choices=["uniform", "zipf"])
    parser.add_argument("--row-cache", type=int, default=0)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--callers", type=int, default=1, help="threads that gather batches")
    args = parser.parse_args()

    mapped = args.way.startswith("mmap")
    store = gz.FeatureStore(
        args.file, io="mapped" if mapped else args.way, row_cache=args.row_cache
    )
    if mapped:
        advise(store.get_tensor(), args.way)
    batch = len(batch_ids(args.ids, store.num_nodes, 0)[: args.batch])
    threads = len(os.sched_getaffinity(0))
    numbers = itertools.count()
    started = time.perf_counter()

    def work(_: int) -> int:
        out = np.empty((batch, *store.shape[1:]), np.float32)
        batches = 0
        while time.perf_counter() - started < args.seconds:
            ids = batch_ids(args.ids, store.num_nodes, next(numbers))[: args.batch]
            store.gather(ids, out=out, threads=threads)
            batches += 1
        return batches

    with ThreadPoolExecutor(args.callers) as pool:
        batches = sum(pool.map(work, range(args.callers)))
    seconds = time.perf_counter() - started
    stats = store._rows.stats()
    rows = batches * batch
    print(
        json.dumps(
            {
                "rows_per_second": rows / seconds,
                "batches": batches,
                "hit_rate": stats.cache_hits / rows,
                "reads": stats.reads,
                "bytes_per_row": stats.read_bytes / rows,
                "latency_us": stats.read_nanoseconds / max(stats.reads, 1) / 1000,
            }
        )
    )


def advise(array: np.ndarray, way: str) -> None:
    """The advice that the kernel has for this mapping, whatever the engine gave before."""
    advice = mmap.MADV_RANDOM if way == "mmap-random" else mmap.MADV_NORMAL
    begin = array.ctypes.data // mmap.PAGESIZE * mmap.PAGESIZE
    length = array.ctypes.data + array.nbytes - begin
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(length), advice):
        raise OSError(ctypes.get_errno(), "madvise")


if __name__ == "__main__":
    main()
