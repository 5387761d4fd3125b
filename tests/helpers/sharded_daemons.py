"""A dataset dealt to parts, and a daemon for each of them on a port of this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import graphzero as gz


def free_ports(count: int) -> list[int]:
    """That nobody listens on at this moment."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def deal(dataset: Path, out: Path, parts: int, **options: Any) -> list[Path]:
    """All columns that can be dealt, in small blocks."""
    return list(
        gz.shard_dataset(dataset, out, parts, **{"threshold": 1, "block_rows": 7, **options}).parts
    )


def start_parts(
    start_daemon: Callable[..., Any], parts: Sequence[Path], *options: str, **rest: Any
) -> list[Any]:
    """A daemon for each part, all of which know all addresses."""
    ports = free_ports(len(parts))
    peers = ",".join(f"127.0.0.1:{port}" for port in ports)
    return [
        start_daemon(part, "--listen", f"127.0.0.1:{port}", "--peers", peers, *options, **rest)
        for part, port in zip(parts, ports, strict=True)
    ]
