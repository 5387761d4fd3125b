"""The names of the package. A name that appears or vanishes is a decision, not an accident."""

import graphzero as gz

PUBLIC = {
    "AccessDenied",
    "Batch",
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
    "plan",
    "random_walk",
    "read_by",
    "sample",
    "sample_links",
    "sample_neighbours",
    "staged",
    "topology",
    "warm",
}
FEATURE_STORE = {
    "dtype",
    "byte_size",
    "feature_dim",
    "fingerprint",
    "gather",
    "get_data",
    "get_tensor",
    "matrix",
    "num_nodes",
    "path",
    "read_by",
    "role",
    "row_bytes",
    "rows",
    "shape",
    "warm",
}


def public_names(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_package_has_exactly_these_names():
    assert set(gz.__all__) == PUBLIC
    assert set(dir(gz)) >= PUBLIC


def test_every_name_resolves():
    for name in gz.__all__:
        assert getattr(gz, name) is not None


def test_graph_has_exactly_these_names():
    assert public_names(gz.Graph) == GRAPH


def test_feature_store_has_exactly_these_names():
    assert public_names(gz.FeatureStore) == FEATURE_STORE


def test_errors_can_be_caught_as_the_package_s_own_and_as_value_errors():
    for error in (gz.FormatError, gz.InputError):
        assert issubclass(error, gz.GraphZeroError)
        assert issubclass(error, ValueError)
