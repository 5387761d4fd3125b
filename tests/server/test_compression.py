"""Compressed messages are never decompressed: a short one could take all memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import graphzero as gz
import grpc
import pytest
from graphzero.client.connection.address import find_address
from graphzero.client.connection.stream import list_datasets
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto import graphzero_pb2_grpc as pb_grpc
from graphzero.server.peers.directory import Peers
from graphzero.transport.host_port import parse_host_port

LARGE = "x" * (1 << 20)


class Compressing(pb_grpc.SamplerServiceServicer):
    def ListDatasets(self, request: Any, context: Any) -> pb.ListDatasetsResponse:
        context.set_compression(grpc.Compression.Gzip)
        return pb.ListDatasetsResponse(datasets=[pb.Dataset(name=LARGE)])


@pytest.fixture
def compressing() -> Iterator[str]:
    """The address of a server that sends compressed answers."""
    server = grpc.server(ThreadPoolExecutor(1))
    pb_grpc.add_SamplerServiceServicer_to_server(Compressing(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(0).wait()


def test_a_daemon_refuses_compressed_requests(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--listen", "127.0.0.1:0")
    for address in (daemon.address, daemon.tcp_address):
        with grpc.insecure_channel(address) as channel:
            files = pb_grpc.SamplerServiceStub(channel).ListFiles
            request = pb.ListFilesRequest(dataset=LARGE)
            with pytest.raises(grpc.RpcError) as failure:
                files(request, compression=grpc.Compression.Gzip)
            assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            with pytest.raises(grpc.RpcError) as failure:
                files(request)
            assert failure.value.code() is grpc.StatusCode.NOT_FOUND


def test_a_client_refuses_compressed_answers(compressing: str) -> None:
    with pytest.raises(gz.ServerError, match="Exception deserializing response"):
        list_datasets(find_address(compressing), timeout=60)


def test_a_daemon_refuses_compressed_answers_of_peers(compressing: str) -> None:
    peers = Peers([parse_host_port(compressing)], lambda: None, None)
    found = peers._ask_all({compressing: "127.0.0.1"}, {})
    peers.close()
    assert "Exception deserializing response" in found.silent[compressing]
