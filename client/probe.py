"""Asks a daemon how it is, without opening a session."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphzero.client.address import Address, find_address
from graphzero.client.errors import ServerUnavailable
from graphzero.client.stream import call_metadata, exception_of, open_channel
from graphzero.proto import graphzero_pb2 as pb
from graphzero.transport.grpc_setup import import_grpc


def daemon_stats(
    address: str | os.PathLike[str] | None = None,
    *,
    timeout: float = 5.0,
    root_certificate: str | os.PathLike[str] | None = None,
    plaintext_token: bool = False,
    server_uid: int | None = None,
    serving: bool = False,
) -> pb.GetStatsResponse:
    """Raises RequestTimeout if the daemon does not answer in time; the rest as connect() has it.

    `serving`: raise ServerUnavailable also if it answers, but takes no sessions, because it is
    stopping for instance.
    """
    grpc = import_grpc()
    from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub

    found = find_address(
        address,
        root_certificate=root_certificate,
        plaintext_token=plaintext_token,
        server_uid=server_uid,
    )
    # Root may look at every daemon: what it tells is shown, and nothing is told to it.
    if found.socket is not None and server_uid is None and os.geteuid() == 0:
        found = replace(found, server_uid=_owner(found.socket))
    found.require_trusted()
    with open_channel(found) as channel:
        try:
            if serving:
                _require_serving(channel, found, timeout)
            stats: pb.GetStatsResponse = SamplerServiceStub(channel).GetStats(
                pb.GetStatsRequest(), timeout=timeout, metadata=call_metadata(found)
            )
        except grpc.RpcError as error:
            raise exception_of(error, found) from None
    return stats


def _owner(socket: Path) -> int | None:
    try:
        return socket.lstat().st_uid
    except OSError:  # told when it is connected to
        return None


def _require_serving(channel: Any, address: Address, timeout: float) -> None:
    """As gRPC's health service tells. Who asks for it is a program that looks after the daemon."""
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    answer = health_pb2_grpc.HealthStub(channel).Check(
        health_pb2.HealthCheckRequest(), timeout=timeout, metadata=call_metadata(address)
    )
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
        raise ServerUnavailable(
            f"{address}: the daemon answers, but takes no sessions: its health is {status}; it is "
            "stopping, or not ready yet"
        )
