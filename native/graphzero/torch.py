"""Batches for plain torch: `pip install graphzero-server[torch]`."""

from graphzero.base.lazy_torch import import_torch

import_torch("graphzero.torch needs torch")

from graphzero.client.torch_dataset import BatchDataset  # noqa: E402

__all__ = ["BatchDataset"]
