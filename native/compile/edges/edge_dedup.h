// Edges between the same two nodes: the first of them stays.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/team.h"
#include "compile/edges/edge_partition.h"
#include "compile/edges/row_sorter.h"
#include "compile/job.h"

namespace graphzero::compile {

// Sorts the buckets of `from`, whose records are out-edges, and pushes those that stay to `out`,
// and turned around to `in`; either may be null. They are closed by the caller.
template <class Record>
void DropRepeatedEdges(EdgePartition<Record>* from, EdgePartition<Record>* out,
                       EdgePartition<Record>* in, const LeafLimits& limits, int threads,
                       Progress* progress) {
  std::atomic<size_t> next{0};
  base::RunTeam(threads, [&](int rank) {
    RowSorter<Record> sorter;
    const auto push = [&](uint64_t row, const typename Record::Slot& slot) {
      Record record{static_cast<typename Record::Id>(row), {}};
      if constexpr (Record::kRich) {
        record.rest = slot;
      } else {
        record.neighbour = slot.neighbour;
      }
      if (out) out->Push(out->writer(rank), record);
      if (!in) return;
      Record turned = record;
      turned.row = slot.neighbour;
      if constexpr (Record::kRich) {
        turned.rest.neighbour = record.row;
      } else {
        turned.neighbour = record.row;
      }
      in->Push(in->writer(rank), turned);
    };
    for (size_t bucket; (bucket = next++) < from->buckets();) {
      progress->ThrowIfCancelled();
      const uint64_t records = from->records(bucket);
      // Edge numbers divide the last level, so its first leaf has the first of all repeats.
      std::optional<std::pair<uint64_t, uint64_t>> last_pair;
      from->ForEachLeaf(
          bucket, limits,
          [&](const Leaf<Record>& leaf) {
            progress->ThrowIfCancelled();
            sorter.Sort(leaf);
            sorter.DropRepeats();
            auto slot = sorter.slots().begin();
            for (const RowCount& row : sorter.rows()) {
              for (uint64_t i = 0; i < row.count; ++i, ++slot) {
                const std::pair<uint64_t, uint64_t> pair{row.row, slot->neighbour};
                if (last_pair == pair) continue;
                last_pair = pair;
                push(row.row, *slot);
              }
            }
          },
          [&](const Record& record, uint64_t) { push(record.row, record.slot()); });
      progress->Add(records);
    }
  });
}

}  // namespace graphzero::compile
