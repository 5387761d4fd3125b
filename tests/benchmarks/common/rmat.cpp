// R-MAT edges with the Graph500 probabilities: a power-law graph with many small rows and a few
// hubs. Compiled by graphs.py; not part of the engine.
#include <cstdint>

namespace {

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// A permutation of [0, 2^scale): hubs would otherwise share the lowest ids and their cache lines.
uint32_t Scramble(uint64_t id, unsigned scale) {
  const uint64_t mask = (uint64_t{1} << scale) - 1;
  for (int round = 0; round < 3; ++round) {
    id = (id * 0x9e3779b97f4a7c15u + 0x1234567u) & mask;
    id ^= id >> (scale / 2);
  }
  return static_cast<uint32_t>(id);
}

}  // namespace

extern "C" void FillRmat(uint64_t edges, unsigned scale, uint64_t seed, uint32_t* src,
                         uint32_t* dst) {
#pragma omp parallel for schedule(static)
  for (uint64_t e = 0; e < edges; ++e) {
    uint64_t u = 0;
    uint64_t v = 0;
    uint64_t bits = 0;
    for (unsigned level = 0; level < scale; ++level) {
      // Three 21-bit numbers from each 64-bit one.
      bits =
          level % 3 == 0 ? Mix(seed + (e * 16 + level / 3 + 1) * 0x9e3779b97f4a7c15u) : bits >> 21;
      const double r = static_cast<double>(bits & 0x1fffff) * 0x1p-21;
      u = 2 * u + (r >= 0.76);
      v = 2 * v + ((r >= 0.57 && r < 0.76) || r >= 0.95);
    }
    src[e] = Scramble(u, scale);
    dst[e] = Scramble(v, scale);
  }
}
