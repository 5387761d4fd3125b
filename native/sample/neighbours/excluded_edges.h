// Edges that a sample must not contain, such as those that a model is asked to predict.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/id_table.h"
#include "sample/rows/rows.h"
#include "sample/times/seed_times.h"

namespace graphzero::sample {

// Pairs (row, neighbour) of one adjacency. A row is named by a key: its node or, where trees
// exclude different edges, a number made of tree and node. Every edge between such a pair is
// excluded, parallel ones too, or only the one with a given id. Pairs that are no edges exclude
// nothing. Thread-safe after the constructor.
class ExcludedEdges {
 public:
  // In place of an id: every edge between the pair.
  static constexpr uint64_t kAnyId = UINT64_MAX;

  // Slots of one row. The request decides how many there are, so they count as working memory.
  using Slots = base::WorkVector<uint64_t>;

  struct Pair {
    uint64_t row;
    uint64_t neighbour;
    uint64_t edge_id = 0;  // 0 unless edges are excluded by their id
    auto operator<=>(const Pair&) const = default;
  };

  // Excludes nothing.
  ExcludedEdges() = default;
  // Ids that are no nodes are harmless.
  ExcludedEdges(base::WorkVector<Pair> pairs, bool by_edge_id);

  bool empty() const { return pairs_.empty(); }
  bool by_edge_id() const { return by_edge_id_; }

  // Whether any pair has this row.
  bool Touches(uint64_t row) const { return !empty() && runs_.view().Find(row) != kNoLocalId; }

  // Whether an edge is excluded. `edge_id` does not matter unless by_edge_id().
  bool Contains(uint64_t row, uint64_t neighbour, uint64_t edge_id) const;

  // Adds the slots of excluded edges in the row with the key keys[i], which is ranges[i], to
  // slots[i]: rising and each once. Reads the rows.
  void FindSlots(const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> keys,
                 std::span<const store::SlotRange> ranges, std::span<Slots> slots) const;

 private:
  template <class Source>
  friend class SlotFinder;

  std::span<const Pair> Run(uint64_t row) const;
  // Whether a run of pairs, which have this row, has the edge.
  bool Has(std::span<const Pair> run, uint64_t row, uint64_t neighbour, uint64_t edge_id) const;

  base::WorkVector<Pair> pairs_;  // sorted, each once
  IdTable<uint64_t> runs_;        // from a row to its first pair
  bool by_edge_id_ = false;
};

// All edges that one relation of a sample must not have.
struct RelationExclusions {
  ExcludedEdges everywhere;
  // In the trees of a disjoint sample: keys are tree * num_rows + node.
  ExcludedEdges in_trees;
  uint64_t num_rows = 0;
  // If set, edges of in_trees that existed before the time of the seed are history and stay in the
  // sample. An edge exists from the latest of its own time and the times of its two ends on. An
  // edge without any time may be the one to predict, so it is left out.
  bool spare_history = false;
  const SeedTimes* seeds = nullptr;     // of a temporal sample
  const int64_t* node_times = nullptr;  // of the rows, in the mapping; or null

  bool empty() const { return everywhere.empty() && in_trees.empty(); }
  uint64_t TreeKey(LocalId tree, uint64_t node) const { return tree * num_rows + node; }
  // `tree` is the tree of the node in a disjoint sample.
  bool Touches(uint64_t node, LocalId tree) const {
    return everywhere.Touches(node) || in_trees.Touches(TreeKey(tree, node));
  }
  // The slots of excluded edges of each nodes[i], rising and each once. ranges[i] is its row or the
  // eligible part of it, trees[i] its tree; `trees` may be empty if the sample is not disjoint.
  base::WorkVector<ExcludedEdges::Slots> FindSlots(const Rows& rows, base::ThreadLease& lease,
                                                   std::span<const uint64_t> nodes,
                                                   std::span<const LocalId> trees,
                                                   std::span<const store::SlotRange> ranges) const;

 private:
  void FindSlotsInTrees(const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> nodes,
                        std::span<const LocalId> trees, std::span<const store::SlotRange> ranges,
                        std::span<ExcludedEdges::Slots> slots) const;
  // Narrows the ranges to slots that are not history.
  void LeaveHistoryOut(const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> nodes,
                       std::span<const LocalId> trees, std::span<store::SlotRange> ranges) const;
};

// The slot of the `position`-th edge of a row, counting only edges that are not excluded. `slots`
// are the excluded ones, as FindSlots() gives them.
uint64_t SlotWithout(std::span<const uint64_t> slots, uint64_t row_begin, uint64_t position);

}  // namespace graphzero::sample
