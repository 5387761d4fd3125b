"""What a reload (SIGHUP) takes over from options that were changed, and what needs a restart.

Only the file of --config can change while the daemon runs; the command line and the environment are
those it was started with. Limits that the daemon checks for every session or request can change at
any moment. Options that decided about memory, threads, addresses and open files at the start
cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphzero.server.network.listen import ListenConfig
from graphzero.server.settings.config import Config
from graphzero.server.settings.options import OPTIONS

_LIMITS = {
    "max-sessions": "max_sessions",
    "max-result": "max_result",
    "max-edges": "max_edges",
    "max-ids": "max_ids",
    "max-in-flight": "max_in_flight",
    "request-timeout": "request_timeout_s",
}
_LIFE = ("drain-timeout", "idle-exit", "session-idle-timeout")
_LOG = ("log-level", "log-format", "slow-request")
# These options may name other files for secrets that are in use already. A reload reads the files
# again whether or not their names have changed.
_SECRETS = ("tls-certificate", "tls-key", "token-file")
# The same holds for the certificate by which peers are checked. It protects no port of this daemon,
# so that one may also be given where none was, and the other way round.
_PEERS = ("peer-root-certificate",)
CHANGEABLE = frozenset((*_LIMITS, *_LIFE, *_LOG, *_SECRETS, *_PEERS))


@dataclass(frozen=True)
class ReloadedOptions:
    config: Config
    """The configuration from now on."""
    changed: list[str]
    """For people: "--max-sessions 64 instead of 8"."""
    needs_restart: list[str]


def reload_options(now: Config, read: Config) -> ReloadedOptions:
    """`now` is the configuration in use, `read` the one that the options give after the change."""
    different = [name for name in OPTIONS if now.given.get(name) != read.given.get(name)]
    taken = {name for name in different if name in CHANGEABLE}
    if not _same_protection(now.listen, read.listen):
        taken -= set(_SECRETS)
    limits = {field: getattr(read.limits, field) for field in _LIMITS.values()}
    config = replace(
        now,
        given={**now.given, **{name: read.given.get(name) for name in taken}},
        limits=replace(now.limits, **limits),
        life=read.life,
        log=read.log,
        peers=replace(now.peers, peer_root_certificate=read.peers.peer_root_certificate),
    )
    if taken & set(_SECRETS):
        tls, token_file = read.listen.tls, read.listen.token_file
        tcp, http = (
            None if port is None else replace(port, tls=tls, token_file=token_file)
            for port in (now.listen.tcp, now.listen.http)
        )
        config = replace(config, listen=replace(now.listen, tcp=tcp, http=http))
    told = {name: _change_text(name, now.given, read.given) for name in different}
    return ReloadedOptions(
        config,
        changed=[text for name, text in told.items() if name in taken],
        needs_restart=[text for name, text in told.items() if name not in taken],
    )


def _same_protection(now: ListenConfig, read: ListenConfig) -> bool:
    """Whether TLS and a token are required as before: an open port cannot change that."""

    def kinds(listen: ListenConfig) -> tuple[bool, bool, bool]:
        return bool(listen.ports), listen.tls is not None, listen.token_file is not None

    return kinds(now) == kinds(read)


def _change_text(name: str, now: Mapping[str, Any], read: Mapping[str, Any]) -> str:
    before, after = (
        "its default" if given.get(name) is None else given[name] for given in (now, read)
    )
    return f"--{name} {after} instead of {before}"
