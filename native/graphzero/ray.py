"""Daemons on the nodes of a Ray cluster: `pip install graphzero-server[ray]`."""

from graphzero.base.extras import import_extra

# Imports ray.util, because any folder named ray on sys.path would import as `ray`.
import_extra("ray.util", "ray", "graphzero.ray needs Ray")

from graphzero.client.ray.daemons import Daemons  # noqa: E402

__all__ = ["Daemons"]
