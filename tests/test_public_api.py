"""The names of the package. A name that appears or vanishes is a decision, not an accident."""

import dataclasses

import graphzero as gz
import pytest

PUBLIC = {
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
    "ShardReport",
    "SharedMemoryUnavailable",
    "SessionEnded",
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
    "reorder",
    "quantise",
    "shard_dataset",
    "verify",
    "write_features",
    "write_graph",
}
GRAPH = {
    "batch_random_fanout",
    "batch_random_walk",
    "batch_random_walk_uniform",
    "byte_size",
    "fingerprint",
    "get_degree",
    "get_edge_ids",
    "get_neighbours",
    "get_weights",
    "has_direction",
    "has_edge_ids",
    "has_weights",
    "is_symmetric",
    "num_edges",
    "num_nodes",
    "path",
    "random_walk",
    "sample",
    "sample_links",
    "sample_neighbours",
    "get_times",
    "relations",
    "time_unit",
    "types",
    "warm",
}
FEATURE_STORE = {
    "dtype",
    "byte_size",
    "columns",
    "feature_dim",
    "has_categories",
    "unit",
    "fingerprint",
    "gather",
    "get_data",
    "get_tensor",
    "num_nodes",
    "path",
    "quantisation",
    "role",
    "row_bytes",
    "shape",
    "warm",
}

CLIENT = {
    "close",
    "column",
    "datasets",
    "categories",
    "find_nodes",
    "gather",
    "info",
    "link_loader",
    "loader",
    "original_ids",
    "random_walk",
    "sample",
    "sample_async",
    "sample_links",
}
ASYNC_CLIENT = CLIENT - {"close", "link_loader", "loader", "sample_async"} | {"aclose"}
LOADER = {"load_state_dict", "set_epoch", "share", "state_dict"}
BATCH = {
    "clone",
    "keys",
    "layers",
    "num_edges",
    "num_nodes",
    "numpy",
    "pin_memory",
    "release",
    "to",
    "to_dgl_blocks",
    "to_pyg",
}
TYPED_BATCH = BATCH - {"keys", "num_edges", "num_nodes"} | {
    "collect",
    "edge_types",
    "metadata",
    "node_types",
    "num_sampled_edges",
    "num_sampled_nodes",
    "seed_time",
    "source_index",
    "target_index",
}


def public_names(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_package_has_exactly_these_names():
    assert set(gz.__all__) == PUBLIC
    assert dir(gz) == sorted(PUBLIC)


def test_every_name_resolves():
    for name in gz.__all__:
        assert getattr(gz, name) is not None


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (gz.Graph, GRAPH),
        (gz.FeatureStore, FEATURE_STORE),
        (gz.Client, CLIENT),
        (gz.AsyncClient, ASYNC_CLIENT),
        (gz.Loader, LOADER),
        (gz.Batch, BATCH),
        (gz.TypedBatch, TYPED_BATCH),
    ],
)
def test_classes_have_exactly_these_names(kind, names):
    assert public_names(kind) == names


@pytest.mark.parametrize(
    "kind", [gz.Graph, gz.FeatureStore, gz.Client, gz.AsyncClient, gz.Loader, gz.Batch]
)
def test_every_public_method_says_what_it_does(kind):
    methods = {name: getattr(kind, name) for name in public_names(kind)}
    assert [name for name, method in methods.items() if not method.__doc__] == []


def test_errors_can_be_caught_as_the_package_s_own_and_as_value_errors():
    for error in (gz.FormatError, gz.InputError):
        assert issubclass(error, gz.GraphZeroError)
        assert issubclass(error, ValueError)


def test_results_of_a_graph_and_of_a_daemon_are_related():
    assert issubclass(gz.Batch, gz.SampleResult)
    assert issubclass(gz.SampledSubgraph, gz.SampleResult)
    assert issubclass(gz.TypedBatch, gz.TypedResult)
    assert issubclass(gz.TypedSample, gz.TypedResult)
    assert issubclass(gz.SampledLinks, gz.SampledSubgraph)
    fields = {field.name for field in dataclasses.fields(gz.SampledSubgraph)}
    assert fields == set(gz.SampleResult.__annotations__)


@pytest.mark.parametrize("name", sorted(PUBLIC - {"__version__"}))
def test_every_public_name_is_documented(name):
    assert getattr(gz, name).__doc__
