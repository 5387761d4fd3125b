// Edges that a sample must not contain, such as those that a model is asked to predict.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/id_table.h"
#include "sample/rows.h"
#include "sample/staged_topology.h"

namespace graphzero::sample {

// Pairs (row, neighbour) in the terms of one adjacency. Every edge between such a pair is excluded,
// parallel ones too. Pairs that are no edges exclude nothing. Thread-safe after the constructor.
class ExcludedEdges {
 public:
  // `sorted` says of the file that its rows are. Needs as many rows as neighbours; ids that are no
  // nodes are harmless.
  ExcludedEdges(std::span<const int64_t> rows, std::span<const int64_t> neighbours, bool sorted);

  bool empty() const { return pairs_.empty(); }

  // Whether any pair has this row.
  bool Touches(uint64_t node) const { return runs_.Find(node) != IdTable<uint64_t>::kNone; }

  // Whether the pair is excluded.
  bool Contains(uint64_t node, uint64_t neighbour) const;

  // Replaces `slots` by those of the row's edges that are excluded, rising and each once. `ids` are
  // the neighbours in the slots from `first` on: the row, or a part of it.
  template <class Id>
  void SlotsIn(uint64_t node, uint64_t first, std::span<const Id> ids,
               std::vector<uint64_t>* slots) const;

  // The same for rows of a topology that is not in memory: slots[i] are those of nodes[i], whose
  // row is ranges[i]. The caller holds a ThreadLease.
  std::vector<std::vector<uint64_t>> SlotsInStaged(const Rows& rows, const StagedTopology& staged,
                                                   std::span<const uint64_t> nodes,
                                                   std::span<const store::SlotRange> ranges) const;

 private:
  friend class ExcludedSearch;

  struct Pair {
    uint64_t row;
    uint64_t neighbour;
    auto operator<=>(const Pair&) const = default;
  };

  std::span<const Pair> Run(uint64_t node) const;

  base::WorkVector<Pair> pairs_;  // sorted, each once
  IdTable<uint64_t> runs_;        // from a row to its first pair
  bool sorted_;
};

// Slot of the `position`-th edge of a row that is not excluded; `slots` as SlotsIn() gives them.
uint64_t SlotWithout(std::span<const uint64_t> slots, uint64_t row_begin, uint64_t position);

}  // namespace graphzero::sample
