"""The daemon's configuration, from its options (options.py) and from what the machine has.

deploy/graphzero.toml is the annotated example and the manual.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from graphzero.base.errors import InputError
from graphzero.base.memory_division import MemoryDivision, divide_available_memory
from graphzero.commands.parser import CommandParser
from graphzero.files.column_io import ColumnIo
from graphzero.files.topology_io import TopologyIo
from graphzero.server.metrics.requests import SLOW_S
from graphzero.server.network.listen import ListenConfig, make_listen
from graphzero.server.settings.options import (
    WARM_MODES,
    add_to,
    read_options,
    read_values,
    variable_of,
)
from graphzero.transport.host_port import HostPort
from graphzero.transport.root_certificate import read_root_certificate


@dataclass(frozen=True)
class LimitConfig:
    """What trainers may use."""

    threads: int
    workers: int  # requests that run at a time, if some of them wait for the disk
    shm_limit: int
    work_memory: int  # bytes of working memory, for draws under way
    id_memory: int  # bytes of ids and texts of requests that are not answered yet
    max_sessions: int = 64
    max_result: int = 0  # bytes of one result; 0: the shared-memory limit
    max_edges: int = 1 << 28
    max_ids: int = 1 << 26
    max_in_flight: int = 64
    request_timeout_s: float = 60.0

    @property
    def largest_result(self) -> int:
        """Bytes that one result may have."""
        return self.max_result or self.shm_limit

    @property
    def largest_sample(self) -> int:
        """Edges that one sample may have: each takes at least 16 bytes of the result."""
        return min(self.max_edges, self.largest_result // 16)


@dataclass(frozen=True)
class LifeConfig:
    """When the daemon and its sessions end."""

    drain_timeout_s: float = 10.0
    idle_exit_s: float | None = None
    session_idle_timeout_s: float | None = None


@dataclass(frozen=True)
class LogConfig:
    """Which lines are logged, and in which format."""

    log_level: str = "info"  # one of LOG_LEVELS
    log_format: str = "text"  # one of LOG_FORMATS
    slow_request_s: float = SLOW_S


@dataclass(frozen=True)
class IoConfig:
    """How files are read."""

    feature_io: ColumnIo = "auto"
    topology_io: TopologyIo = "auto"
    row_cache: int = 0  # bytes


@dataclass(frozen=True)
class PeerConfig:
    """The daemons of the other parts of a dataset."""

    peers: tuple[HostPort, ...] = ()
    peer_root_certificate: Path | None = None

    def certificate(self, *, sends_token: bool) -> bytes | None:
        """The root certificate that peers are checked by, read from its file. Raises InputError if
        the file has none, or if one is needed and no file is given. `sends_token`: whether calls to
        peers have a token."""
        if (path := self.peer_root_certificate) is not None:
            option = "--peer-root-certificate"
            try:
                return read_root_certificate(path, option, "the peers have")
            except OSError as error:
                raise InputError(f"{option} {path}: {error.strerror}") from None
        beyond = [str(peer) for peer in self.peers if not peer.is_loopback]
        if beyond:
            raise InputError(
                f"--peers: found {beyond[0]}, which is not this machine, and no "
                "--peer-root-certificate FILE to check it by: rows travel over TLS"
            )
        if self.peers and sends_token:
            raise InputError(
                f"--peers: found {self.peers[0]} and a token (--token-file), and no "
                "--peer-root-certificate FILE to check the peer by: the token would go to whoever "
                "holds that port; give that option, and TLS to the peers (--tls-certificate, "
                "--tls-key), or leave the token out"
            )
        return None


@dataclass(frozen=True)
class Config:
    data: Path
    listen: ListenConfig
    limits: LimitConfig
    life: LifeConfig
    memory: MemoryDivision  # the limits follow from it
    given: Mapping[str, Any]  # the options that are not left to their defaults
    warm: str = "all"  # one of WARM_MODES
    io: IoConfig = field(default_factory=IoConfig)
    log: LogConfig = field(default_factory=LogConfig)
    peers: PeerConfig = field(default_factory=PeerConfig)


def parse_command_line(
    argv: Sequence[str] | None = None, environment: Mapping[str, str] = os.environ
) -> Config:
    """Raises InputError for values that make no sense; argparse exits for unknown options."""
    parser = CommandParser(
        prog="graphzero-server",
        description="Serve batches of a graph dataset to trainers on this machine.",
        epilog="Every option can also be an environment variable (GRAPHZERO_SHM_LIMIT=4G) or stand "
        "in the file of --config. The command line wins over the environment, and that over the "
        "file.",
    )
    parser.add_argument("directory", nargs="?", metavar="DIR", help="the same as --data DIR")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file with these options")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    add_to(parser)
    args = parser.parse_args(argv)
    if args.directory is not None and args.data is not None:
        parser.error(f"found {args.directory!r} and --data {args.data!r}, expected one of them")
    args.data = args.directory if args.data is None else args.data
    if args.version:
        from graphzero.base.version import __version__

        print(f"graphzero-server {__version__}")
        raise SystemExit(0)
    file = args.config or environment.get(variable_of("config"))
    return _make(read_options(args, environment, Path(file) if file else None))


def make_config(values: Mapping[str, Any]) -> Config:
    """Makes a Config from option names and raw values, as a file or a command line has them."""
    return _make(read_values(values, "--{}".format))


def _make(options: Mapping[str, Any]) -> Config:
    if "data" not in options:
        raise InputError("no data: give a dataset directory with --data DIR")
    threads = options.get("threads", len(os.sched_getaffinity(0)))
    memory = divide_available_memory(
        threads, options.get("shm-limit"), options.get("row-cache"), options.get("work-memory")
    )
    return Config(
        data=options["data"].absolute(),
        listen=make_listen(options),
        limits=_from_options(
            LimitConfig,
            options,
            threads=threads,
            workers=memory.workers,
            shm_limit=memory.batches,
            work_memory=memory.draws,
            id_memory=memory.ids,
        ),
        life=_from_options(LifeConfig, options),
        memory=memory,
        given=options,
        log=_from_options(LogConfig, options),
        warm=options.get("warm", WARM_MODES[-1]),
        io=_from_options(IoConfig, options, row_cache=memory.row_cache),
        peers=_from_options(PeerConfig, options),
    )


def _from_options(kind: Any, options: Mapping[str, Any], **known: Any) -> Any:
    """Makes a `kind`. A field takes its value from `known`, or from the option of its name
    (drain_timeout_s, in seconds, from --drain-timeout), or keeps its default."""
    names = {each.name: each.name.removesuffix("_s").replace("_", "-") for each in fields(kind)}
    given = {name: options[option] for name, option in names.items() if option in options}
    return kind(**(given | known))
