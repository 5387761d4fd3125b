"""What the requests of one session use together."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from graphzero import _engine
from graphzero.files.dataset import Dataset
from graphzero.server.compute import Recipes
from graphzero.server.memory.id_budget import IdBudget
from graphzero.server.memory.results import ResultMemory
from graphzero.server.memory.turns import MemoryTurns
from graphzero.server.memory.working_line import WorkingMemoryLine
from graphzero.server.metrics.durations import DurationCounts
from graphzero.server.metrics.requests import RequestMetrics, SessionCounts
from graphzero.server.network.outbox import Outbox
from graphzero.server.peers.access import PeerAccess
from graphzero.server.peers.running import CallsAtWorkers
from graphzero.server.sessions.scheduler import Scheduler
from graphzero.server.settings.config import LimitConfig

log = logging.getLogger("graphzero.server")


@dataclass
class Shared:
    """What the requests of all sessions share."""

    limits: LimitConfig
    """A reload replaces them."""
    scheduler: Scheduler
    line: WorkingMemoryLine
    ids: IdBudget
    metrics: RequestMetrics
    peers: PeerAccess


@dataclass
class SessionResources:
    session_id: int
    client_name: str
    dataset: Dataset
    memory: ResultMemory
    shared: Shared
    recipes: Recipes = field(init=False)
    turns: MemoryTurns = field(init=False)
    outbox: Outbox = field(default_factory=Outbox)
    share: _engine.Share = field(default_factory=_engine.Share)
    counts: SessionCounts = field(default_factory=SessionCounts)
    latency: DurationCounts = field(default_factory=DurationCounts)
    at_workers: CallsAtWorkers = field(default_factory=CallsAtWorkers)
    held_bytes: int = 0
    """Bytes of ids and messages of unanswered requests, as the IdBudget counts them."""
    memory_problem: str = ""
    """Why no further result can lie in this session's memory; "" while it can."""

    def __post_init__(self) -> None:
        self.recipes = Recipes(self.dataset)
        self.turns = MemoryTurns(self.memory)

    def memory_broke(self, problem: str) -> None:
        """From now on every request fails with `problem`."""
        if not self.memory_problem:
            self.memory_problem = problem
            log.warning("session %d: %s", self.session_id, problem)
