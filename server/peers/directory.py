"""Which daemon has which part.

--peers gives the addresses, and each daemon there says which part it has. So the list need not be
in order, may include this daemon's own address, and one name may stand for all daemons, as that of
a headless service of Kubernetes does. All addresses are asked again when a request needs a part
that no peer had, or when a call has failed: daemons may come back at other addresses.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from graphzero import _engine
from graphzero.base.text import line_text, quoted
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub
from graphzero.server.codes import DatasetReplaced, NotPossible
from graphzero.server.peers.running import current
from graphzero.transport.grpc_setup import NO_DECOMPRESSION, import_grpc, keepalive_options
from graphzero.transport.host_port import HostPort

log = logging.getLogger("graphzero.server")

_ASK_S = 2.0
_WAIT_STEP_S = 0.02
_LEAST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 1.0
# A channel takes messages of this length, or of one row if that is longer, and no longer ones: a
# peer must not be able to fill the memory. Pieces of several rows are shorter (answers.py).
_LEAST_MESSAGE_BYTES = 4 << 20
# More than a message has beside the rows.
_MESSAGE_HEAD_BYTES = 1 << 10
# Columns that an error names of those that were dealt otherwise.
_NAMED_COLUMNS = 3
# Bytes that gRPC reads ahead of a slow reader, for each call.
_READ_AHEAD_BYTES = 2 << 20


class PartKey(NamedTuple):
    """Identifies the part that a request needs from another daemon."""

    fingerprint: bytes
    parts: int
    part: int
    layout: bytes
    """Dataset.layout of the parts, b"" if the daemon there does not say it."""

    def fitting(self) -> tuple[PartKey, PartKey]:
        """The keys under which that part may be found, the better one first. A daemon that does not
        say its layout refuses rows that it does not have."""
        return self, self._replace(layout=b"")

    def fits(self, other: PartKey) -> bool:
        """Whether the other is a part, maybe another one, of the same dataset, dealt alike."""
        same = (self.fingerprint, self.parts) == (other.fingerprint, other.parts)
        return same and other.layout in (self.layout, b"")


class _Channel(NamedTuple):
    """A connection to a peer."""

    channel: Any
    stub: Any
    most_bytes: int
    """The longest message that may come."""
    root_certificate: bytes | None
    """That the peer is checked by; None without TLS."""


class Peer(NamedTuple):
    """A daemon that has a part."""

    address: str
    dataset: str
    """The peer's own name for the dataset."""
    channel: _Channel

    @property
    def stub(self) -> Any:
        return self.channel.stub


class _Listed(NamedTuple):
    """What a daemon says of a part that it has."""

    dataset: str
    """Its name for the dataset."""
    block_rows: Mapping[str, int]
    """As in Dataset."""


@dataclass(frozen=True)
class _Found:
    """The result of one round, in which all addresses were asked."""

    number: int = 0
    """Counts the rounds."""
    peers: Mapping[PartKey, Peer] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    """The addresses that did not answer, and why."""
    others: Mapping[str, str] = field(default_factory=dict)
    """The addresses that answered, and a text for people that says what each has."""
    listed: Mapping[str, Mapping[PartKey, _Listed]] = field(default_factory=dict)
    """The same addresses, and the parts that each has."""

    def peer_of(self, key: PartKey) -> Peer | None:
        return next((self.peers[each] for each in key.fitting() if each in self.peers), None)

    def has_stranger(self, key: PartKey) -> bool:
        """Whether a daemon that answered has no part of that dataset, or one that was dealt
        otherwise."""
        return any(not any(key.fits(each) for each in has) for has in self.listed.values())


