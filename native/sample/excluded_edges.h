// Edges that a sample must not contain, such as those that a model is asked to predict.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/id_table.h"
#include "sample/rows.h"

namespace graphzero::sample {

// Pairs (row, neighbour) in the terms of one adjacency. Every edge between such a pair is excluded,
// parallel ones too. Pairs that are no edges exclude nothing. Thread-safe after the constructor.
class ExcludedEdges {
 public:
  // Slots of one row. As many as a request makes of them, so they are counted.
  using Slots = base::WorkVector<uint64_t>;

  // Needs as many rows as neighbours; ids that are no nodes are harmless.
  ExcludedEdges(std::span<const int64_t> rows, std::span<const int64_t> neighbours);

  bool empty() const { return pairs_.empty(); }

  // Whether any pair has this row.
  bool Touches(uint64_t node) const { return runs_.Find(node) != IdTable<uint64_t>::kNone; }

  // Whether the pair is excluded.
  bool Contains(uint64_t node, uint64_t neighbour) const;

  // slots[i] are those of the excluded edges of nodes[i], whose row is ranges[i]: rising and each
  // once. Reads the rows.
  base::WorkVector<Slots> FindSlots(const Rows& rows, base::ThreadLease& lease,
                                    std::span<const uint64_t> nodes,
                                    std::span<const store::SlotRange> ranges) const;

 private:
  template <class Source>
  friend class SlotFinder;

  struct Pair {
    uint64_t row;
    uint64_t neighbour;
    auto operator<=>(const Pair&) const = default;
  };

  std::span<const Pair> Run(uint64_t node) const;

  base::WorkVector<Pair> pairs_;  // sorted, each once
  IdTable<uint64_t> runs_;        // from a row to its first pair
};

// Slot of the `position`-th edge of a row that is not excluded; `slots` as FindSlots() gives them.
uint64_t SlotWithout(std::span<const uint64_t> slots, uint64_t row_begin, uint64_t position);

}  // namespace graphzero::sample
