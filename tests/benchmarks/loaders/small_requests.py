"""Latency of the smallest useful request, and of gRPC alone: `small_requests.py ADDRESS COUNT`.

A call of gRPC's health service is answered by the same daemon at once: what a round trip costs
before anything is sampled.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import graphzero as gz
import numpy as np
from graphzero.client.daemon.daemon_calls import open_calls

FIRST = 100  # not counted


def percentiles(call: Callable[[int], Any], count: int) -> tuple[float, float]:
    """Of calls one after the other, in milliseconds: the median, and what 99 % stay below."""
    seconds = []
    for number in range(count + FIRST):
        started = time.perf_counter()
        call(number)
        seconds.append(time.perf_counter() - started)
    p50, p99 = np.percentile(seconds[FIRST:], [50, 99]) * 1000
    return float(p50), float(p99)


def main() -> None:
    address, count = sys.argv[1], int(sys.argv[2])
    with gz.connect(address) as client, open_calls(address) as calls:
        nodes = client.info().dataset.num_nodes
        p50, p99 = percentiles(lambda number: client.sample([number % nodes], [5]), count)
        grpc, _ = percentiles(lambda _: calls.require_serving(), count)
    print(json.dumps({"p50_ms": p50, "p99_ms": p99, "grpc_ms": grpc}))


if __name__ == "__main__":
    main()
