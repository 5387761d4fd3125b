"""Calls to a daemon that need no session: statistics, health, ending sessions, reading files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphzero.client.connection.address import Address, find_address
from graphzero.client.connection.stream import call_metadata, exception_of, open_channel
from graphzero.client.errors import AccessDenied, ServerUnavailable
from graphzero.proto import graphzero_pb2 as pb
from graphzero.transport.admin_key import METADATA_NAME, read_admin_key
from graphzero.transport.grpc_setup import import_grpc

# Time limit of one call, which reads up to 64 MiB and may wait behind others that do the same. A
# daemon that is gone is noticed sooner.
_LONGEST_READ_S = 1800.0


class DaemonCalls:
    """The calls of one channel; see open_calls()."""

    def __init__(self, channel: Any, address: Address, timeout: float) -> None:
        from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub

        self._channel = channel
        self._address = address
        self._timeout = timeout
        self._stub = SamplerServiceStub(channel)

    def stats(self) -> pb.GetStatsResponse:
        """What the daemon is doing."""
        stats: pb.GetStatsResponse = self._call(self._stub.GetStats, pb.GetStatsRequest())
        return stats

    def require_serving(self) -> None:
        """Raises ServerUnavailable if the daemon answers, but its health service says that it takes
        no sessions, for instance because it is stopping."""
        from grpc_health.v1 import health_pb2, health_pb2_grpc

        check = health_pb2_grpc.HealthStub(self._channel).Check
        answer = self._call(check, health_pb2.HealthCheckRequest())
        if answer.status != health_pb2.HealthCheckResponse.SERVING:
            status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
            raise ServerUnavailable(
                f"{self._address}: the daemon answers, but takes no sessions: its health is "
                f"{status}; it is stopping, or not ready yet"
            )

    def end_session(self, session_id: int, reason: str = "") -> pb.EndSessionResponse:
        """Ends a trainer's session. Raises NotFound if there is none of that id, AccessDenied if
        this user is neither the daemon's nor root."""
        request = pb.EndSessionRequest(session_id=session_id, reason=reason)
        key = (METADATA_NAME, self._admin_key())
        ended: pb.EndSessionResponse = self._call(self._stub.EndSession, request, key)
        return ended

    def files(self, dataset: str = "") -> pb.ListFilesResponse:
        """The files of a dataset that it serves; "" stands for the only one. Raises NotFound."""
        found: pb.ListFilesResponse = self._call(
            self._stub.ListFiles, pb.ListFilesRequest(dataset=dataset)
        )
        return found

    def read_file(
        self,
        dataset: str,
        fingerprint: bytes,
        file: str,
        offset: int,
        size: int,
        *,
        checksums_only: bool = False,
    ) -> Iterator[pb.ReadFileResponse]:
        """Pieces of a file, or their checksums. Raises InvalidRequest if the dataset has another
        fingerprint, RequestTimeout if the caller takes the pieces too slowly for the daemon."""
        request = pb.ReadFileRequest(
            dataset=dataset,
            expected_fingerprint=fingerprint,
            file=file,
            offset=offset,
            byte_size=size,
            checksums_only=checksums_only,
        )
        grpc = import_grpc()
        call = self._stub.ReadFile(
            request, metadata=call_metadata(self._address), timeout=_LONGEST_READ_S
        )
        try:
            yield from call
        except grpc.RpcError as error:
            raise exception_of(error, self._address, answered=True) from None
        finally:
            call.cancel()  # if the caller stops early, the daemon must not go on writing

    def _admin_key(self) -> str:
        socket = self._address.socket
        if socket is None:
            raise AccessDenied(
                f"{self._address}: sessions can be ended over the daemon's Unix socket only, on "
                "its machine; the socket stands in the daemon's start-up lines"
            )
        try:
            return read_admin_key(socket)
        except PermissionError as error:
            raise AccessDenied(
                f"{error.filename}: uid {os.geteuid()} may not read it: only the daemon's user and "
                "root may end sessions"
            ) from None

    def _call(self, method: Any, request: Any, *metadata: tuple[str, str]) -> Any:
        grpc = import_grpc()
        try:
            return method(
                request,
                timeout=self._timeout,
                metadata=[*call_metadata(self._address), *metadata],
            )
        except grpc.RpcError as error:
            raise exception_of(error, self._address) from None


@contextmanager
def open_calls(
    address: str | os.PathLike[str] | None = None,
    *,
    timeout: float = 5.0,
    token: str | None = None,
    root_certificate: str | os.PathLike[str] | None = None,
    plaintext_token: bool = False,
    server_uid: int | None = None,
) -> Iterator[DaemonCalls]:
    """Calls raise RequestTimeout if the daemon does not answer within `timeout` seconds. The other
    arguments are those of connect()."""
    found = find_address(
        address,
        token=token,
        root_certificate=root_certificate,
        plaintext_token=plaintext_token,
        server_uid=server_uid,
    )
    # Root may look at the daemon of any user: its answers are only shown, and the only secret that
    # is sent to it is the key that lies beside its own socket.
    if found.socket is not None and found.server_uid is None and os.geteuid() == 0:
        found = replace(found, server_uid=_owner(found.socket))
    found.require_trusted()
    with open_channel(found) as channel:
        yield DaemonCalls(channel, found, timeout)


def daemon_stats(
    address: str | os.PathLike[str] | None = None, **arguments: Any
) -> pb.GetStatsResponse:
    """The statistics of a daemon, by one call; arguments are those of open_calls()."""
    with open_calls(address, **arguments) as calls:
        return calls.stats()


def _owner(socket: Path) -> int | None:
    try:
        return socket.lstat().st_uid
    except OSError:  # connecting will raise it
        return None
