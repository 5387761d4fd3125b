"""PyG's loaders, sampler, stores and Data over a daemon: `pip install graphzero-server[pyg]`.

    from graphzero.pyg import NeighborLoader  # instead of torch_geometric.loader

    loader = NeighborLoader("products", num_neighbors=[15, 10], batch_size=1024, shuffle=True)

Arguments have PyG's names, order and defaults. Batches have the fields of PyG's Data, or of its
HeteroData for a dataset with types. The first argument is a client, a dataset directory or an
address.
"""

from graphzero.base.extras import require_pyg

require_pyg("graphzero.pyg")

from graphzero.client.pyg.link_loader import LinkNeighborLoader  # noqa: E402
from graphzero.client.pyg.node_loader import NeighborLoader  # noqa: E402
from graphzero.client.pyg.sampler import GraphZeroSampler  # noqa: E402
from graphzero.client.pyg.served_data import ServedData, ServedHeteroData  # noqa: E402
from graphzero.client.pyg.stores import FeatureStore, GraphStore  # noqa: E402

__all__ = [
    "FeatureStore",
    "GraphStore",
    "GraphZeroSampler",
    "LinkNeighborLoader",
    "NeighborLoader",
    "ServedData",
    "ServedHeteroData",
]
