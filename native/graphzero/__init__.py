"""graphzero: graphs larger than memory for training graph neural networks.

Names are imported on first use, so that `import graphzero` and the command line start without
NumPy and torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphzero.base.errors import FormatError, GraphZeroError, InputError
    from graphzero.base.version import __version__
    from graphzero.client.async_client import AsyncClient, aconnect
    from graphzero.client.batches.batch import Batch
    from graphzero.client.batches.layers import Layer
    from graphzero.client.batches.typed_batch import TypedBatch
    from graphzero.client.batches.typed_layers import TypedLayer
    from graphzero.client.client import Client
    from graphzero.client.connect import connect
    from graphzero.client.dataset.info import (
        ClientInfo,
        ColumnInfo,
        DatasetInfo,
        RelationInfo,
        TypeInfo,
    )
    from graphzero.client.errors import (
        AccessDenied,
        ClientError,
        DatasetChanged,
        InvalidRequest,
        NotFound,
        RequestCancelled,
        RequestTimeout,
        ResourceExhausted,
        ServerError,
        ServerUnavailable,
        SessionEnded,
        SharedMemoryUnavailable,
        StartFailed,
    )
    from graphzero.client.loader.loader import Loader
    from graphzero.conversion.compile_features import convert_csv_to_gd, write_features
    from graphzero.conversion.compile_graph import convert_csv_to_gl, write_graph
    from graphzero.conversion.convert import ConversionReport
    from graphzero.conversion.generate import GenerationReport, generate
    from graphzero.conversion.imports import (
        import_dgl,
        import_files,
        import_folder,
        import_networkx,
        import_pyg,
        import_scipy,
        import_tables,
    )
    from graphzero.conversion.ordering import OrderReport
    from graphzero.conversion.quantise import QuantiseReport, quantise
    from graphzero.conversion.reorder import reorder
    from graphzero.conversion.typed_plan import TypedConversionReport
    from graphzero.embedded.features import FeatureStore
    from graphzero.embedded.graph import Graph
    from graphzero.embedded.labor import Labor
    from graphzero.embedded.link_request import Negatives
    from graphzero.embedded.results import SampledLinks, SampledSubgraph, SampleResult, Walks
    from graphzero.embedded.typed_results import TypedResult, TypedSample
    from graphzero.exporting.export import ExportReport, export_dataset
    from graphzero.files.categories import Categories
    from graphzero.files.dtypes import DataType
    from graphzero.files.original_ids import OriginalIds
    from graphzero.files.quantisation import Quantisation
    from graphzero.files.verify import VerificationReport, verify
    from graphzero.transfer.fetch import FetchReport, fetch
    from graphzero.transfer.push import push
    from graphzero.transfer.shard import ShardReport, shard_dataset

_HOMES = {
    "AccessDenied": "client.errors",
    "AsyncClient": "client.async_client",
    "Batch": "client.batches.batch",
    "Categories": "files.categories",
    "Client": "client.client",
    "ClientError": "client.errors",
    "ClientInfo": "client.dataset.info",
    "ColumnInfo": "client.dataset.info",
    "ConversionReport": "conversion.convert",
    "DataType": "files.dtypes",
    "DatasetChanged": "client.errors",
    "DatasetInfo": "client.dataset.info",
    "ExportReport": "exporting.export",
    "FeatureStore": "embedded.features",
    "FetchReport": "transfer.fetch",
    "FormatError": "base.errors",
    "GenerationReport": "conversion.generate",
    "Graph": "embedded.graph",
    "GraphZeroError": "base.errors",
    "InputError": "base.errors",
    "InvalidRequest": "client.errors",
    "Labor": "embedded.labor",
    "Layer": "client.batches.layers",
    "Loader": "client.loader.loader",
    "Negatives": "embedded.link_request",
    "NotFound": "client.errors",
    "OrderReport": "conversion.ordering",
    "OriginalIds": "files.original_ids",
    "Quantisation": "files.quantisation",
    "QuantiseReport": "conversion.quantise",
    "RelationInfo": "client.dataset.info",
    "RequestCancelled": "client.errors",
    "RequestTimeout": "client.errors",
    "ResourceExhausted": "client.errors",
    "SampleResult": "embedded.results",
    "SampledLinks": "embedded.results",
    "SampledSubgraph": "embedded.results",
    "ServerError": "client.errors",
    "ServerUnavailable": "client.errors",
    "SessionEnded": "client.errors",
    "ShardReport": "transfer.shard",
    "SharedMemoryUnavailable": "client.errors",
    "StartFailed": "client.errors",
    "TypeInfo": "client.dataset.info",
    "TypedBatch": "client.batches.typed_batch",
    "TypedLayer": "client.batches.typed_layers",
    "TypedResult": "embedded.typed_results",
    "TypedConversionReport": "conversion.typed_plan",
    "TypedSample": "embedded.typed_results",
    "VerificationReport": "files.verify",
    "Walks": "embedded.results",
    "__version__": "base.version",
    "aconnect": "client.async_client",
    "connect": "client.connect",
    "convert_csv_to_gd": "conversion.compile_features",
    "convert_csv_to_gl": "conversion.compile_graph",
    "export_dataset": "exporting.export",
    "fetch": "transfer.fetch",
    "generate": "conversion.generate",
    "import_dgl": "conversion.imports",
    "import_files": "conversion.imports",
    "import_folder": "conversion.imports",
    "import_networkx": "conversion.imports",
    "import_pyg": "conversion.imports",
    "import_scipy": "conversion.imports",
    "import_tables": "conversion.imports",
    "push": "transfer.push",
    "reorder": "conversion.reorder",
    "quantise": "conversion.quantise",
    "shard_dataset": "transfer.shard",
    "verify": "files.verify",
    "write_features": "conversion.compile_features",
    "write_graph": "conversion.compile_graph",
}

__all__ = [
    "AccessDenied",
    "AsyncClient",
    "Batch",
    "Categories",
    "Client",
    "ClientError",
    "ClientInfo",
    "ColumnInfo",
    "ConversionReport",
    "DataType",
    "DatasetChanged",
    "DatasetInfo",
    "ExportReport",
    "FeatureStore",
    "FetchReport",
    "FormatError",
    "GenerationReport",
    "Graph",
    "GraphZeroError",
    "InputError",
    "InvalidRequest",
    "Labor",
    "Layer",
    "Loader",
    "Negatives",
    "NotFound",
    "OrderReport",
    "OriginalIds",
    "Quantisation",
    "QuantiseReport",
    "RelationInfo",
    "RequestCancelled",
    "RequestTimeout",
    "ResourceExhausted",
    "SampleResult",
    "SampledLinks",
    "SampledSubgraph",
    "ServerError",
    "ServerUnavailable",
    "SessionEnded",
    "ShardReport",
    "SharedMemoryUnavailable",
    "StartFailed",
    "TypeInfo",
    "TypedBatch",
    "TypedConversionReport",
    "TypedLayer",
    "TypedResult",
    "TypedSample",
    "VerificationReport",
    "Walks",
    "__version__",
    "aconnect",
    "connect",
    "convert_csv_to_gd",
    "convert_csv_to_gl",
    "export_dataset",
    "fetch",
    "generate",
    "import_dgl",
    "import_files",
    "import_folder",
    "import_networkx",
    "import_pyg",
    "import_scipy",
    "import_tables",
    "push",
    "quantise",
    "reorder",
    "shard_dataset",
    "verify",
    "write_features",
    "write_graph",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'graphzero' has no attribute {name!r}")
    value = getattr(import_module(f"graphzero.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
