"""graphzero: graphs larger than memory for training graph neural networks.

Names are imported on first use, so that `import graphzero` and the command line start without
NumPy and torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphzero._categories import Categories
    from graphzero._compile_features import convert_csv_to_gd, write_features
    from graphzero._compile_graph import convert_csv_to_gl, write_graph
    from graphzero._dtypes import DataType
    from graphzero._errors import FormatError, GraphZeroError, InputError
    from graphzero._export import export_dataset
    from graphzero._features import FeatureStore
    from graphzero._graph import Graph
    from graphzero._imports import (
        import_dgl,
        import_files,
        import_folder,
        import_networkx,
        import_pyg,
        import_scipy,
    )
    from graphzero._links import Negatives
    from graphzero._original_ids import OriginalIds
    from graphzero._version import __version__
    from graphzero.client.batch import Batch, Walks
    from graphzero.client.client import Client
    from graphzero.client.connect import connect
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
        SharedMemoryUnavailable,
        StartFailed,
    )
    from graphzero.client.loader import Loader

_HOMES = {
    "AccessDenied": "client.errors",
    "Batch": "client.batch",
    "Categories": "_categories",
    "Client": "client.client",
    "ClientError": "client.errors",
    "DataType": "_dtypes",
    "DatasetChanged": "client.errors",
    "FeatureStore": "_features",
    "FormatError": "_errors",
    "Graph": "_graph",
    "GraphZeroError": "_errors",
    "InputError": "_errors",
    "InvalidRequest": "client.errors",
    "Loader": "client.loader",
    "Negatives": "_links",
    "NotFound": "client.errors",
    "OriginalIds": "_original_ids",
    "RequestCancelled": "client.errors",
    "RequestTimeout": "client.errors",
    "ResourceExhausted": "client.errors",
    "ServerError": "client.errors",
    "ServerUnavailable": "client.errors",
    "SharedMemoryUnavailable": "client.errors",
    "StartFailed": "client.errors",
    "Walks": "client.batch",
    "__version__": "_version",
    "connect": "client.connect",
    "convert_csv_to_gd": "_compile_features",
    "convert_csv_to_gl": "_compile_graph",
    "export_dataset": "_export",
    "import_dgl": "_imports",
    "import_files": "_imports",
    "import_folder": "_imports",
    "import_networkx": "_imports",
    "import_pyg": "_imports",
    "import_scipy": "_imports",
    "write_features": "_compile_features",
    "write_graph": "_compile_graph",
}

__all__ = [
    "AccessDenied",
    "Batch",
    "Categories",
    "Client",
    "ClientError",
    "DataType",
    "DatasetChanged",
    "FeatureStore",
    "FormatError",
    "Graph",
    "GraphZeroError",
    "InputError",
    "InvalidRequest",
    "Loader",
    "Negatives",
    "NotFound",
    "OriginalIds",
    "RequestCancelled",
    "RequestTimeout",
    "ResourceExhausted",
    "ServerError",
    "ServerUnavailable",
    "SharedMemoryUnavailable",
    "StartFailed",
    "Walks",
    "__version__",
    "connect",
    "convert_csv_to_gd",
    "convert_csv_to_gl",
    "export_dataset",
    "import_dgl",
    "import_files",
    "import_folder",
    "import_networkx",
    "import_pyg",
    "import_scipy",
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
    return sorted(set(globals()) | set(__all__))
