"""The daemon's life: start, serve until told to stop, drain."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import ssl
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import grpc
from graphzero import _engine
from graphzero.base.error_text import error_text
from graphzero.base.errors import GraphZeroError
from graphzero.base.fail_points import fail_point
from graphzero.base.text import line_text, quoted
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto.graphzero_pb2_grpc import add_SamplerServiceServicer_to_server
from graphzero.server.datasets import read_plan
from graphzero.server.datasets.catalog import Catalog, Version
from graphzero.server.datasets.read_plan import ReadPlan
from graphzero.server.datasets.warm_start import WarmStart
from graphzero.server.network import listen
from graphzero.server.network.credentials import Secrets, ServedCertificate
from graphzero.server.network.listen import Door
from graphzero.server.network.message_guard import MessageGuard
from graphzero.server.peers.access import PeerAccess
from graphzero.server.peers.directory import Peers
from graphzero.server.process import machine
from graphzero.server.process.banner import banner
from graphzero.server.process.hangup import hangup_came
from graphzero.server.process.lock import SocketLock
from graphzero.server.process.log_lines import set_up_log, tell_omitted
from graphzero.server.process.notify import Watchdog, notify, notify_reloading
from graphzero.server.process.thread_room import start_housekeepers
from graphzero.server.service import Service
from graphzero.server.settings.config import Config
from graphzero.server.settings.reload import ReloadedOptions, reload_options
from graphzero.transport.grpc_setup import NO_DECOMPRESSION, keepalive_options
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

if TYPE_CHECKING:
    from graphzero.server.web.side_port import SidePort

log = logging.getLogger("graphzero.server")

_SERVICE = pb.DESCRIPTOR.services_by_name["SamplerService"].full_name
_HOUSEKEEPING_EVERY_S = 1.0
# Ids come in pieces of 1 MiB. Longer messages would only hold up the event loop that reads them.
MAX_MESSAGE_BYTES = 2 << 20
# How long shutdown waits for threads and handlers to end, even after the drain timeout is over.
_LAST_MOMENT_S = 1.0


async def run(config: Config, read_config: Callable[[], Config]) -> None:
    """Serves until SIGTERM or SIGINT, or until nobody has used it for --idle-exit seconds.

    A second signal ends the process at once, with exit code 128 plus the signal's number.
    `read_config` reads the options again, for a reload.
    """
    listen.prepare_socket_directory(config.listen)
    lock = SocketLock(config.listen.socket)
    try:
        daemon = _Daemon(config, read_config, lock)
        await daemon.run()
    finally:
        config.listen.socket.unlink(missing_ok=True)
        lock.release()
    if daemon.work_goes_on:
        log.warning("leaving work behind that did not end in time")
        logging.shutdown()
        os._exit(0)


class _Daemon:
    def __init__(self, config: Config, read_config: Callable[[], Config], lock: SocketLock) -> None:
        self._config = config
        self._read_config = read_config
        self._lock = lock
        self._plan = ReadPlan(config.io, config.memory)
        self._catalog = Catalog(config.data, self._plan, config.limits.max_sessions)
        _engine.return_freed_memory()
        _engine.set_thread_limit(config.limits.threads)
        _engine.set_workspace_limit(config.limits.work_memory // 2)
        _engine.set_work_limit(config.limits.work_memory)
        budget = _engine.MemoryBudget(
            config.limits.shm_limit,
            lock.region_prefix,
            group=listen.group_id(config.listen),
        )
        self._peers = Peers(config.peers.peers, self._peer_token, _peer_certificate(config))
        self._service = Service(
            self._catalog, self._plan, config.limits, budget, lock, PeerAccess(self._peers)
        )
        self._service.set_slow_request(config.log.slow_request_s)
        self._health = health.aio.HealthServicer()
        # Socket and TCP have a gRPC server each, because a server's options hold for all of its
        # addresses.
        self._socket_server = _new_server(is_socket=True)
        self._tcp_server = None if config.listen.tcp is None else _new_server(is_socket=False)
        self._servers = [self._socket_server, *([self._tcp_server] if self._tcp_server else [])]
        self._warm_start = WarmStart(config.warm)
        self._certificate: ServedCertificate | None = None
        self._side_port: SidePort | None = None
        self._watchdog = Watchdog()
        self._stop = asyncio.Event()
        self._reloading: asyncio.Task[None] | None = None
        self._reload_wanted = False
        self.work_goes_on = False
        """After run(): whether work that cannot be interrupted is still running."""

    def _peer_token(self) -> bytes | None:
        """The token for calls to peers: all daemons of one dataset have the same one."""
        return self._service.tcp_token

    async def run(self) -> None:
        await self._start()
        await self._serve()
        await self._shutdown()

    async def _start(self) -> None:
        for server in self._servers:
            add_SamplerServiceServicer_to_server(self._service, server)
            health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
            names = (_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, server)
        doors = self._open_doors()
        await start_housekeepers()
        loop = asyncio.get_running_loop()
        _engine.never_wait_on_this_thread()  # brief requests run here
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told_to_stop, number)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        self._service.watch_memory(loop)
        for server in self._servers:
            await server.start()
        fail_point("server.listening")
        if self._side_port is not None:
            self._side_port.start(loop)
        await self._set_health(health_pb2.HealthCheckResponse.SERVING)
        if self._lock.swept:
            log.info("removed %d shared-memory regions of a daemon that died", self._lock.swept)
        self._tell_start(doors)
        notify("READY=1")
        self._warm_start.begin(self._catalog.all(), self._plan.row_cache)
        if hangup_came():
            self._reload()

    def _tell_start(self, doors: list[Door]) -> None:
        """Prints banner and warnings for people on the terminal, or logs them as JSON."""
        told = banner(self._config, self._catalog, self._plan.row_cache, doors)
        if self._config.log.log_format == "json":
            for warning in self._warnings(doors):
                log.warning("%s", warning)
            for line in told.splitlines():
                log.info("%s", line.strip())
            return
        for warning in self._warnings(doors):
            print(line_text(f"warning: {warning}", 2000), file=sys.stderr, flush=True)
        print(told, flush=True)

    def _open_doors(self) -> list[Door]:
        """Binds TCP before the Unix socket: TCP can fail, and then nobody should be connected."""
        config = self._config.listen
        doors = []
        secrets = Secrets.read(config.tls, config.token_file)
        self._service.tcp_token = secrets.token  # also for calls of peers, which need no --listen
        if config.tcp is not None:
            if secrets.key_and_certificate is not None:
                self._certificate = ServedCertificate(secrets.key_and_certificate)
            doors = listen.bind_tcp(self._tcp_server, config.tcp, self._certificate)
        if config.http is not None:
            # Imported only if it is used, because it costs 3 MB and a tenth of a second.
            from graphzero.server.web.side_port import SidePort

            self._side_port = SidePort(config.http, secrets.token, self._service)
            doors += self._side_port.doors
        return [listen.bind_socket(self._socket_server, config), *doors]

    def _warnings(self, doors: Iterable[Door]) -> Iterator[str]:
        for name, why in self._catalog.left_out.items():
            yield f"dataset {quoted(name)} is left out: {why}"
        yield from (door.warning for door in doors if door.warning)
        yield from machine.warnings(self._config, self._catalog.num_files)
        yield from read_plan.problems(self._catalog.all())
        for dataset in self._catalog.all():
            if dataset.shard is not None and not self._peers.given:
                yield (
                    f"{dataset.name} is part {dataset.shard.part} of {dataset.shard.parts}, and "
                    "there are no --peers: requests for rows of other parts will fail"
                )

    def _told_to_stop(self, number: int) -> None:
        if not self._stop.is_set():
            self._stop.set()
            return
        # A second signal means: do not wait for requests, not even for those that hang.
        log.warning("stopping at once: told to a second time")
        self._config.listen.socket.unlink(missing_ok=True)
        self._lock.release()
        logging.shutdown()
        os._exit(128 + number)

    async def _serve(self) -> None:
        every_s = min(_HOUSEKEEPING_EVERY_S, self._watchdog.every_s)
        while not self._stop.is_set():
            try:
                await asyncio.wait_for(self._stop.wait(), every_s)
            except asyncio.TimeoutError:
                await self._keep_house()
                self._watchdog.feed()

    async def _keep_house(self) -> None:
        tell_omitted(log)
        self._service.remember()
        await self._service.trim_memory()
        if self._config.life.session_idle_timeout_s is not None:
            self._service.end_idle_sessions(self._config.life.session_idle_timeout_s)
        idle_exit = self._config.life.idle_exit_s
        if idle_exit is not None and self._service.idle_seconds() > idle_exit:
            log.info("no session for %.0f s", idle_exit)
            self._stop.set()

    def _reload(self) -> None:
        """Handles SIGHUP. A SIGHUP during a reload causes another one, for later changes."""
        self._reload_wanted = True
        notify_reloading()
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.create_task(self._reload_until_nobody_asks())

    async def _reload_until_nobody_asks(self) -> None:
        while self._reload_wanted and not self._stop.is_set():
            self._reload_wanted = False
            try:
                await self._reload_options()
                await self._reload_datasets()
            except (GraphZeroError, OSError, ValueError) as error:
                log.error("reload failed, serving as before: %s", error_text(error))
            except Exception:  # a fault of the daemon; the service manager waits for READY=1
                log.exception("reload failed, serving as before")
        if not self._stop.is_set():
            notify("READY=1")  # also after a failed reload: the daemon serves as before

    async def _reload_datasets(self) -> None:
        started = time.monotonic()
        version = await asyncio.to_thread(self._catalog.read)
        self._catalog.adopt(version)
        self._warm_start.begin(self._catalog.all(), self._plan.row_cache)
        self._log_reload(version, time.monotonic() - started)

    async def _reload_options(self) -> None:
        """Reads options, token and certificates again, and takes over all of them or none."""

        def read() -> tuple[ReloadedOptions, Secrets, ssl.SSLContext | None, bytes | None]:
            found = reload_options(self._config, self._read_config())
            listening = found.config.listen
            secrets = Secrets.read(listening.tls, listening.token_file)
            port = self._side_port
            web_tls = None if port is None else port.read_tls(listening.tls)
            return found, secrets, web_tls, _peer_certificate(found.config)

        try:
            found, secrets, web_tls, peer_certificate = await asyncio.to_thread(read)
        except (GraphZeroError, OSError, ValueError) as error:
            log.error("options, token and certificates stay as they were: %s", error_text(error))
            return
        self._config = found.config
        self._catalog.max_sessions = found.config.limits.max_sessions
        self._service.set_limits(found.config.limits)
        self._service.set_slow_request(found.config.log.slow_request_s)
        set_up_log(found.config.log.log_level, found.config.log.log_format)
        self._service.tcp_token = secrets.token
        if self._certificate is not None and secrets.key_and_certificate is not None:
            self._certificate.replace(secrets.key_and_certificate)
        if self._side_port is not None:
            self._side_port.replace_secrets(secrets.token, web_tls)
        if self._peers.replace_root_certificate(peer_certificate):
            log.info("from now on peers are checked by another certificate")
        for change in found.changed:
            log.info("from now on: %s", change)
        for change in found.needs_restart:
            log.warning("needs a restart: %s", change)

    def _log_reload(self, version: Version, seconds: float) -> None:
        for name, why in version.left_out.items():
            log.error("dataset %s is left out: %s", quoted(name), why)
        for name, why in version.outdated.items():
            log.error("dataset %s stays as it was: %s", quoted(name), why)
        names = [name if new else f"{name} (unchanged)" for name, new in version.is_new.items()]
        log.info("reloaded %d datasets in %.3f s: %s", len(names), seconds, ", ".join(names))

    async def _shutdown(self) -> None:
        notify("STOPPING=1")
        self._warm_start.stop()
        log.info("stopping: finishing requests")
        await self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        deadline = time.monotonic() + self._config.life.drain_timeout_s
        await self._service.drain(self._config.life.drain_timeout_s)
        # stop() waits without limit for trainers that do not read their answers.
        stopping = asyncio.gather(*(server.stop(grace=0.1) for server in self._servers))
        stopped, _ = await asyncio.wait({stopping}, timeout=_LAST_MOMENT_S)
        if stopped:
            await _handlers_end()
        left_s = max(_LAST_MOMENT_S, deadline - time.monotonic())
        worked = self._service.shutdown(left_s)
        self._peers.close()
        reloaded = self._reloading is None or self._reloading.done()
        warmed = self._warm_start.join(_LAST_MOMENT_S)
        closed = self._side_port is None or self._side_port.stop(_LAST_MOMENT_S)
        self.work_goes_on = not (stopped and worked and reloaded and warmed and closed)

    async def _set_health(self, status: int) -> None:
        for name in ("", _SERVICE):
            await self._health.set(name, status)


def _peer_certificate(config: Config) -> bytes | None:
    return config.peers.certificate(sends_token=config.listen.token_file is not None)


def _new_server(*, is_socket: bool) -> Any:
    options = [
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        NO_DECOMPRESSION,
        *keepalive_options(is_socket=is_socket),
    ]
    return grpc.aio.server(interceptors=[MessageGuard()], options=options)


async def _handlers_end() -> None:
    """Waits for handlers that still run after the server has stopped: each one that is cut off
    would leave a traceback in the log."""
    handlers = asyncio.all_tasks() - {asyncio.current_task()}
    if handlers:
        await asyncio.wait(handlers, timeout=_LAST_MOMENT_S)
