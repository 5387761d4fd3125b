"""Answers beyond gRPC's usual limit of 4 MiB: descriptions of very many datasets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from graphzero.client.connection.address import find_address
from graphzero.client.connection.stream import list_datasets
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto import graphzero_pb2_grpc as pb_grpc

DATASETS = 100_000


class Catalog(pb_grpc.SamplerServiceServicer):
    def ListDatasets(self, request: Any, context: Any) -> pb.ListDatasetsResponse:
        names = (f"a dataset with a rather long name, number {n}" for n in range(DATASETS))
        return pb.ListDatasetsResponse(datasets=[pb.Dataset(name=name) for name in names])


def test_a_client_reads_the_list_of_very_many_datasets() -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    pb_grpc.add_SamplerServiceServicer_to_server(Catalog(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        found = list_datasets(find_address(f"127.0.0.1:{port}"), timeout=60)
    finally:
        server.stop(0).wait()
    assert found.ByteSize() > 4 << 20
    assert len(found.datasets) == DATASETS
