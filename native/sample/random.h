// Random numbers as a pure function of what they are for. See README.md, "Draws".
//
// A generator is one 64-bit state; output number i is Mix64(state + (i + 1) * kGoldenRatio), which
// is SplitMix64. A key such as (version, seed, domain, relation, hop, node, draw) is a path in a
// tree of such generators: the child for a word w of the key is the generator whose state is output
// w of its parent. Nothing is shared between threads and nothing depends on the order of the draws.
#pragma once

#include <cstdint>

#include "base/hash.h"

namespace graphzero::sample {

// Part of every key. Raise it with any change that makes the same request draw differently.
inline constexpr uint64_t kSamplerVersion = 1;

// What a draw is for. The numbers are part of the key: never reuse one.
enum class Domain : uint64_t {
  kNeighbours = 1,
  kWeightedNeighbours = 2,
  kWalks = 3,
  kNegatives = 4,
  kShuffles = 5,
  kFanout = 6,         // batch_random_fanout, sample_neighbours
  kRepeatedSeeds = 7,  // second and later occurrences of a seed
  kBatchSeeds = 8,     // a loader's batches
  kDisjoint = 9,       // neighbours of a disjoint sample
  kLabor = 10,         // numbers of nodes; keyed by type in place of relation
  kLaborWindows = 11,  // where the windows of a hop begin
};

// A generator: cheap to copy, and to split by a word of the key. Not thread-safe; make one per use.
class Draws {
 public:
  constexpr explicit Draws(uint64_t state) : state_(state) {}

  constexpr Draws Child(uint64_t word) const {
    return Draws(base::Mix64(state_ + (word + 1) * base::kGoldenRatio));
  }

  // The next draw: 64 uniform bits.
  constexpr uint64_t Next() { return base::Mix64(state_ += base::kGoldenRatio); }

  // Uniform in [0, bound), bound > 0. Multiply-shift, and the few values that would make some
  // results more likely than others are drawn again; `%` would keep that bias.
  constexpr uint64_t Below(uint64_t bound) {
    auto product = static_cast<unsigned __int128>(Next()) * bound;
    if (static_cast<uint64_t>(product) < bound) [[unlikely]] {
      const uint64_t excess = (0 - bound) % bound;  // 2^64 mod bound
      while (static_cast<uint64_t>(product) < excess) {
        product = static_cast<unsigned __int128>(Next()) * bound;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // True with probability threshold / 2^53, see ProbabilityThreshold().
  constexpr bool Happens(uint64_t threshold) { return (Next() >> 11) < threshold; }

  // Uniform in [0, 1), a multiple of 2^-53. Exact: no rounding is involved.
  constexpr double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// A probability in [0, 1] as a count of 53-bit outcomes: 0 never happens and 1 always does.
constexpr uint64_t ProbabilityThreshold(double probability) {
  return static_cast<uint64_t>(probability * 0x1p53);
}

// The generator of one request in one domain; its children are hops or steps.
constexpr Draws RequestDraws(uint64_t seed, Domain domain, uint64_t relation = 0) {
  return Draws(kSamplerVersion).Child(seed).Child(static_cast<uint64_t>(domain)).Child(relation);
}

}  // namespace graphzero::sample
