#include "compile/generate/synthetic_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/hash.h"

namespace graphzero::compile {
namespace {

// What a random sequence is for; sequences of different purposes are independent.
enum Purpose : uint64_t { kEdges = 1, kRanks, kCentroids, kNoise, kSplitOrder };

constexpr uint64_t kMaxNodes = uint64_t{1} << 40;
constexpr uint64_t kMaxEdges = uint64_t{1} << 48;
constexpr uint64_t kMaxDim = uint64_t{1} << 20;
constexpr uint64_t kMaxClasses = uint64_t{1} << 20;

using base::kGoldenRatio;
using base::Mix64;

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
float Normal(uint64_t random) {
  constexpr uint64_t kLower = 0x0000ffff0000ffff;
  constexpr int32_t kMean = 2 * 0xffff;
  constexpr float kScale = 2.6429003e-5f;  // sqrt(3) / 65536
  const uint64_t pairs = (random & kLower) + ((random >> 16) & kLower);
  const auto sum = static_cast<int32_t>((pairs & 0xffffffff) + (pairs >> 32));
  return static_cast<float>(sum - kMean) * kScale;
}

void Check(const char* option, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return;
  throw std::invalid_argument(std::string(option) + " is " + std::to_string(value) + ", expected " +
                              std::to_string(least) + " to " + std::to_string(most));
}

SyntheticSpec Checked(const SyntheticSpec& spec) {
  Check("nodes", spec.nodes, 2, kMaxNodes);
  Check("edges", spec.edges, 0, kMaxEdges);
  Check("dim", spec.dim, 1, kMaxDim);
  Check("classes", spec.classes, 1, std::min(spec.nodes, kMaxClasses));
  return spec;
}

}  // namespace

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

// Steps that leave 0 .. size - 1 are followed until they return; on average less than one is
// needed.
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

SyntheticModel::SyntheticModel(const SyntheticSpec& spec)
    : spec_(Checked(spec)),
      smaller_class_(spec.nodes / spec.classes),
      larger_classes_(spec.nodes % spec.classes),
      // A division and a square root are rounded the same everywhere.
      signal_(static_cast<float>(kSignal / std::sqrt(static_cast<double>(spec.dim)))),
      edges_(spec.seed, kEdges),
      centroids_(spec.seed, kCentroids),
      noise_(spec.seed, kNoise),
      ranks_(spec.nodes, RandomSequence(spec.seed, kRanks)),
      splits_(spec.nodes, RandomSequence(spec.seed, kSplitOrder)) {}

uint64_t SyntheticModel::RankInClass(uint64_t class_index, uint64_t random) const {
  const uint64_t size = smaller_class_ + (class_index < larger_classes_ ? 1 : 0);
  return MultiplyHigh(PowerLaw(random), size) * spec_.classes + class_index;
}

SyntheticEdge SyntheticModel::Edge(uint64_t index) const {
  constexpr auto kSame = static_cast<uint64_t>(kHomophily * 0x1p32);
  const uint64_t classes = edges_[4 * index];
  const uint64_t second_class = edges_[4 * index + 1];
  const uint64_t first = MultiplyHigh(classes, spec_.classes);
  const bool same = (classes & 0xffffffff) < kSame;
  const uint64_t second = same ? first : MultiplyHigh(second_class, spec_.classes);
  const uint64_t a = RankInClass(first, edges_[4 * index + 2]);
  uint64_t b = RankInClass(second, edges_[4 * index + 3]);
  if (a == b) b = b + 1 < spec_.nodes ? b + 1 : 0;
  return {ranks_.At(a), ranks_.At(b)};
}

void SyntheticModel::Features(uint64_t node, std::span<float> out) const {
  const uint64_t centroid = ClassOf(node) * spec_.dim;
  const uint64_t noise = node * spec_.dim;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = signal_ * Normal(centroids_[centroid + i]) + Normal(noise_[noise + i]);
  }
}

Split SyntheticModel::SplitOf(uint64_t node) const {
  const uint64_t position = splits_.PositionOf(node);
  const uint64_t train = SplitSize(Split::kTrain);
  if (position < train) return Split::kTrain;
  return position < train + SplitSize(Split::kValid) ? Split::kValid : Split::kTest;
}

uint64_t SyntheticModel::SplitSize(Split split) const {
  const uint64_t train = spec_.nodes * 6 / 10;
  const uint64_t valid = spec_.nodes * 2 / 10;
  switch (split) {
    case Split::kTrain:
      return train;
    case Split::kValid:
      return valid;
    case Split::kTest:
      break;
  }
  return spec_.nodes - train - valid;
}

}  // namespace graphzero::compile
