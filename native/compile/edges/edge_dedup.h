// Drops repeated edges and keeps the first of them. Edges are repeats if they are between the same
// two nodes and, where edges have times, at the same time.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/team.h"
#include "compile/edges/edge_partition.h"
#include "compile/edges/row_sorter.h"
#include "compile/job.h"

namespace graphzero::compile {

// Sorts the buckets of `from` and calls keep(rank, record) for the records that stay, from several
// threads with one rank each.
template <class Record, class Keep>
void DropRepeatedEdges(EdgePartition<Record>* from, const LeafLimits& limits, int threads,
                       Progress* progress, const Keep& keep) {
  std::atomic<size_t> next{0};
  base::RunTeam(threads, [&](int rank) {
    const ByNeighbour<Record> order;
    RowSorter<ByNeighbour<Record>> sorter(order);
    for (size_t bucket; (bucket = next++) < from->buckets();) {
      progress->ThrowIfCancelled();
      const uint64_t records = from->records(bucket);
      // Repeats that exceed a leaf are divided by edge number, so the first of their leaves holds
      // the first repeat. `last` carries it over to the next leaves.
      std::optional<Record> last;
      from->ForEachLeaf(
          bucket, order, limits,
          [&](const Leaf<Record>& leaf) {
            progress->ThrowIfCancelled();
            sorter.Sort(leaf);
            sorter.DropRepeats();
            auto slot = sorter.slots().begin();
            for (const RowCount& row : sorter.rows()) {
              for (uint64_t i = 0; i < row.count; ++i, ++slot) {
                if (last && last->row == row.row && last->rest.SameEdge(*slot)) continue;
                last = Record{static_cast<typename Record::Id>(row.row), *slot};
                keep(rank, *last);
              }
            }
          },
          [&](const Record& record, uint64_t) { keep(rank, record); });
      progress->Add(records);
    }
  });
}

}  // namespace graphzero::compile
