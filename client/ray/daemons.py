"""`Daemons`: a daemon on each node of a Ray cluster, of one program."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import ray
from graphzero.client.client import Client
from graphzero.client.connect import connect
from graphzero.client.errors import StartFailed
from graphzero.client.ray.node_daemon import DaemonPlan, NodeDaemon
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

log = logging.getLogger(__name__)

_LOOK_S = 1.0
# How long a worker waits until the driver has found its node: several looks, on a busy machine.
_MEET_TIMEOUT_S = 60.0


class Daemons:
    """A daemon with a copy of the dataset on every node of a Ray cluster:

        with graphzero.ray.Daemons("s3://bucket/products", "/local/products") as daemons:
            TorchTrainer(train, train_loop_config={"daemons": daemons}, ...).fit()

        def train(config):
            client = config["daemons"].connect()  # to the daemon of this node
            loader = client.loader("train", [10, 5], 1024, shuffle=True, rank="auto")

    source: what graphzero.fetch() copies from: a directory, a daemon (host:port) or a URI.
    directory: where each node keeps its copy; "{node}" in it becomes the node's id. What is there
    already, whole or in part, is not copied again. None: `source` is a directory that all nodes
    see, and is served as it is.
    resource: nodes that have this Ray resource get the data and a daemon, when they join the
    cluster. "CPU": all that take work; "GPU", or one of your own.
    options: options of graphzero-server, as on its command line: ["--shm-limit", "4G"].
    fetch_options: further arguments of graphzero.fetch(), such as a token.

    An actor on each node, which takes no processor from others, brings the data there and starts
    the daemon, and starts it anew if it dies; Ray does the same for the actor. All of them belong
    to the program that made this object, the driver: they end with close(), at the end of `with`,
    or with that program. Can be sent to workers, to which only connect() and address() are useful.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        directory: str | os.PathLike[str] | None = None,
        *,
        resource: str = "CPU",
        options: Sequence[str] = (),
        fetch_options: Mapping[str, Any] | None = None,
    ) -> None:
        if not ray.is_initialized():
            ray.init()
        self._resource = resource
        self._namespace = ray.get_runtime_context().namespace
        self._name = f"graphzero-{uuid.uuid4().hex[:12]}"
        plan = DaemonPlan(
            os.fspath(source),
            None if directory is None else os.fspath(directory),
            tuple(options),
            dict(fetch_options or {}),
        )
        self._nodes: _Nodes | None = _Nodes(plan, resource, self._actor_name)

    def connect(self, **options: Any) -> Client:
        """A client of the daemon of this node; waits while its data is still on its way.

        options: those of graphzero.connect(). retry=True is the default here: when the daemon dies,
        the client waits for the one that is started in its place and goes on with the same batches.
        """
        return connect(self.address(), **{"retry": True, **options})

    def address(self) -> str:
        """Where the daemon of this node answers, as soon as it does."""
        node_id = ray.get_runtime_context().get_node_id()
        address: str = ray.get(self._actor_of(node_id).address.remote())
        return address

    def close(self) -> None:
        """Ends the actors, and with them their daemons. Twice is harmless."""
        if self._nodes is not None:
            self._nodes.close()

    def __enter__(self) -> Daemons:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_nodes": None}

    def _actor_name(self, node_id: str) -> str:
        return f"{self._name}-{node_id}"

    def _actor_of(self, node_id: str) -> Any:
        deadline = time.monotonic() + _MEET_TIMEOUT_S
        while True:
            try:
                return ray.get_actor(self._actor_name(node_id), self._namespace)
            except ValueError as error:  # there is none of that name, or not yet
                if time.monotonic() > deadline:
                    raise StartFailed(
                        f"node {node_id} has no daemon: only nodes with the resource "
                        f"{self._resource!r} get one, and the program that made these Daemons must "
                        "still run and not have closed them"
                    ) from error
                time.sleep(_LOOK_S / 10)


class _Nodes:
    """The driver's part: starts an actor on each node that is in the cluster or joins it."""

    def __init__(self, plan: DaemonPlan, resource: str, name_of: Any) -> None:
        self._plan = plan
        self._resource = resource
        self._name_of = name_of
        self._actors: dict[str, Any] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="graphzero-nodes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
        if ray.is_initialized():
            for actor in self._actors.values():
                ray.kill(actor)
        self._actors.clear()

    def _watch(self) -> None:
        while not self._closed.is_set() and ray.is_initialized():
            try:
                self._meet()
            except Exception as error:  # the cluster does not answer for a moment
                log.warning("the nodes of the cluster could not be listed: %s", error)
            self._closed.wait(_LOOK_S)

    def _meet(self) -> None:
        alive = {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
        for gone in self._actors.keys() - alive.keys():
            del self._actors[gone]
        for node_id, resources in alive.items():
            if resources.get(self._resource, 0) > 0 and node_id not in self._actors:
                self._actors[node_id] = self._start(node_id)

    def _start(self, node_id: str) -> Any:
        return (
            ray.remote(NodeDaemon)
            .options(
                name=self._name_of(node_id),
                num_cpus=0,
                max_restarts=-1,
                max_task_retries=-1,
                # Hard: the daemon of a node is of no use anywhere else.
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
            )
            .remote(self._plan)
        )
