#include "compile/generate/typed_model.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/hash.h"
#include "compile/generate/synthetic_model.h"

namespace graphzero::compile {
namespace {

// What a random sequence is for; sequences of different purposes are independent.
enum Purpose : uint64_t { kEdges = 101, kRanks, kCentroids, kNoise, kTimes, kSplitNumbers };

// Random numbers that are reserved for each edge.
constexpr uint64_t kNumbers = 6;
constexpr uint64_t kMaxNodes = uint64_t{1} << 40;
constexpr uint64_t kMaxEdges = uint64_t{1} << 48;
constexpr uint64_t kMaxDim = uint64_t{1} << 20;
constexpr uint64_t kMaxClasses = uint64_t{1} << 20;
constexpr uint64_t kMaxSkew = 2;

RandomSequence SequenceOf(uint64_t seed, Purpose purpose, size_t number) {
  return RandomSequence(base::Mix64(seed + base::kGoldenRatio * (number + 1)), purpose);
}

void Check(const std::string& what, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return;
  throw std::invalid_argument(what + " is " + std::to_string(value) + ", expected " +
                              std::to_string(least) + " to " + std::to_string(most));
}

void CheckSpec(const TypedSpec& spec) {
  Check("classes", spec.classes, 1, kMaxClasses);
  if (spec.types.empty()) throw std::invalid_argument("found no types, expected one at least");
  if (spec.first_time > spec.last_time) throw std::invalid_argument("times end before they begin");
  for (size_t i = 0; i < spec.types.size(); ++i) {
    const std::string type = "type " + std::to_string(i) + ": ";
    Check(type + "nodes", spec.types[i].nodes, spec.classes, kMaxNodes);
    Check(type + "dim", spec.types[i].dim, 0, kMaxDim);
  }
  for (size_t i = 0; i < spec.relations.size(); ++i) {
    const TypedEdges& own = spec.relations[i];
    const std::string relation = "relation " + std::to_string(i) + ": ";
    Check(relation + "source", own.source, 0, spec.types.size() - 1);
    Check(relation + "target", own.target, 0, spec.types.size() - 1);
    const uint64_t sources = own.each ? spec.types[own.source].nodes : 1;
    Check(relation + "edges", own.edges, 0, kMaxEdges / sources);
    Check(relation + "skew of the source", own.source_skew, 0, kMaxSkew);
    Check(relation + "skew of the target", own.target_skew, 0, kMaxSkew);
    if (!(own.homophily >= 0 && own.homophily <= 1)) {
      throw std::invalid_argument(relation + "homophily is " + std::to_string(own.homophily) +
                                  ", expected 0 to 1");
    }
  }
}

// Maps a random number to a fraction of 2^64. The larger the skew, the more often it is small.
uint64_t Skewed(uint64_t random, uint64_t skew) {
  if (skew == 0) return random;
  return skew == 1 ? MultiplyHigh(random, random) : PowerLaw(random);
}

}  // namespace

TypedModel::TypedModel(const TypedSpec& spec) : spec_(spec) {
  CheckSpec(spec_);
  for (size_t i = 0; i < spec_.types.size(); ++i) types_.push_back(MakeNodes(i));
  for (size_t i = 0; i < spec_.relations.size(); ++i) {
    edges_.push_back(SequenceOf(spec_.seed, kEdges, i));
  }
}

TypedModel::Nodes TypedModel::MakeNodes(size_t type) const {
  const TypedNodes& own = spec_.types[type];
  const auto sequence = [&](Purpose purpose) { return SequenceOf(spec_.seed, purpose, type); };
  const double dim = static_cast<double>(std::max<uint64_t>(own.dim, 1));
  return {own.nodes / spec_.classes, own.nodes % spec_.classes,
          // A division and a square root are rounded the same everywhere.
          static_cast<float>(kSignal / std::sqrt(dim)), sequence(kCentroids), sequence(kNoise),
          sequence(kTimes), sequence(kSplitNumbers), Permutation(own.nodes, sequence(kRanks))};
}

uint64_t TypedModel::NumEdges(size_t relation) const {
  const TypedEdges& own = spec_.relations[relation];
  return own.each ? own.edges * spec_.types[own.source].nodes : own.edges;
}

uint64_t TypedModel::ClassOf(size_t type, uint64_t node) const {
  return types_[type].ranks.PositionOf(node) % spec_.classes;
}

uint64_t TypedModel::NodeInClass(size_t type, uint64_t class_index, uint64_t skew,
                                 uint64_t random) const {
  const Nodes& own = types_[type];
  const uint64_t size = own.smaller_class + (class_index < own.larger_classes ? 1 : 0);
  const uint64_t rank = MultiplyHigh(Skewed(random, skew), size) * spec_.classes + class_index;
  return own.ranks.At(rank);
}

int64_t TypedModel::TimeAt(uint64_t fraction) const {
  const uint64_t first = static_cast<uint64_t>(spec_.first_time);
  const uint64_t range = static_cast<uint64_t>(spec_.last_time) - first;
  // A range of all 64 bits has 2^64 steps, one more than fits; the last time then does not occur.
  const uint64_t steps = range == UINT64_MAX ? range : range + 1;
  return static_cast<int64_t>(first + MultiplyHigh(fraction, steps));
}

int64_t TypedModel::TimeOf(size_t type, uint64_t node) const {
  const TypedNodes& own = spec_.types[type];
  const uint64_t random = types_[type].times[node];
  if (own.times == GeneratedTimes::kRandom) return TimeAt(random);
  // Each node has a part of the range for itself, in the order of the ids.
  const uint64_t part = UINT64_MAX / own.nodes;
  return TimeAt(node * part + MultiplyHigh(random, part));
}

void TypedModel::Features(size_t type, uint64_t first, std::span<float> out) const {
  const Nodes& own = types_[type];
  const uint64_t dim = spec_.types[type].dim;
  for (size_t row = 0; row * dim < out.size(); ++row) {
    const uint64_t node = first + row;
    const uint64_t centroid = ClassOf(type, node) * dim;
    for (uint64_t i = 0; i < dim; ++i) {
      out[row * dim + i] =
          own.signal * Normal(own.centroids[centroid + i]) + Normal(own.noise[node * dim + i]);
    }
  }
}

void TypedModel::Labels(size_t type, uint64_t first, std::span<int64_t> out) const {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<int64_t>(ClassOf(type, first + i));
  }
}

