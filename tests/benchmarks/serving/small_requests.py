"""Latency of the smallest useful request: `python small_requests.py ADDRESS COUNT`."""

import json
import sys
import time

import graphzero as gz
import numpy as np


def main() -> None:
    client = gz.connect(sys.argv[1])
    count = int(sys.argv[2])
    seconds = []
    for node in range(count + 100):
        started = time.perf_counter()
        client.sample([node], [5])
        seconds.append(time.perf_counter() - started)
    p50, p99 = np.percentile(seconds[100:], [50, 99]) * 1000
    print(json.dumps({"p50_ms": p50, "p99_ms": p99}))


main()
