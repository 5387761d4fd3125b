"""Loaders: which nodes or links make the batches of an epoch, and asking for them ahead."""
