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

// Repeats of one edge that exceed a leaf are written in pieces of at most this many.
inline constexpr uint64_t kRepeatedAtOnce = uint64_t{1} << 14;

// One thread's columns of a sorted leaf, ready to be appended.
template <class Order>
struct SlotColumns {
  using Id = typename Order::Record::Id;
  using Slot = typename Order::Slot;

  std::vector<Id> ids;
  std::vector<float> weights;
  std::vector<uint64_t> edge_ids;
  std::vector<int64_t> times;
  std::vector<int64_t> slot_times;

  void Fill(std::span<const Slot> slots, const AdjacencyLayout& layout) {
    const auto copy = [&](bool wanted, auto* to, const auto& value) {
      if (!wanted) return;
      to->resize(slots.size());
      for (size_t i = 0; i < slots.size(); ++i) (*to)[i] = value(slots[i]);
    };
    if constexpr (Order::Record::kRich) {
      copy(true, &ids, [](const Slot& s) { return Order::Rest(s).neighbour; });
      copy(layout.weights, &weights, [](const Slot& s) { return Order::Rest(s).weight; });
      copy(layout.edge_ids, &edge_ids, [](const Slot& s) { return Order::Rest(s).edge(); });
    }
    if constexpr (Order::Record::kTimed) {
      copy(layout.times, &times, [](const Slot& s) { return Order::Rest(s).time(); });
    }
    if constexpr (requires(const Slot& s) { s.slot_time; }) {
      copy(layout.slot_times, &slot_times, [](const Slot& s) { return TimeOfKey(s.slot_time); });
    }
  }
};

// Appends neighbours in the id width of the file, converted where `ids` has the other width.
template <class Id>
void AppendNeighbours(std::span<const Id> ids, const AdjacencyLayout& layout,
                      AdjacencyWriter* writer) {
  using Other = std::conditional_t<sizeof(Id) == 8, uint32_t, uint64_t>;
  if (layout.wide_neighbours == (sizeof(Id) == 8)) return writer->AppendNeighbours(ids);
  const std::vector<Other> other(ids.begin(), ids.end());
  writer->AppendNeighbours(std::span<const Other>(other));
}

template <class Order>
void WriteAdjacency(EdgePartition<typename Order::Record>* edges, const Order& order,
                    const AdjacencyLayout& layout, const LeafLimits& limits, int threads,
                    AdjacencyWriter* writer, Progress* progress) {
  using Record = typename Order::Record;
  using Id = typename Record::Id;
  std::atomic<size_t> next{0};
  base::Turnstile turn;
  base::RunTeam(threads, [&](int) {
    RowSorter<Order> sorter(order);
    SlotColumns<Order> columns;
    try {
      for (size_t bucket; (bucket = next++) < edges->buckets();) {
        progress->ThrowIfCancelled();
        edges->ForEachLeaf(
            bucket, order, limits,
            [&](const Leaf<Record>& leaf) {
              progress->ThrowIfCancelled();
              sorter.Sort(leaf);
              const auto slots = sorter.slots();
              columns.Fill(slots, layout);
              if (!turn.Wait(bucket)) throw base::StoppedByOther();
              writer->StartRows(sorter.rows());
              if constexpr (Record::kRich) {
                AppendNeighbours<Id>(columns.ids, layout, writer);
              } else {
                AppendNeighbours<Id>({&slots.data()->neighbour, slots.size()}, layout, writer);
              }
              if (layout.weights) writer->AppendWeights(columns.weights);
              if (layout.edge_ids) writer->AppendEdgeIds(columns.edge_ids);
              if (layout.times) writer->AppendTimes(columns.times);
              if (layout.slot_times) writer->AppendSlotTimes(columns.slot_times);
              progress->Add(slots.size());
            },
            [&](const Record& record, uint64_t count) {
              if (!turn.Wait(bucket)) throw base::StoppedByOther();
              const RowCount row{record.row, count};
              writer->StartRows({&row, 1});
              std::vector<Id>& ids = columns.ids;
              ids.assign(std::min(count, kRepeatedAtOnce), record.rest.neighbour);
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
