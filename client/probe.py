"""Asks a daemon how it is, without opening a session."""

from __future__ import annotations

import os

import grpc
from graphzero.client.address import find_address
from graphzero.client.errors import ServerUnavailable
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub


def daemon_stats(
    address: str | os.PathLike[str] | None = None, *, timeout: float = 5.0
) -> pb.GetStatsResponse:
    """Raises ServerUnavailable if no daemon answers in time."""
    found = find_address(address)
    found.require_trusted()
    if found.secure:
        credentials = grpc.ssl_channel_credentials(found.root_certificate)
        channel = grpc.secure_channel(found.target, credentials)
    else:
        channel = grpc.insecure_channel(found.target)
    metadata = [("authorization", f"Bearer {found.token}")] if found.token else []
    with channel:
        try:
            stats: pb.GetStatsResponse = SamplerServiceStub(channel).GetStats(
                pb.GetStatsRequest(), timeout=timeout, metadata=metadata
            )
        except grpc.RpcError as error:
            raise ServerUnavailable(f"{found}: no answer: {error.details()}") from error
    return stats
