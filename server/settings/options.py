"""The daemon's options: their names, how their values are read, and where they may stand.

An option can be given on the command line (--shm-limit 4G), in the environment
(GRAPHZERO_SHM_LIMIT=4G) and in the TOML file of --config (shm-limit = "4G"). The first of these
that has it wins.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from graphzero.base.errors import InputError
from graphzero.base.quantities import parse_size
from graphzero.files.column_io import ColumnIo
from graphzero.files.topology_io import TopologyIo
from graphzero.transport.host_port import HostPort, parse_host_port

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WARM_MODES = ("none", "topology", "all")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")


@dataclass(frozen=True)
class Option:
    read: Callable[[Any], Any]
    """Reads a text or a value of TOML; raises ValueError."""
    metavar: str
    help: str


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"found {value!r}, expected a text")
    return value


def _path(value: Any) -> Path:
    return value if isinstance(value, Path) else Path(_text(value))


def _addresses(value: Any) -> tuple[HostPort, ...]:
    texts = value if isinstance(value, list) else _text(value).split(",")
    try:
        return tuple(parse_host_port(_text(text).strip()) for text in texts)
    except ValueError as error:
        raise ValueError(f"found {value!r}, expected HOST:PORT,HOST:PORT,...: {error}") from None


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"found {value!r}, expected a whole number")
    try:
        count = int(value)
    except ValueError:
        raise ValueError(f"found {value!r}, expected a whole number") from None
    if count < 1:
        raise ValueError(f"found {count}, expected a positive number")
    return count


def _size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"found {value!r}, expected a size such as 512M or 4G")
    return parse_size(str(value))


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"found {value!r}, expected seconds")
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"found {value!r}, expected seconds") from None
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"found {value}, expected seconds, not negative")
    return seconds


def _some_seconds(value: Any) -> float:
    seconds = _seconds(value)
    if seconds == 0:
        raise ValueError("found 0, expected a positive number")
    return seconds


def _one_of(names: tuple[str, ...], text: str) -> Option:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError(f"found {value!r}, expected one of {', '.join(names)}")
        return str(value)

    return Option(read, "|".join(names), text)


OPTIONS: dict[str, Option] = {
    "data": Option(_path, "PATH", "a dataset, or a directory of datasets"),
    "socket": Option(_path, "PATH", "Unix socket (default: one in the user's runtime directory)"),
    "group": Option(_text, "NAME", "let members of this group connect"),
    "listen": Option(
        _text,
        "HOST:PORT",
        "also listen on TCP; any address but loopback needs TLS and a token",
    ),
    "http": Option(
        _text,
        "HOST:PORT",
        "serve a status page, /metrics, /livez and /readyz at this address (default: off)",
    ),
    "tls-certificate": Option(_path, "PATH", "PEM file for --listen and --http; needs --tls-key"),
    "tls-key": Option(_path, "PATH", "PEM file for both, for the daemon's user alone"),
    "token-file": Option(
        _path,
        "PATH",
        "file with the token that clients of --listen and --http must send, for the daemon's user "
        "alone",
    ),
    "peers": Option(
        _addresses,
        "HOST:PORT,...",
        "daemons of the other parts of a dataset that graphzero shard has dealt; a name may stand "
        "for several of them",
    ),
    "peer-root-certificate": Option(
        _path, "PATH", "PEM file to check peers by; they are sent the token of --token-file"
    ),
    "threads": Option(
        _count, "N", "threads for sampling and gathering (default: one per processor)"
    ),
    "shm-limit": Option(
        _size,
        "SIZE",
        "shared memory for all sessions, such as 4G (default: a quarter of the available memory, "
        "at most half of /dev/shm)",
    ),
    "work-memory": Option(
        _size,
        "SIZE",
        "memory for requests while they are drawn, such as 2G, and an eighth of it for their ids "
        "(default: 15 %% of the available memory)",
    ),
    "max-sessions": Option(_count, "N", "trainers at a time (default 64)"),
    "max-result": Option(_size, "SIZE", "largest result (default: what --shm-limit allows)"),
    "max-edges": Option(_count, "N", "edges that one hop of a request may draw (default 2^28)"),
    "max-ids": Option(_count, "N", "ids in one request (default 2^26)"),
    "max-in-flight": Option(_count, "N", "requests that one session may have queued (default 64)"),
    "request-timeout": Option(
        _some_seconds, "N", "seconds that a request may take if it does not say (default 60)"
    ),
    "warm": _one_of(
        WARM_MODES,
        "what to read into memory at start. all (default): every file that fits; of a graph that "
        "does not fit, its index; and the hottest rows into the row cache. topology: graphs only. "
        "none: nothing",
    ),
    "feature-io": _one_of(
        get_args(ColumnIo), "how feature rows are read: auto (default), mapped, cached or direct"
    ),
    "topology-io": _one_of(
        get_args(TopologyIo), "how graphs are read: auto (default), mapped or staged"
    ),
    "row-cache": Option(
        _size,
        "SIZE",
        "memory for hot rows of direct columns (default: a quarter of what is available, or less "
        "if workers and trainers need it; 0: none)",
    ),
    "drain-timeout": Option(_seconds, "N", "seconds to finish requests after SIGTERM (default 10)"),
    "idle-exit": Option(_seconds, "N", "end after N seconds without a session (default: never)"),
    "session-idle-timeout": Option(
        _some_seconds,
        "N",
        "end sessions that hold shared memory and have said nothing for N seconds (default: never)",
    ),
    "log-level": _one_of(LOG_LEVELS, "least level of what is logged (default info)"),
    "log-format": _one_of(LOG_FORMATS, "lines for people (default), or an object in each line"),
    "slow-request": Option(
        _some_seconds, "N", "log requests that take N seconds or more, and why (default 1)"
    ),
}


def variable_of(name: str) -> str:
    """The environment variable of an option."""
    return "GRAPHZERO_" + name.upper().replace("-", "_")


def add_to(parser: argparse.ArgumentParser) -> None:
    for name, option in OPTIONS.items():
        parser.add_argument(f"--{name}", metavar=option.metavar, help=option.help)


def read_options(
    args: argparse.Namespace, environment: Mapping[str, str], file: Path | None
) -> dict[str, Any]:
    """The values of all options that are given in any of the three places. Raises InputError for
    one that makes no sense, and names its place."""
    given = {} if file is None else read_values(_read_file(file), lambda name: f"{file}: {name}")
    # An empty variable is how a compose file or a unit says that there is none.
    variables = {name: environment.get(variable_of(name)) or None for name in OPTIONS}
    given |= read_values(variables, variable_of)
    arguments = {name: getattr(args, name.replace("-", "_")) for name in OPTIONS}
    return given | read_values(arguments, "--{}".format)


def read_values(values: Mapping[str, Any], place: Callable[[str], str]) -> dict[str, Any]:
    """Reads raw values by option name; None means not given. `place` says where the value of an
    option was found, for errors."""
    read = {}
    for name, value in values.items():
        if name not in OPTIONS:
            raise InputError(f"{place(name)}: unknown option, expected one of {', '.join(OPTIONS)}")
        if value is not None:
            try:
                read[name] = OPTIONS[name].read(value)
            except ValueError as error:
                raise InputError(f"{place(name)}: {error}") from None
    return read


def _read_file(path: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    return values
