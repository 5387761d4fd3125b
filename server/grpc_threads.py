"""How gRPC reads its sockets in the daemon."""

import importlib.metadata
import os

# With its event engine, gRPC reads a message on one thread and wakes another to hand it over, and a
# trainer that waits for a small batch waits for each of them. Without it, the thread that waits for
# messages reads them itself: p50 of a small request was 1.06 ms with it and 0.96 without, and large
# batches took 8 % less CPU time (2 cores, medians of turns).
_PARTS = ("client", "listener", "for_all_other_endpoints", "callback_cq")
_WITHOUT_EVENT_ENGINE = ",".join(f"-event_engine_{part}" for part in _PARTS)
# Releases that know these names; others would complain of them in the daemon's log.
_FIRST, _AFTER_LAST = (1, 80), (1, 86)


def prepare_grpc() -> None:
    """To be called before gRPC is imported. A choice that the user made in the environment stands.

    Only for the daemon: in a trainer, gRPC belongs to everyone in the process.
    """
    version = importlib.metadata.version("grpcio").split(".")
    if _FIRST <= (int(version[0]), int(version[1])) < _AFTER_LAST:
        os.environ.setdefault("GRPC_EXPERIMENTS", _WITHOUT_EVENT_ENGINE)
