"""The daemon's configuration: the command line over a TOML file over defaults.

Every option can stand in the file under the same name; deploy/graphzero.toml is the annotated
example and the manual.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

from graphzero import _column_io, _topology_io
from graphzero._column_io import ColumnIo
from graphzero._errors import InputError
from graphzero._quantities import parse_size
from graphzero._topology_io import TopologyIo
from graphzero.server.listen import ListenConfig, make_listen
from graphzero.server.memory_plan import MemoryPlan, plan_memory

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


WARM_MODES = ("none", "topology", "all")


@dataclass(frozen=True)
class LimitConfig:
    """What trainers may use."""

    threads: int
    workers: int  # requests at work at a time, while some of them wait for the disk
    shm_limit: int
    work_memory: int  # bytes of draws under way
    id_memory: int  # bytes of ids and texts of requests that are not answered yet
    max_sessions: int = 64
    max_result: int = 0  # bytes of one result; 0: the shared-memory limit
    max_edges: int = 1 << 28
    max_ids: int = 1 << 26
    max_in_flight: int = 64
    request_timeout_s: float = 60.0

    @property
    def largest_result(self) -> int:
        """Bytes."""
        return self.max_result or self.shm_limit

    @property
    def largest_sample(self) -> int:
        """Edges: more would not fit into a result, where each takes 16 bytes at least."""
        return min(self.max_edges, self.largest_result // 16)


@dataclass(frozen=True)
class LifeConfig:
    """When the daemon ends."""

    drain_timeout_s: float = 10.0
    idle_exit_s: float | None = None


@dataclass(frozen=True)
class IoConfig:
    """How files are read."""

    feature_io: ColumnIo = "auto"
    topology_io: TopologyIo = "auto"
    row_cache: int = 0  # bytes


@dataclass(frozen=True)
class Config:
    data: Path
    listen: ListenConfig
    limits: LimitConfig
    life: LifeConfig
    memory: MemoryPlan  # which the limits come from
    warm: str = "all"  # one of WARM_MODES
    io: IoConfig = field(default_factory=IoConfig)


def _size(value: Any) -> int:
    return value if isinstance(value, int) else parse_size(str(value))


def _one_of(names: tuple[str, ...]) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if value not in names:
            raise ValueError(f"found {value!r}, expected one of {', '.join(names)}")
        return str(value)

    return convert


# Option name in the file -> how its value is read.
_OPTIONS: dict[str, tuple[Any, str]] = {
    "data": (Path, "a dataset, or a directory of datasets"),
    "socket": (Path, "Unix socket (default: one in the user's runtime directory)"),
    "group": (str, "let members of this group connect"),
    "listen": (str, "HOST:PORT to listen on as well; other hosts than loopback need TLS and token"),
    "tls-certificate": (Path, "PEM file for --listen; needs --tls-key"),
    "tls-key": (Path, "PEM file for --listen, for the daemon's user alone"),
    "token-file": (
        Path,
        "file with the token that clients of --listen must send, for the daemon's user alone",
    ),
    "threads": (int, "threads for sampling and gathering (default: one per processor)"),
    "shm-limit": (
        _size,
        "shared memory for all sessions, such as 4G (default: a quarter of the available memory, "
        "at most half of /dev/shm)",
    ),
    "work-memory": (
        _size,
        "memory for requests while they are drawn, such as 2G, and an eighth of it for their ids "
        "(default: 15 % of the available memory)",
    ),
    "max-sessions": (int, "trainers at a time (default 64)"),
    "max-result": (_size, "largest result (default: what --shm-limit allows)"),
    "max-edges": (int, "edges that one hop of a request may draw (default 2^28)"),
    "max-ids": (int, "ids in one request (default 2^26)"),
    "max-in-flight": (int, "requests that one session may have queued (default 64)"),
    "request-timeout": (float, "seconds that a request may take if it does not say (default 60)"),
    "warm": (
        _one_of(WARM_MODES),
        "what to read into memory at start: all files that fit, and hot rows into the row cache "
        "(default); topology only; or none",
    ),
    "feature-io": (
        _one_of(get_args(ColumnIo)),
        "how feature rows are read: auto (default), mapped, cached or direct",
    ),
    "topology-io": (
        _one_of(get_args(TopologyIo)),
        "how graphs are read: auto (default), mapped or staged",
    ),
    "row-cache": (
        _size,
        "memory for hot rows of direct columns (default: a quarter of what is available, or less "
        "if workers and trainers need it; 0: none)",
    ),
    "drain-timeout": (float, "seconds to finish requests after SIGTERM (default 10)"),
    "idle-exit": (float, "leave after so many seconds without a session (default: never)"),
}


def parse_command_line(argv: Sequence[str] | None = None) -> Config:
    """Raises InputError for values that make no sense; argparse exits for unknown options."""
    parser = argparse.ArgumentParser(
        prog="graphzero-server",
        description="Serve batches of a graph dataset to trainers on this machine.",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file with these options")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    for name, (_, text) in _OPTIONS.items():
        parser.add_argument(f"--{name}", metavar=_metavar(name), help=text)
    args = parser.parse_args(argv)
    if args.version:
        from graphzero._version import __version__

        print(f"graphzero-server {__version__}")
        raise SystemExit(0)
    values = _read_file(args.config) if args.config else {}
    for name in _OPTIONS:
        given = getattr(args, name.replace("-", "_"))
        if given is not None:
            values[name] = given
    return make_config(values)


def make_config(values: dict[str, Any]) -> Config:
    """From option names and raw values, as a file or a command line has them."""
    options = {name: _convert(name, value) for name, value in values.items()}
    if "data" not in options:
        raise InputError("no data: give a dataset directory with --data DIR")
    threads = options.get("threads", len(os.sched_getaffinity(0)))
    memory = plan_memory(
        threads, options.get("shm-limit"), options.get("row-cache"), options.get("work-memory")
    )
    limits = _given(
        LimitConfig,
        {
            "threads": threads,
            "workers": memory.workers,
            "shm_limit": memory.batches,
            "work_memory": memory.draws,
            "id_memory": memory.ids,
            "max_sessions": options.get("max-sessions"),
            "max_result": options.get("max-result"),
            "max_edges": options.get("max-edges"),
            "max_ids": options.get("max-ids"),
            "max_in_flight": options.get("max-in-flight"),
            "request_timeout_s": options.get("request-timeout"),
        },
    )
    for limit in fields(limits):
        value = getattr(limits, limit.name)
        if value < 0 or (value == 0 and limit.name != "max_result"):
            option = limit.name.removesuffix("_s").replace("_", "-")
            raise InputError(f"--{option}: found {value}, expected a positive number")
    life = _given(
        LifeConfig,
        {
            "drain_timeout_s": options.get("drain-timeout"),
            "idle_exit_s": options.get("idle-exit"),
        },
    )
    io = IoConfig(
        feature_io=_column_io.checked_io(options.get("feature-io", _column_io.default_io())),
        topology_io=_topology_io.checked_io(options.get("topology-io", _topology_io.default_io())),
        row_cache=memory.row_cache,
    )
    return Config(
        options["data"].absolute(),
        make_listen(options),
        limits,
        life,
        memory,
        options.get("warm", WARM_MODES[-1]),
        io,
    )


def _given(kind: Any, values: dict[str, Any]) -> Any:
    return kind(**{name: value for name, value in values.items() if value is not None})


def _metavar(name: str) -> str:
    if name in ("data", "socket", "tls-certificate", "tls-key", "token-file"):
        return "PATH"
    return {
        "group": "NAME",
        "listen": "HOST:PORT",
        "warm": "|".join(WARM_MODES),
        "feature-io": "|".join(get_args(ColumnIo)),
        "topology-io": "|".join(get_args(TopologyIo)),
    }.get(name, "SIZE" if _OPTIONS[name][0] is _size else "N")


def _convert(name: str, value: Any) -> Any:
    if name not in _OPTIONS:
        raise InputError(f"unknown option {name!r}, expected one of {', '.join(_OPTIONS)}")
    try:
        return _OPTIONS[name][0](value)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}: {error}") from None


def _read_file(path: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    return values
