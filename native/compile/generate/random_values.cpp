#include "compile/generate/random_values.h"

#include <bit>

#include "base/hash.h"

namespace graphzero::compile {

using base::kGoldenRatio;
using base::Mix64;

float Normal(uint64_t random) {
  constexpr uint64_t kLower = 0x0000ffff0000ffff;
  constexpr int32_t kMean = 2 * 0xffff;
  constexpr float kScale = 2.6429003e-5f;  // sqrt(3) / 65536
  const uint64_t pairs = (random & kLower) + ((random >> 16) & kLower);
  const auto sum = static_cast<int32_t>((pairs & 0xffffffff) + (pairs >> 32));
  return static_cast<float>(sum - kMean) * kScale;
}

RandomSequence::RandomSequence(uint64_t seed, uint64_t purpose)
    : start_(Mix64(seed + Mix64(purpose * kGoldenRatio))) {}

uint64_t RandomSequence::operator[](uint64_t index) const {
  return Mix64(start_ + index * kGoldenRatio);
}

Permutation::Permutation(uint64_t size, const RandomSequence& keys)
    : size_(size), mask_(std::bit_ceil(size) - 1) {
  shift_ = (static_cast<unsigned>(std::bit_width(mask_)) + 1) / 2;
  for (size_t i = 0; i < rounds_.size(); ++i) {
    Round& round = rounds_[i];
    round.add = keys[2 * i];
    round.multiply = keys[2 * i + 1] | 1;
    round.inverse = round.multiply;  // Newton's iteration: the number of correct bits doubles
    for (int bits = 3; bits < 64; bits *= 2) round.inverse *= 2 - round.multiply * round.inverse;
  }
}

// Each step is a bijection of 0 .. mask: adding, multiplying by an odd number, and mixing the upper
// half into the lower, which undoes itself.
uint64_t Permutation::Forward(uint64_t value) const {
  for (const Round& round : rounds_) {
    value = ((value + round.add) * round.multiply) & mask_;
    value ^= value >> shift_;
  }
  return value;
}

uint64_t Permutation::Backward(uint64_t value) const {
  for (size_t i = rounds_.size(); i-- > 0;) {
    value ^= value >> shift_;
    value = (value * rounds_[i].inverse - rounds_[i].add) & mask_;
  }
  return value;
}

// A step may leave 0 .. size - 1. Then more steps follow until the value is inside again; on
// average this takes less than one further step.
uint64_t Permutation::At(uint64_t position) const {
  do position = Forward(position);
  while (position >= size_);
  return position;
}

uint64_t Permutation::PositionOf(uint64_t value) const {
  do value = Backward(value);
  while (value >= size_);
  return value;
}

}  // namespace graphzero::compile
