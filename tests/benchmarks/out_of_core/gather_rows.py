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
    parser.add_argument("--warm-up", type=float, default=0.0, help="seconds, not counted")
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

    def gather_until(end: float) -> int:
        """How many batches one caller got."""
        out = np.empty((batch, *store.shape[1:]), np.float32)
        batches = 0
        while time.perf_counter() < end:
            ids = batch_ids(args.ids, store.num_nodes, next(numbers))[: args.batch]
            store.gather(ids, out=out, threads=threads)
            batches += 1
        return batches

    def gather_for(seconds: float) -> dict[str, float]:
        before = store._file.reader.stats()
        started = time.perf_counter()
        with ThreadPoolExecutor(args.callers) as pool:
            batches = sum(pool.map(gather_until, [started + seconds] * args.callers))
        taken = time.perf_counter() - started
        after = store._file.reader.stats()
        rows = max(batches, 1) * batch
        reads = after.reads - before.reads
        return {
            "batches": batches,
            "rows_per_second": rows / taken,
            "hits": after.cache_hits - before.cache_hits,
            "reads_per_row": reads / rows,
            "bytes_per_row": (after.read_bytes - before.read_bytes) / rows,
            "latency_us": (after.read_nanoseconds - before.read_nanoseconds) / max(reads, 1) / 1e3,
        }

    first = gather_for(args.warm_up)
    print(json.dumps({"warm_up": first, **gather_for(args.seconds)}))


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
