#include "sample/excluded_edges.h"

#include <algorithm>

namespace graphzero::sample {
namespace {

// The slots of the edges to one neighbour, in a sorted row. In a damaged row that is not sorted it
// is some range inside the row.
template <class Id>
store::SlotRange SlotsOf(const Id* ids, const store::SlotRange& row, uint64_t neighbour) {
  const auto [first, last] = std::equal_range(ids + row.begin, ids + row.end, neighbour,
                                              [](uint64_t a, uint64_t b) { return a < b; });
  return {static_cast<uint64_t>(first - ids), static_cast<uint64_t>(last - ids)};
}

}  // namespace

ExcludedEdges::ExcludedEdges(std::span<const int64_t> rows, std::span<const int64_t> neighbours,
                             bool sorted)
    : sorted_(sorted) {
  pairs_.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    pairs_.push_back({static_cast<uint64_t>(rows[i]), static_cast<uint64_t>(neighbours[i])});
  }
  std::sort(pairs_.begin(), pairs_.end());
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  runs_.Reset(pairs_.size());
  for (size_t i = 0; i < pairs_.size(); ++i) {
    runs_.FindOrInsert(pairs_[i].row, static_cast<LocalId>(i));
  }
}

std::span<const ExcludedEdges::Pair> ExcludedEdges::Run(uint64_t node) const {
  const LocalId first = runs_.Find(node);
  if (first == IdTable<uint64_t>::kNone) return {};
  size_t last = first;
  while (last < pairs_.size() && pairs_[last].row == node) ++last;
  return {pairs_.data() + first, last - first};
}

bool ExcludedEdges::Contains(uint64_t node, uint64_t neighbour) const {
  const std::span<const Pair> run = Run(node);
  return std::binary_search(run.begin(), run.end(), Pair{node, neighbour});
}

void ExcludedEdges::SlotsIn(const store::Adjacency& adjacency, uint64_t node,
                            const store::SlotRange& row, std::vector<uint64_t>* slots) const {
  slots->clear();
  const std::span<const Pair> run = Run(node);
  if (run.empty()) return;
  WithIdType(adjacency, [&]<class Id>() {
    const Id* const ids = static_cast<const Id*>(adjacency.neighbours.data);
    if (!sorted_) {
      for (uint64_t slot = row.begin; slot < row.end; ++slot) {
        const Pair pair{node, ids[slot]};
        if (std::binary_search(run.begin(), run.end(), pair)) slots->push_back(slot);
      }
      return;
    }
    for (const Pair& pair : run) {
      const store::SlotRange found = SlotsOf(ids, row, pair.neighbour);
      for (uint64_t slot = found.begin; slot < found.end; ++slot) slots->push_back(slot);
    }
    // A damaged row could give a slot twice, and the caller subtracts their number from the degree.
    std::sort(slots->begin(), slots->end());
    slots->erase(std::unique(slots->begin(), slots->end()), slots->end());
  });
}

uint64_t SlotWithout(std::span<const uint64_t> slots, uint64_t row_begin, uint64_t position) {
  const uint64_t wanted = row_begin + position;
  // slots[j] - j edges that are kept come before slots[j]: it rises, so it can be searched.
  size_t low = 0;
  size_t high = slots.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (slots[middle] - middle <= wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return wanted + low;
}

}  // namespace graphzero::sample
