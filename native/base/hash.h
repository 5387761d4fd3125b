// Hashes: of ids and rows for tables in memory, of bytes for checksums, and the mixer under both
// the sampler's and the generator's random numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace graphzero::base {

// The odd number nearest to 2^64 divided by the golden ratio: its multiples spread evenly over the
// 64-bit numbers. SplitMix64 steps by it; Fibonacci hashing takes the high bits of a product with
// it.
inline constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;

// The output function of SplitMix64 (Stafford's mixer number 13): a bijection in which every bit of
// the input reaches every bit of the output. Draws of the sampler and generated datasets depend on
// its results.
constexpr uint64_t Mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// XXH3 of xxHash, in 64 bits. Files use it as their checksum.
uint64_t Checksum(std::span<const std::byte> bytes);

// XXH3 in 128 bits of the concatenated spans. Files use it as their fingerprint.
using Hash128 = std::array<uint8_t, 16>;
Hash128 LongChecksum(std::initializer_list<std::span<const std::byte>> parts);

// For tables in memory; nothing on disk depends on these. An integer's hash has its low bits mixed.
constexpr uint64_t HashId(int64_t id) { return Mix64(static_cast<uint64_t>(id)); }
inline uint64_t HashId(std::string_view text) { return Checksum(std::as_bytes(std::span(text))); }

}  // namespace graphzero::base