void TypedModel::Times(size_t type, uint64_t first, std::span<int64_t> out) const {
  for (size_t i = 0; i < out.size(); ++i) out[i] = TimeOf(type, first + i);
}

void TypedModel::SplitNumbers(size_t type, uint64_t first, std::span<uint32_t> out) const {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<uint32_t>(types_[type].splits[first + i] >> 32);
  }
}

void TypedModel::Edges(size_t relation, uint64_t first, std::span<int64_t> src,
                       std::span<int64_t> dst, std::span<int64_t> times) const {
  const TypedEdges& own = spec_.relations[relation];
  const RandomSequence& random = edges_[relation];
  const auto same = static_cast<uint64_t>(own.homophily * 0x1p32);
  const bool source_timed = spec_.types[own.source].times != GeneratedTimes::kNone;
  const bool target_timed = spec_.types[own.target].times != GeneratedTimes::kNone;
  for (size_t i = 0; i < src.size(); ++i) {
    const uint64_t edge = first + i;
    const uint64_t at = kNumbers * edge;
    const uint64_t drawn = random[at];
    uint64_t source;
    uint64_t class_index;
    if (own.each) {
      source = edge / own.edges;
      class_index = ClassOf(own.source, source);
    } else {
      class_index = MultiplyHigh(drawn, spec_.classes);
      source = NodeInClass(own.source, class_index, own.source_skew, random[at + 1]);
    }
    const bool alike = (drawn & 0xffffffff) < same;
    const uint64_t other = alike ? class_index : MultiplyHigh(random[at + 2], spec_.classes);
    uint64_t target = NodeInClass(own.target, other, own.target_skew, random[at + 3]);
    if (own.source == own.target && target == source) {
      target = target + 1 < spec_.types[own.target].nodes ? target + 1 : 0;
    }
    src[i] = static_cast<int64_t>(source);
    dst[i] = static_cast<int64_t>(target);
    if (times.empty()) continue;
    int64_t time = TimeAt(random[at + 4]);
    if (source_timed) time = std::max(time, TimeOf(own.source, source));
    if (target_timed) time = std::max(time, TimeOf(own.target, target));
    times[i] = time;
  }
}

}  // namespace graphzero::compile
