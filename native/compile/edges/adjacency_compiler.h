// One adjacency of a topology file: threads sort buckets of edges, and append them in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/team.h"
#include "compile/edges/adjacency_writer.h"
#include "compile/edges/edge_partition.h"
#include "compile/edges/row_sorter.h"
#include "compile/job.h"

namespace graphzero::compile {

// Repeats of one edge that exceed a leaf are written so many at a time.
inline constexpr uint64_t kRepeatedAtOnce = uint64_t{1} << 14;

// One thread's columns of a sorted leaf, ready to be appended.
template <class Record>
struct SlotColumns {
  std::vector<float> weights;
  std::vector<uint64_t> edge_ids;

  void Fill(std::span<const typename Record::Slot> slots, const AdjacencyLayout& layout) {
    if constexpr (Record::kRich) {
      if (layout.weights) {
        weights.resize(slots.size());
        for (size_t i = 0; i < slots.size(); ++i) weights[i] = slots[i].weight;
      }
      if (layout.edge_ids) {
        edge_ids.resize(slots.size());
        for (size_t i = 0; i < slots.size(); ++i) edge_ids[i] = slots[i].edge();
      }
    }
  }
};

// Neighbours in the width that the file has.
template <class Id>
void AppendNeighbours(std::span<const Id> ids, const AdjacencyLayout& layout,
                      AdjacencyWriter* writer) {
  using Other = std::conditional_t<sizeof(Id) == 8, uint32_t, uint64_t>;
  if (layout.wide_neighbours == (sizeof(Id) == 8)) return writer->AppendNeighbours(ids);
  const std::vector<Other> other(ids.begin(), ids.end());
  writer->AppendNeighbours(std::span<const Other>(other));
}

template <class Record>
void WriteAdjacency(EdgePartition<Record>* edges, const AdjacencyLayout& layout,
                    const LeafLimits& limits, int threads, AdjacencyWriter* writer,
                    Progress* progress) {
  using Id = typename Record::Id;
  std::atomic<size_t> next{0};
  base::Turnstile turn;
  base::RunTeam(threads, [&](int) {
    RowSorter<Record> sorter;
    SlotColumns<Record> columns;
    std::vector<Id> ids;
    try {
      for (size_t bucket; (bucket = next++) < edges->buckets();) {
        progress->ThrowIfCancelled();
        edges->ForEachLeaf(
            bucket, limits,
            [&](const Leaf<Record>& leaf) {
              progress->ThrowIfCancelled();
              sorter.Sort(leaf);
              const auto slots = sorter.slots();
              columns.Fill(slots, layout);
              if constexpr (Record::kRich) {
                ids.resize(slots.size());
                for (size_t i = 0; i < slots.size(); ++i) ids[i] = slots[i].neighbour;
              }
              if (!turn.Wait(bucket)) throw base::StoppedByOther();
              writer->StartRows(sorter.rows());
              if constexpr (Record::kRich) {
                AppendNeighbours<Id>(ids, layout, writer);
              } else {
                AppendNeighbours<Id>({&slots.data()->neighbour, slots.size()}, layout, writer);
              }
              if (layout.weights) writer->AppendWeights(columns.weights);
              if (layout.edge_ids) writer->AppendEdgeIds(columns.edge_ids);
              progress->Add(slots.size());
            },
            [&](const Record& record, uint64_t count) {
              if (!turn.Wait(bucket)) throw base::StoppedByOther();
              const RowCount row{record.row, count};
              writer->StartRows({&row, 1});
              ids.assign(std::min(count, kRepeatedAtOnce), record.slot().neighbour);
              for (uint64_t left = count; left > 0;) {
                const uint64_t now = std::min<uint64_t>(left, ids.size());
                AppendNeighbours(std::span<const Id>(ids).first(now), layout, writer);
                left -= now;
              }
              progress->Add(count);
            });
        if (!turn.Wait(bucket)) throw base::StoppedByOther();
        turn.Done(bucket);
      }
    } catch (...) {
      turn.Abort();
      throw;
    }
  });
  writer->Finish();
}

}  // namespace graphzero::compile