class Peers:
    """Thread-safe. Asks on a thread of its own, which starts when a request first needs a part."""

    def __init__(
        self,
        addresses: Sequence[HostPort],
        token: Callable[[], bytes | None],
        root_certificate: bytes | None,
    ) -> None:
        self._addresses = tuple(addresses)
        self._token = token
        self._root_certificate = root_certificate
        self._channels: dict[str, _Channel] = {}  # by address
        # Channels that take no messages as long as they are now needed, or check the peer by an
        # earlier certificate.
        self._outgrown: list[_Channel] = []
        self._most_bytes = _LEAST_MESSAGE_BYTES
        self._closed = False
        self._found = _Found()
        self._used: set[PartKey] = set()  # parts that peers had when a request needed them
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def given(self) -> bool:
        return bool(self._addresses)

    def metadata(self) -> list[tuple[str, str]]:
        token = self._token()
        return [("authorization", f"Bearer {token.decode()}")] if token else []

    def wait_for(self, dataset: Dataset, part: int) -> Peer:
        """The daemon that has that part. Waits until there is one or the request ends
        (CallStopped). Raises NotPossible if all peers answer, none has the part, and one has no
        part of this dataset that was dealt alike; DatasetReplaced instead if a peer had the part
        before."""
        assert dataset.shard is not None
        key = PartKey(dataset.fingerprint, dataset.shard.parts, part, dataset.layout)
        if not self._addresses:
            raise NotPossible(
                f"rows of part {part} of {key.parts} are asked for, and this daemon has part "
                f"{dataset.shard.part} of dataset {quoted(dataset.name)} and no peers: start it "
                "with --peers HOST:PORT,..."
            )
        most_bytes = longest_row(dataset) + _MESSAGE_HEAD_BYTES
        self._allow(most_bytes)
        first = self._found.number
        while True:
            found = self._found
            peer = found.peer_of(key)
            if peer is not None and peer.channel.most_bytes >= most_bytes:
                self._used.update(key.fitting())
                return peer
            # A missing daemon may be about to start: a name only stands for daemons that run.
            known = peer is None and found.number > first and not found.silent
            if known and found.has_stranger(key):
                if key not in self._used:
                    raise NotPossible(_nobody_text(found, key, dataset))
                raise DatasetReplaced(
                    f"dataset {quoted(dataset.name)} was replaced on other machines: "
                    f"{_nobody_text(found, key, dataset)}; connect anew when all daemons have the "
                    "new version"
                )
            if (running := current()) is not None:
                running.waiting_for = _nobody_text(found, key, dataset)
            self._want()
            _engine.check_stopped()
            time.sleep(_WAIT_STEP_S)

    def failed(self, peer: Peer) -> None:
        """A call to the peer has failed: forgets it and asks again, for it may have moved."""
        with self._lock:
            kept = {key: found for key, found in self._found.peers.items() if found != peer}
            self._found = replace(self._found, peers=kept)
        self._want()

    def replace_root_certificate(self, certificate: bytes | None) -> bool:
        """From the next round on, peers are checked by this certificate; calls on earlier channels
        are made again. False if it is the one in use."""
        with self._lock:
            if certificate == self._root_certificate:
                return False
            self._root_certificate = certificate
            asks = self._thread is not None
        if asks:  # else the first request that needs a part begins the first round
            self._wanted.set()
        return True

    def close(self) -> None:
        with self._lock:
            self._closed = True
            channels = [*self._channels.values(), *self._outgrown]
        for each in channels:
            each.channel.close()

    def _allow(self, most_bytes: int) -> None:
        """From the next round on, channels take messages of this length."""
        with self._lock:
            self._most_bytes = max(self._most_bytes, most_bytes)

    def _want(self) -> None:
        self._wanted.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    thread = threading.Thread(
                        target=self._work, name="graphzero-peers", daemon=True
                    )
                    thread.start()  # may raise; then the next request tries again
                    self._thread = thread

    def _work(self) -> None:
        """Asks all peers while requests need a part, less often while the answers do not change."""
        pause_s = _LEAST_PAUSE_S
        while True:
            self._wanted.wait()
            self._wanted.clear()
            targets: dict[str, str] = {}
            try:
                targets, unknown = self._targets()
                found = self._ask_all(targets, unknown)
            except Exception:
                if self._closed:
                    return
                log.exception("could not ask the peers what they have")
                unknown = {"--peers": "an error, see the log"}
                found = _Found(silent=unknown)
            with self._lock:
                before = self._found
                peers = {**self._earlier_versions(before, found), **found.peers}
                found = replace(found, number=before.number + 1, peers=peers)
                self._found = found
            # If a name is unknown, it may stand for addresses that are not known at the moment.
            self._forget_channels(self._channels if unknown else targets)
            self._tell(before, found)
            pause_s = _LEAST_PAUSE_S if found.peers != before.peers else 2 * pause_s
            pause_s = min(pause_s, _LONGEST_PAUSE_S)
            time.sleep(pause_s)

    def _earlier_versions(self, before: _Found, found: _Found) -> dict[PartKey, Peer]:
        """Parts of versions that peers do not list any more. A peer has them for as long as its own
        sessions keep them; it refuses the first call after that, and failed() forgets the part."""
        return {
            key: peer._replace(channel=self._channels[peer.address])
            for key, peer in before.peers.items()
            if key in self._used and peer.address in found.others
        }

    def _tell(self, before: _Found, found: _Found) -> None:
        for key, peer in found.peers.items():
            if before.peers.get(key) != peer:
                log.info("part %d of %d is at %s", key.part, key.parts, peer.address)
        for address, why in found.silent.items():
            if address not in before.silent:
                log.warning("peer %s does not answer: %s", address, why)

    def _ask_all(self, targets: Mapping[str, str], unknown: Mapping[str, str]) -> _Found:
        """Asks all addresses at the same time. `unknown` are those of _targets()."""
        silent = dict(unknown)
        asked = []
        for target, name in targets.items():
            channel = self._channel(target, name)
            ask = channel.stub.ListDatasets.future
            answer = ask(pb.ListDatasetsRequest(), timeout=_ASK_S, metadata=self.metadata())
            asked.append((target, channel, answer))
        peers: dict[PartKey, Peer] = {}
        others: dict[str, str] = {}
        listed: dict[str, Mapping[PartKey, _Listed]] = {}
        grpc = import_grpc()
        for target, channel, answer in asked:
            try:
                listed[target], others[target] = _read_answer(answer.result())
            except grpc.RpcError as error:
                silent[target] = line_text(f"{error.code().name}: {error.details()}", 300)
                continue
            for key, part in listed[target].items():
                peers.setdefault(key, Peer(target, part.dataset, channel))
        return _Found(0, peers, silent, others, listed)

    def _targets(self) -> tuple[dict[str, str], dict[str, str]]:
        """Numeric addresses, each with the name that its certificate is for; and the given
        addresses whose name stands for none at the moment, each with the reason."""
        targets: dict[str, str] = {}
        unknown: dict[str, str] = {}
        for given in self._addresses:
            try:
                resolved = socket.getaddrinfo(given.host, given.port, type=socket.SOCK_STREAM)
            except OSError as error:
                unknown[str(given)] = str(error.strerror or error)
                continue
            for *_, address in resolved:
                targets[str(HostPort(str(address[0]), given.port))] = given.host
        return targets, unknown

    def _forget_channels(self, targets: Iterable[str]) -> None:
        """Closes the outgrown ones, and those to addresses that no name stands for any more, as
        those of pods that left. To be called when wait_for() does not return these peers any more.
        A call that still runs there, or that starts on the closed channel, fails as one to a peer
        that is gone, and is made again."""
        with self._lock:
            gone = self._channels.keys() - set(targets)
            channels = [*(self._channels.pop(target) for target in gone), *self._outgrown]
            self._outgrown.clear()
        for each in channels:
            each.channel.close()

    def _channel(self, target: str, name: str) -> _Channel:
        with self._lock:
            known = self._channels.get(target)
            if known is None or self._is_outgrown(known):
                most_bytes, certificate = self._most_bytes, self._root_certificate
                opened = self._open_channel(target, name, most_bytes)
                stub = SamplerServiceStub(opened)
                self._channels[target] = _Channel(opened, stub, most_bytes, certificate)
                self._outgrown += [known] if known is not None else []
            return self._channels[target]

    def _is_outgrown(self, channel: _Channel) -> bool:
        too_short = channel.most_bytes < self._most_bytes
        return too_short or channel.root_certificate != self._root_certificate

    def _open_channel(self, target: str, name: str, most_bytes: int) -> Any:
        grpc = import_grpc()
        options: list[tuple[str, Any]] = [
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_http_proxy", 0),
            NO_DECOMPRESSION,
            ("grpc.max_receive_message_length", most_bytes),
            # Reconnects soon to a peer that was restarted.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
            # Bounds the memory of each call, however fast a peer sends: otherwise gRPC would read
            # ahead as much as the link carries in a round trip.
            ("grpc.http2.bdp_probe", 0),
            ("grpc.http2.lookahead_bytes", _READ_AHEAD_BYTES),
            *keepalive_options(is_socket=False),
        ]
        if self._root_certificate is None:
            return grpc.insecure_channel(target, options)
        options.append(("grpc.ssl_target_name_override", name))
        credentials = grpc.ssl_channel_credentials(self._root_certificate)
        return grpc.secure_channel(target, credentials, options)


