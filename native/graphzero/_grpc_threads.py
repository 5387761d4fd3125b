"""How gRPC is set up in trainers and in the daemon: by its environment, before it is imported."""

import importlib.metadata
import os

# With its event engine, gRPC reads a message on one thread and wakes another to hand it over, and a
# trainer that waits for a small batch waits for each of them. Without it, the thread that waits for
# messages reads them itself: p50 of a small request was 1.06 ms with it, 0.96 without it in the
# daemon and 0.93 without it in both, and large batches took 8 % less CPU time (2 cores, medians of
# interleaved turns).
_PARTS = ("client", "listener", "for_all_other_endpoints", "callback_cq")
_WITHOUT_EVENT_ENGINE = ",".join(f"-event_engine_{part}" for part in _PARTS)
# Releases that know these names; others would complain of them on stderr.
_FIRST, _AFTER_LAST = (1, 80), (1, 86)


def prepare_grpc() -> None:
    """What the user has set stands. Where gRPC is loaded already, nothing changes.

    It holds for all of gRPC in this process and for programs that it starts.
    """
    # gRPC's own handlers for fork() do not help, write to stderr whenever a program forks, and have
    # crashed children.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    if _FIRST <= _grpcio_version() < _AFTER_LAST:
        os.environ.setdefault("GRPC_EXPERIMENTS", _WITHOUT_EVENT_ENGINE)


def _grpcio_version() -> tuple[int, int]:
    """Major and minor; (0, 0) where it cannot be told."""
    try:
        major, minor, *_ = importlib.metadata.version("grpcio").split(".")
        return int(major), int(minor)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return 0, 0
