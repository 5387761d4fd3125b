"""The recipes of a session: a loader sends the same options with every batch, and reading them from
the message takes longer than a small sample, so the latest ones are kept."""

from __future__ import annotations

from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute.recipe import SampleRecipe, SeedSizes

# A session keeps at most this many recipes, made of messages of at most this many bytes.
_MOST_KEPT = 32
_LONGEST_KEPT = 4096


class Recipes:
    """The recipes of one session and its dataset. Thread-safe: at worst, two threads read the same
    one."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._kept: dict[bytes, SampleRecipe] = {}
        # of() is called for a request before and after it is queued.
        self._last: tuple[pb.Sample, SampleRecipe, SeedSizes] | None = None

    def of(self, request: pb.Sample) -> tuple[SampleRecipe, SeedSizes]:
        """The recipe and the sizes of a request whose seeds were taken out of the message. Raises
        the error with which the request is to be refused."""
        last = self._last
        if last is not None and last[0] is request:
            return last[1], last[2]
        sizes = SeedSizes.of(request)
        recipe = self._recipe_of(request, sizes)
        self._last = (request, recipe, sizes)
        return recipe, sizes

    def _recipe_of(self, request: pb.Sample, sizes: SeedSizes) -> SampleRecipe:
        asked = pb.Sample()
        asked.CopyFrom(request)
        asked.ClearField("seed")
        if asked.HasField("labor"):
            asked.labor.ClearField("batch")
            asked.labor.ClearField("run_seed")
        if sizes.counts:
            for seeds in asked.typed_seeds:
                seeds.count = 0
        if sizes.num_times:
            asked.temporal.num_times = 0
        key = asked.SerializeToString()
        recipe = self._kept.get(key)
        if recipe is None:
            recipe = SampleRecipe.read(self._dataset, asked)
            if len(key) <= _LONGEST_KEPT:
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = recipe
        return recipe