def longest_row(dataset: Dataset) -> int:
    """Bytes of the longest row that peers may be asked for."""
    sharded = (column for column in dataset.columns.values() if column.sharded is not None)
    return max((column.stored_row_bytes for column in sharded), default=0)


def _nobody_text(found: _Found, key: PartKey, dataset: Dataset) -> str:
    told = [f"{address} does not answer ({why})" for address, why in found.silent.items()]
    told += [
        f"{address} {what}{_dealt_otherwise_text(found.listed.get(address, {}), key, dataset)}"
        for address, what in found.others.items()
    ]
    return (
        f"no peer has part {key.part} of {key.parts} with fingerprint "
        f"{key.fingerprint.hex()}: {'; '.join(told) or 'none has answered yet'}"
    )


def _dealt_otherwise_text(listed: Mapping[PartKey, _Listed], key: PartKey, dataset: Dataset) -> str:
    """Says how the parts that a daemon has of this dataset were dealt, if otherwise than the part
    here; "" if it has none, or one that fits."""
    same = (key.fingerprint, key.parts)
    there = [each for each in listed if (each.fingerprint, each.parts) == same]
    if not there or any(key.fits(each) for each in there):
        return ""
    own, other = dataset.block_rows, listed[there[0]].block_rows
    names = sorted(name for name in {*own, *other} if own.get(name) != other.get(name))
    told = [
        f"column {quoted(name)} is {_blocks_text(other.get(name))} there and "
        f"{_blocks_text(own.get(name))} here"
        for name in names[:_NAMED_COLUMNS]
    ]
    if len(names) > len(told):
        told.append(f"{len(names) - len(told)} more columns differ")
    return (
        f", which was dealt otherwise than the part here ({', '.join(told)}): run graphzero shard "
        "again with the same options for all parts (--block-rows, --keep, --threshold)"
    )


def _blocks_text(block_rows: int | None) -> str:
    return f"in blocks of {block_rows} rows" if block_rows else "whole"


def _read_answer(answer: pb.ListDatasetsResponse) -> tuple[dict[PartKey, _Listed], str]:
    """The parts that a daemon has, and a text that says so."""
    if answer.sampler_version != _engine.SAMPLER_VERSION:
        return {}, (
            f"has sampler version {answer.sampler_version}, expected {_engine.SAMPLER_VERSION}: "
            "install the same release of graphzero-server on all machines"
        )
    told = []
    found: dict[PartKey, _Listed] = {}
    for dataset in answer.datasets:
        shard = dataset.shard
        if not dataset.HasField("shard") or shard.part >= shard.parts:
            told.append(f"dataset {quoted(dataset.name)}, which is no part")
            continue
        key = PartKey(dataset.fingerprint, shard.parts, shard.part, shard.layout)
        block_rows = {c.name: c.block_rows for c in dataset.columns if c.block_rows}
        found[key] = _Listed(dataset.name, block_rows)
        told.append(
            f"part {shard.part} of {shard.parts} with fingerprint {dataset.fingerprint.hex()[:64]}"
        )
    return found, f"has {', '.join(told[:4]) or 'no dataset'}"
