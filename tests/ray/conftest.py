"""A Ray cluster of several nodes on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

# Before Ray is imported: nothing leaves this machine, and nodes meet at 127.0.0.1.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
# Workers import torch, which takes longer than a minute on a busy machine. Ray also waits so long
# for a node that it does not know to be dead yet.
os.environ["RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S"] = "120"

NODE = {"num_cpus": 2, "object_store_memory": 100 << 20}


class RayMachines:
    """A head without processors, on which nothing but the driver runs, and nodes that can die."""

    def __init__(self, folder: Path) -> None:
        import ray
        from ray.cluster_utils import Cluster

        self.folder = folder
        head = {"num_cpus": 0, "object_store_memory": 100 << 20, "include_dashboard": False}
        head |= {"node_ip_address": "127.0.0.1"}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._nodes: dict[str, Any] = {}
        ray.init(self._cluster.address, log_to_driver=False)

    def have(self, count: int) -> None:
        """Adds nodes until there are so many."""
        while len(self._nodes) < count:
            node = self._add_node()
            self._nodes[node.node_id] = node

    def _add_node(self) -> Any:
        for _ in range(2):
            # Ray gives a node half a minute to start, which a busy machine may not manage.
            with contextlib.suppress(Exception):
                return self._cluster.add_node(**NODE)
        return self._cluster.add_node(**NODE)

    def kill(self, node_id: str) -> None:
        """As when the power fails."""
        self._cluster.remove_node(self._nodes.pop(node_id), allow_graceful=False)

    @property
    def nodes(self) -> list[str]:
        return list(self._nodes)

    def locks(self) -> list[Path]:
        """Of the daemons that run."""
        return list(self.folder.glob("graphzero/*.sock.lock"))

    def instances(self) -> list[str]:
        """What the names of their regions begin with."""
        return [json.loads(lock.read_text())["instance"] for lock in self.locks()]

    def end(self) -> None:
        import ray

        instances = self.instances()
        ray.shutdown()
        self._cluster.shutdown()
        wait_until(lambda: not self.locks(), lambda: f"the end of daemons: {self.locks()}")
        left = [path.name for path in Path("/dev/shm").glob("graphzero-*")]
        assert not [name for name in left if name.split("-")[1] in instances]


@pytest.fixture(scope="module")
def machines() -> Iterator[RayMachines]:
    pytest.importorskip("ray.cluster_utils", reason="needs Ray, which make test-ray installs")
    folder = Path(tempfile.mkdtemp(prefix="gz-"))  # short, for sockets
    here = str(Path(__file__).parent)
    with pytest.MonkeyPatch.context() as patch:
        # Inherited by the nodes and their workers.
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        # Where Ray also notes the address of the cluster: not among those of the user's own.
        patch.setenv("RAY_TMPDIR", str(folder))
        patch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
        patch.setenv("GLOO_SOCKET_IFNAME", "lo")
        patch.setattr(sys, "path", [here, *sys.path])
        machines = RayMachines(folder)
        yield machines
        machines.end()
    shutil.rmtree(folder, ignore_errors=True)
