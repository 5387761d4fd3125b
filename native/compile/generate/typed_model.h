// A synthetic dataset with types as a function: like synthetic_model.h, but with several types of
// nodes, relations between them, and times.
//
// All types share the classes. A type has equally many nodes of each class, and ranks the nodes of
// a class. An edge draws a class, then a source in it, then a target: of the same class with the
// relation's homophily as probability, else of any class. So the features of a node and its
// neighbours, whatever their types, hint at its class, and neighbours of neighbours add to that: an
// event that names one user and one item says little by itself, but that user and item have other
// events.
//
// In a relation with `each`, every node of the source type has exactly `edges` edges, like rows of
// a table that refer to other rows. All targets, and the sources of other relations, follow a power
// law unless their skew is 0.
//
// Times: node times are uniform in the range, either random or ascending with the id, like events
// in a log. An edge with a time is not older than its ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compile/generate/random_values.h"

namespace graphzero::compile {

enum class GeneratedTimes : uint8_t { kNone, kRandom, kAscending };

struct TypedNodes {
  uint64_t nodes;
  uint64_t dim;  // features of a node; 0: none
  GeneratedTimes times;
};

struct TypedEdges {
  uint64_t source;  // number of the type
  uint64_t target;
  uint64_t edges;  // in all, or with `each` for each source
  bool each;
  // 0: all nodes are equally likely. 1 and 2: nodes of low rank are more likely, because the rank
  // is drawn as the square or the cube of a uniform number.
  uint64_t source_skew;
  uint64_t target_skew;
  double homophily;  // 0 to 1
  bool timed;
};

struct TypedSpec {
  uint64_t seed;
  uint64_t classes;
  int64_t first_time;
  int64_t last_time;
  std::vector<TypedNodes> types;
  std::vector<TypedEdges> relations;
};

// Thread-safe: nothing changes after construction. Ranges must lie within the type or relation.
class TypedModel {
 public:
  // Throws std::invalid_argument with the number of the type or relation that makes no sense.
  explicit TypedModel(const TypedSpec& spec);

  const TypedSpec& spec() const { return spec_; }
  uint64_t NumEdges(size_t relation) const;

  // Each fills its output from node or edge number `first` on.
  void Features(size_t type, uint64_t first, std::span<float> out) const;  // whole rows
  void Labels(size_t type, uint64_t first, std::span<int64_t> out) const;
  void Times(size_t type, uint64_t first, std::span<int64_t> out) const;
  // `times` is empty unless the relation has times.
  void Edges(size_t relation, uint64_t first, std::span<int64_t> src, std::span<int64_t> dst,
             std::span<int64_t> times) const;
  // A number from 0 to 2^32 - 1 that divides nodes without times into splits.
  void SplitNumbers(size_t type, uint64_t first, std::span<uint32_t> out) const;

 private:
  struct Nodes {
    uint64_t smaller_class;   // nodes of each smaller class
    uint64_t larger_classes;  // number of classes with one node more
    float signal;
    RandomSequence centroids;
    RandomSequence noise;
    RandomSequence times;
    RandomSequence splits;
    Permutation ranks;  // rank -> node id
  };

  Nodes MakeNodes(size_t type) const;
  uint64_t ClassOf(size_t type, uint64_t node) const;
  uint64_t NodeInClass(size_t type, uint64_t class_index, uint64_t skew, uint64_t random) const;
  int64_t TimeOf(size_t type, uint64_t node) const;
  int64_t TimeAt(uint64_t fraction) const;

  const TypedSpec spec_;
  std::vector<Nodes> types_;
  std::vector<RandomSequence> edges_;
};

}  // namespace graphzero::compile
