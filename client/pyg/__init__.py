"""PyG's interfaces over a client. Users import them from `graphzero.pyg`."""
