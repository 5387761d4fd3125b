#include "compile/generate/synthetic_model.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace graphzero::compile {
namespace {

// What a random sequence is for; sequences of different purposes are independent.
enum Purpose : uint64_t { kEdges = 1, kRanks, kCentroids, kNoise, kSplitOrder };

constexpr uint64_t kMaxNodes = uint64_t{1} << 40;
constexpr uint64_t kMaxEdges = uint64_t{1} << 48;
constexpr uint64_t kMaxDim = uint64_t{1} << 20;
constexpr uint64_t kMaxClasses = uint64_t{1} << 20;

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
