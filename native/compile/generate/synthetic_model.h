// The synthetic dataset as a function: every node and every edge follows from the seed and its own
// number, so any part can be computed by any thread at any time, and nothing has to be remembered.
//
// Graph: a degree-corrected planted partition. Nodes are ranked; class c holds the ranks c,
// c + classes, c + 2 * classes, ..., so classes are equally large and equally connected. An edge
// draws two classes and in each class a node from a power law over the ranks: expected degrees
// follow d^-2.5 between about 1/3 of and 340 times the mean. With probability kHomophily the second
// class is the first. Ids are a random permutation of the ranks, so that id order says nothing.
//
// Features: the class's centroid, scaled so that its length is kSignal in any dimension, plus noise
// of variance 1. With 16 classes and a mean degree of 40 a linear model finds 40 % of the labels
// from a node's own features, 84 % with the mean of its neighbours beside them, and 96 % with a
// second hop.
//
// Only integers and single float operations decide the values, no libm: every machine computes the
// same bytes.
#pragma once

#include <cstdint>
#include <span>

#include "compile/generate/random_values.h"

namespace graphzero::compile {

struct SyntheticSpec {
  uint64_t nodes;
  uint64_t edges;  // undirected
  uint64_t dim;
  uint64_t classes;
  uint64_t seed;
};

inline constexpr double kHomophily = 0.4;
inline constexpr double kSignal = 1.5;

struct SyntheticEdge {
  uint64_t first;
  uint64_t second;
};

enum class Split : uint8_t { kTrain, kValid, kTest };
inline constexpr size_t kSplits = 3;

// Thread-safe: nothing changes after construction.
class SyntheticModel {
 public:
  // Throws std::invalid_argument with the option's name when the specification makes no sense.
  explicit SyntheticModel(const SyntheticSpec& spec);

  const SyntheticSpec& spec() const { return spec_; }

  // Edge number `index`. Never a self-loop; a pair may come up again.
  SyntheticEdge Edge(uint64_t index) const;
  // Class of a node, which is its label.
  uint64_t ClassOf(uint64_t node) const { return ranks_.PositionOf(node) % spec_.classes; }
  // Features of a node into `out`, dim values.
  void Features(uint64_t node, std::span<float> out) const;
  Split SplitOf(uint64_t node) const;
  // Exact number of nodes of a split: 60, 20 and 20 %, the remainder in kTest.
  uint64_t SplitSize(Split split) const;

 private:
  uint64_t RankInClass(uint64_t class_index, uint64_t random) const;

  SyntheticSpec spec_;
  uint64_t smaller_class_;   // nodes of each smaller class
  uint64_t larger_classes_;  // number of classes with one node more
  float signal_;
  RandomSequence edges_;
  RandomSequence centroids_;
  RandomSequence noise_;
  Permutation ranks_;  // rank -> node id
  Permutation splits_;
};

}  // namespace graphzero::compile
