"""Samplers with one mistake each. The tests that the engine passes must fail for them.

They are written against the reference sampler, whose output is the engine's byte for byte, and not
compiled into the engine: a switch that makes the shipped sampler wrong would be one more thing that
can go wrong.
"""

from reference_sampler import Draws, ReferenceSampler


class IgnoresWeights(ReferenceSampler):
    def pick_weighted(self, weights, k, replace, draws):
        return self.pick_uniform(len(weights), k, replace, draws)


class WeightsOnlyTheFirstDraw(ReferenceSampler):
    """Keeps what it has drawn in the running for the next draw, and then skips it."""

    def pick_weighted(self, weights, k, replace, draws):
        chosen = super().pick_weighted(weights, 1, replace, draws)
        rest = [i for i in range(len(weights)) if i not in chosen and weights[i] > 0]
        return chosen + [rest[i] for i in self.pick_uniform(len(rest), k - 1, False, draws)]


class OffByOne(ReferenceSampler):
    """Never draws the last position."""

    def below(self, draws, bound):
        return draws.below(max(bound - 1, 1))


class FloydWithoutReplacing(ReferenceSampler):
    """Takes the next free position instead of the last one when a draw is taken."""

    def pick_uniform(self, degree, k, replace, draws):
        if replace or k == -1 or k >= degree:
            return super().pick_uniform(degree, k, replace, draws)
        chosen = []
        for last in range(degree - k, degree):
            position = draws.below(last + 1)
            while position in chosen:
                position = (position + 1) % degree
            chosen.append(position)
        return chosen


class OneStreamPerThread(ReferenceSampler):
    """Every thread has a generator of its own, from which its nodes draw one after the other."""

    def sample(self, seeds, fanout, **options):
        self.streams = {}
        self.threads = options.get("threads", 1)
        self.calls = 0
        return super().sample(seeds, fanout, **options)

    def node_draws(self, seed, weighted, hop, node, occurrence):
        self.calls += 1
        rank = self.calls % self.threads
        return self.streams.setdefault(rank, Draws(seed).child(rank))


class SameSeedEveryEpoch(ReferenceSampler):
    def sample(self, seeds, fanout, **options):
        return super().sample(seeds, fanout, **{**options, "seed": 0})


def below_by_modulo(draws: Draws, bound: int) -> int:
    return draws.next() % bound


def below_without_rejection(draws: Draws, bound: int) -> int:
    return draws.next() * bound >> 64
