// Edges that a sample must not contain, such as those that a model is asked to predict.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/id_table.h"
#include "sample/rows.h"
#include "sample/seed_times.h"

namespace graphzero::sample {

// Pairs (row, neighbour) in the terms of one adjacency; rows by a key, which is their node or,
// where trees exclude different edges, made of tree and node. Every edge between such a pair is
// excluded, parallel ones too, or the one with a given id. Pairs that are no edges exclude nothing.
// Thread-safe after the constructor.
class ExcludedEdges {
 public:
  // Slots of one row. As many as a request makes of them, so they are counted.
  using Slots = base::WorkVector<uint64_t>;

  struct Pair {
    uint64_t row;
    uint64_t neighbour;
    uint64_t edge_id = 0;  // 0 unless edges are excluded by their id
    auto operator<=>(const Pair&) const = default;
  };

  // None.
  ExcludedEdges() = default;
  // Ids that are no nodes are harmless.
  ExcludedEdges(base::WorkVector<Pair> pairs, bool by_edge_id);

  bool empty() const { return pairs_.empty(); }
  bool by_edge_id() const { return by_edge_id_; }

  // Whether any pair has this row.
  bool Touches(uint64_t row) const { return !empty() && runs_.view().Find(row) != kNoLocalId; }

  // Whether an edge is excluded; its id does not matter unless edges are excluded by it.
  bool Contains(uint64_t row, uint64_t neighbour, uint64_t edge_id) const;

  // Adds to slots[i] those of the excluded edges of keys[i], whose row is ranges[i]: rising and
  // each once. Reads the rows.
  void FindSlots(const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> keys,
                 std::span<const store::SlotRange> ranges, std::span<Slots> slots) const;

 private:
  template <class Source>
  friend class SlotFinder;

  std::span<const Pair> Run(uint64_t row) const;

  base::WorkVector<Pair> pairs_;  // sorted, each once
  IdTable<uint64_t> runs_;        // from a row to its first pair
  bool by_edge_id_ = false;
};

// All that one relation of a sample must not have.
struct RelationExclusions {
  ExcludedEdges everywhere;
  // In the trees of a disjoint sample: keys are tree * num_rows + node.
  ExcludedEdges in_trees;
  uint64_t num_rows = 0;
  // Of the latter, edges that existed before the time of the seed are history, and stay: an edge
  // exists from the latest of its own time and those of its ends on. One without any time may be
  // the one that is to be predicted, and goes.
  bool spare_history = false;
  const SeedTimes* seeds = nullptr;     // of a temporal sample
  const int64_t* node_times = nullptr;  // of the rows, in the mapping; or null

  bool empty() const { return everywhere.empty() && in_trees.empty(); }
  uint64_t TreeKey(LocalId tree, uint64_t node) const { return tree * num_rows + node; }
  // `tree` is that of the node in a disjoint sample.
  bool Touches(uint64_t node, LocalId tree) const {
    return everywhere.Touches(node) || in_trees.Touches(TreeKey(tree, node));
  }
  // Slots of excluded edges of nodes[i], whose row or what is eligible of it is ranges[i]: rising
  // and each once. `trees` has those of the nodes; empty: the sample is not disjoint.
  base::WorkVector<ExcludedEdges::Slots> FindSlots(const Rows& rows, base::ThreadLease& lease,
                                                   std::span<const uint64_t> nodes,
                                                   std::span<const LocalId> trees,
                                                   std::span<const store::SlotRange> ranges) const;

 private:
  void FindSlotsInTrees(const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> nodes,
                        std::span<const LocalId> trees, std::span<const store::SlotRange> ranges,
                        std::span<ExcludedEdges::Slots> slots) const;
  // Leaves of the ranges what is no history.
  void LeaveHistoryOut(const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> nodes,
                       std::span<const LocalId> trees, std::span<store::SlotRange> ranges) const;
};

// Slot of the `position`-th edge of a row that is not excluded; `slots` as FindSlots() gives them.
uint64_t SlotWithout(std::span<const uint64_t> slots, uint64_t row_begin, uint64_t position);

}  // namespace graphzero::sample
