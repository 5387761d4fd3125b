"""Asks a daemon how it is, without opening a session."""

from __future__ import annotations

import os

from graphzero._grpc_setup import import_grpc
from graphzero.client.address import find_address
from graphzero.client.errors import ServerUnavailable
from graphzero.client.stream import call_metadata, open_channel
from graphzero.proto import graphzero_pb2 as pb


def daemon_stats(
    address: str | os.PathLike[str] | None = None,
    *,
    timeout: float = 5.0,
    root_certificate: str | os.PathLike[str] | None = None,
    plaintext_token: bool = False,
) -> pb.GetStatsResponse:
    """Raises ServerUnavailable if no daemon answers in time; the rest as connect() has it."""
    grpc = import_grpc()
    from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub

    found = find_address(
        address, root_certificate=root_certificate, plaintext_token=plaintext_token
    )
    found.require_trusted()
    with open_channel(found) as channel:
        try:
            stats: pb.GetStatsResponse = SamplerServiceStub(channel).GetStats(
                pb.GetStatsRequest(), timeout=timeout, metadata=call_metadata(found)
            )
        except grpc.RpcError as error:
            raise ServerUnavailable(f"{found}: no answer: {error.details()}") from error
    return stats
