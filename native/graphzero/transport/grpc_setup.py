"""How gRPC is set up in trainers and in the daemon.

gRPC takes settings that hold for a whole process from environment variables, which it reads once,
while it is loaded. They are set for that moment only, and only in the C library's environment:
os.environ never has them, and programs that are started later do not inherit them.
"""

import importlib.metadata
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# With its event engine, gRPC reads a message on one thread and wakes another to hand it over, and a
# trainer that waits for a small batch waits for each of them. Without it, the thread that waits for
# messages reads them itself: p50 of a small request was 1.06 ms with it, 0.96 without it in the
# daemon and 0.93 without it in both, and large batches took 8 % less CPU time (2 cores, medians of
# interleaved turns).
_PARTS = ("client", "listener", "for_all_other_endpoints", "callback_cq")
_WITHOUT_EVENT_ENGINE = ",".join(f"-event_engine_{part}" for part in _PARTS)
# Releases from the first to before the second know these names; others complain on stderr.
_FIRST, _AFTER_LAST = (1, 80), (1, 86)

_loading = threading.RLock()

# A peer on another machine can vanish silently: after this time without a message it is pinged, and
# after the same time without an answer the connection counts as broken.
_TCP_KEEPALIVE_MS = 60_000
# A server that is pinged more often than this takes it for an attack.
_LEAST_KEEPALIVE_MS = 10_000
_NEVER_MS = 2**31 - 1

# For every channel and server. Nothing is sent compressed here, and gRPC would decompress a message
# before it compares the size with the limit, and before anyone looks at the token: 400 KB that a
# stranger sends could take 400 MB of memory. With this option, gRPC hands compressed bytes over as
# they are, and they fail to decode. It is not enough to forbid the algorithms
# (grpc.compression_enabled_algorithms_bitset): short messages were still decompressed.
NO_DECOMPRESSION = ("grpc.per_message_decompression", 0)


def import_grpc() -> Any:
    """The module `grpc`. All of this package gets it from this function.

    Variables that the user has set are kept. If the program has loaded gRPC before, its settings
    are kept too: everything works, only slower. Settings hold for all of gRPC in this process.
    """
    with _loading, _set_for_a_moment({} if "grpc" in sys.modules else _settings()):
        import grpc
    return grpc


def keepalive_options(*, is_socket: bool) -> list[tuple[str, int]]:
    """Options for a channel to a daemon, and for a server.

    On a Unix socket nobody is pinged: the kernel tells when the other process is gone, and a
    process that does not answer is only stopped, by SIGSTOP or a closed laptop. A server that
    pinged, as gRPC does by default to measure the bandwidth, ended the sessions of trainers that
    stood still for a minute.
    """
    if is_socket:
        return [("grpc.keepalive_time_ms", _NEVER_MS)]
    return [
        ("grpc.keepalive_time_ms", _TCP_KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _TCP_KEEPALIVE_MS),
        ("grpc.http2.ping_timeout_ms", _TCP_KEEPALIVE_MS),
        # Both sides may ping this often even if a session sends nothing for hours.
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_ping_interval_without_data_ms", _LEAST_KEEPALIVE_MS),
    ]


def _settings() -> dict[str, str]:
    # gRPC's own handlers for fork() do not help, write to stderr whenever a program forks, and have
    # crashed children.
    settings = {"GRPC_ENABLE_FORK_SUPPORT": "0"}
    if _FIRST <= _grpcio_version() < _AFTER_LAST:
        settings["GRPC_EXPERIMENTS"] = _WITHOUT_EVENT_ENGINE
    return settings


@contextmanager
def _set_for_a_moment(settings: dict[str, str]) -> Iterator[None]:
    missing = [name for name in settings if name not in os.environ]
    for name in missing:
        os.putenv(name, settings[name])
    try:
        yield
    finally:
        for name in missing:
            if name in os.environ:  # the program has set it meanwhile
                os.putenv(name, os.environ[name])
            else:
                os.unsetenv(name)


def _grpcio_version() -> tuple[int, int]:
    """Major and minor; (0, 0) if they are not known."""
    try:
        major, minor, *_ = importlib.metadata.version("grpcio").split(".")
        return int(major), int(minor)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return 0, 0
