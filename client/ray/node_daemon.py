"""`NodeDaemon`, the actor of one node: brings the dataset there, starts and watches its daemon."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from graphzero.client.connection.address import Address
from graphzero.client.connection.stream import list_datasets
from graphzero.client.daemon.launch import ensure_daemon, let_reload
from graphzero.client.errors import StartFailed
from graphzero.files.dataset import open_dataset
from graphzero.files.paths import datasets

log = logging.getLogger(__name__)

START_TIMEOUT_S = 60.0
_WATCH_S = 1.0
_RETRY_S = 10.0


@dataclass(frozen=True)
class DaemonPlan:
    """What every node is to have; graphzero.ray.Daemons says what the fields mean."""

    source: str
    directory: str | None
    options: tuple[str, ...] = ()
    fetch_options: Mapping[str, Any] = field(default_factory=dict)

    def data_on(self, node_id: str) -> Path:
        """Where that node has the dataset."""
        if self.directory is None:
            return Path(self.source)
        return Path(self.directory.replace("{node}", node_id))


class NodeDaemon:
    """Runs on its node only. Ray starts it anew if its process dies, and with it the daemon.

    The daemon ends with this process. If there is one for that directory already, of another job
    for instance, that one is used, and told to read the directory anew if another version is there
    by now; when it ends, one is started here.
    """

    def __init__(self, plan: DaemonPlan) -> None:
        self._plan = plan
        self._data = plan.data_on(ray.get_runtime_context().get_node_id())
        self._prepared = False
        # Ray allows a worker without processors of its own one thread of OpenMP. The daemon is
        # meant to use the machine, as far as its options let it.
        os.environ.pop("OMP_NUM_THREADS", None)
        # One thread starts all daemons, since they end with the thread that started them, and takes
        # one order at a time.
        self._orders = ThreadPoolExecutor(max_workers=1, thread_name_prefix="graphzero-daemon")
        threading.Thread(target=self._watch, name="graphzero-watch", daemon=True).start()

    def address(self) -> str:
        """Where the daemon of this node answers; returns when it does. Raises the error that kept
        the data from coming or the daemon from starting; the next call tries again."""
        return self._orders.submit(self._ensure).result()

    def _ensure(self) -> str:
        if not self._prepared and self._plan.directory is not None:
            fetch(self._plan.source, self._data, self._plan.fetch_options)
        found = ensure_daemon(
            self._data, timeout=START_TIMEOUT_S, options=self._plan.options, tied=True
        )
        if not self._prepared:
            require_present_version(found, self._data)
        self._prepared = True
        return str(found)

    def _watch(self) -> None:
        pause = threading.Event()
        said = ""
        while True:
            wait = _WATCH_S
            try:
                self.address()
                said = ""
            except Exception as error:  # callers of address() get it too, and later it may work
                wait = _RETRY_S
                if str(error) != said:
                    said = str(error)
                    log.warning("the daemon of %s cannot be started: %s", self._data, error)
            pause.wait(wait)


def require_present_version(address: Address, data: Path) -> None:
    """Lets a daemon that has served an older version of the directory, for another job, read it
    anew. Raises StartFailed if it does not serve the present version then."""
    for dataset in datasets(data):
        present = open_dataset(dataset).fingerprint
        served = list_datasets(address, START_TIMEOUT_S).datasets
        if any(each.fingerprint == present for each in served):
            continue
        if not let_reload(address, present.hex(), timeout=START_TIMEOUT_S):
            found = ", ".join(each.fingerprint.hex() for each in served)
            raise StartFailed(
                f"{dataset} was replaced: found fingerprint {present.hex()}, but the daemon at "
                f"{address} serves {found or 'nothing'}; send it SIGHUP, and see its log if that "
                "does not help"
            )


def fetch(source: str, data: Path, options: Mapping[str, Any]) -> None:
    """Copies the dataset to this node, unless this version of it is there."""
    import graphzero as gz

    gz.fetch(source, data, **options)
