// Random values that follow from a seed and a number alone: integers and single float operations,
// no libm, so that every machine computes the same bytes.
#pragma once

#include <array>
#include <cstdint>

namespace graphzero::compile {

// Upper half of a 64 x 64 bit product: maps a random number evenly to 0 .. bound - 1, and is the
// product of two fractions of 2^64. The unevenness, bound / 2^64, is not worth a rejection here.
constexpr uint64_t MultiplyHigh(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

// Maps a random number to a fraction x of 2^64 with density ~ x^(-2/3), cut off at 2^-15.
constexpr uint64_t PowerLaw(uint64_t random) {
  constexpr uint64_t kLowest = uint64_t{1} << 59;  // 1/32; its cube is the cut-off
  const uint64_t u = kLowest + MultiplyHigh(random, -kLowest);
  const uint64_t cube = MultiplyHigh(MultiplyHigh(u, u), u) - (uint64_t{1} << 49);
  // Stretched back to the whole range: 1 / (1 - 2^-15), as far as 64 bits show it.
  return cube + (cube >> 15) + (cube >> 30);
}
static_assert(PowerLaw(0) == 0);
static_assert(PowerLaw(UINT64_MAX) > UINT64_MAX - (uint64_t{1} << 24));

// Nearly normal with variance 1: the sum of the four 16-bit parts, an Irwin-Hall distribution.
float Normal(uint64_t random);

// A sequence of random 64-bit numbers that can be entered anywhere.
class RandomSequence {
 public:
  RandomSequence(uint64_t seed, uint64_t purpose);
  uint64_t operator[](uint64_t index) const;

 private:
  uint64_t start_;
};

// A random permutation of 0 .. size - 1 that takes no memory.
class Permutation {
 public:
  Permutation(uint64_t size, const RandomSequence& keys);
  uint64_t At(uint64_t position) const;
  uint64_t PositionOf(uint64_t value) const;

 private:
  struct Round {
    uint64_t add;
    uint64_t multiply;
    uint64_t inverse;  // of `multiply`, modulo 2^64
  };

  uint64_t Forward(uint64_t value) const;
  uint64_t Backward(uint64_t value) const;

  uint64_t size_;
  uint64_t mask_;  // of the smallest power of two that is not below size
  unsigned shift_;
  std::array<Round, 3> rounds_;
};

}  // namespace graphzero::compile
