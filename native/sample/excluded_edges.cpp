#include "sample/excluded_edges.h"

#include <algorithm>

#include "sample/staged_rows.h"

namespace graphzero::sample {
namespace {

// The positions of the edges to one neighbour, in a sorted row. In a damaged row that is not sorted
// it is some range inside the row.
template <class Id>
store::SlotRange SlotsOf(std::span<const Id> ids, uint64_t neighbour) {
  const auto [first, last] = std::equal_range(ids.begin(), ids.end(), neighbour,
                                              [](uint64_t a, uint64_t b) { return a < b; });
  return {static_cast<uint64_t>(first - ids.begin()), static_cast<uint64_t>(last - ids.begin())};
}

// A damaged row could give a slot twice, and the caller subtracts their number from the degree.
void SortAndDropRepeats(std::vector<uint64_t>* slots) {
  std::sort(slots->begin(), slots->end());
  slots->erase(std::unique(slots->begin(), slots->end()), slots->end());
}

}  // namespace

ExcludedEdges::ExcludedEdges(std::span<const int64_t> rows, std::span<const int64_t> neighbours,
                             bool sorted)
    : sorted_(sorted) {
  pairs_.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    pairs_.push_back({static_cast<uint64_t>(rows[i]), static_cast<uint64_t>(neighbours[i])});
  }
  base::CheckedLoop loop;
  std::sort(pairs_.begin(), pairs_.end(), [&](const Pair& a, const Pair& b) {
    loop.Next();
    return a < b;
  });
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  runs_.Reset(pairs_.size());
  for (size_t i = 0; i < pairs_.size(); ++i) {
    loop.Next();
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

template <class Id>
void ExcludedEdges::SlotsIn(uint64_t node, uint64_t first, std::span<const Id> ids,
                            std::vector<uint64_t>* slots) const {
  slots->clear();
  const std::span<const Pair> run = Run(node);
  if (run.empty()) return;
  if (!sorted_) {
    for (size_t i = 0; i < ids.size(); ++i) {
      const Pair pair{node, ids[i]};
      if (std::binary_search(run.begin(), run.end(), pair)) slots->push_back(first + i);
    }
    return;
  }
  for (const Pair& pair : run) {
    const store::SlotRange found = SlotsOf(ids, pair.neighbour);
    for (uint64_t at = found.begin; at < found.end; ++at) slots->push_back(first + at);
  }
  SortAndDropRepeats(slots);
}

template void ExcludedEdges::SlotsIn(uint64_t, uint64_t, std::span<const uint32_t>,
                                     std::vector<uint64_t>*) const;
template void ExcludedEdges::SlotsIn(uint64_t, uint64_t, std::span<const uint64_t>,
                                     std::vector<uint64_t>*) const;

// A program for each row. Rows of hubs are long, and a few edges are looked for in them: they are
// searched, and only rows that are not sorted are read.
class ExcludedSearch {
 public:
  template <class Id>
  static Reading<void> Search(const ExcludedEdges& excluded, const StagedRows<Id>& rows,
                              uint64_t node, store::SlotRange row, std::vector<uint64_t>* slots) {
    if (!excluded.sorted_) {
      const ReadRounds::Ranges loaded = co_await rows.rounds().Load({rows.IdBytes(row)});
      excluded.SlotsIn(node, row.begin, rows.template As<Id>(loaded[0]), slots);
      co_return;
    }
    for (const ExcludedEdges::Pair& pair : excluded.Run(node)) {
      const Found first = co_await rows.FirstFrom(row, pair.neighbour);
      if (!first.equal) continue;
      const Found after = co_await rows.FirstFrom({first.position, row.end}, pair.neighbour + 1);
      for (uint64_t slot = first.position; slot < after.position; ++slot) slots->push_back(slot);
    }
    SortAndDropRepeats(slots);
  }
};

std::vector<std::vector<uint64_t>> ExcludedEdges::SlotsInStaged(
    const Rows& rows, const StagedTopology& staged, std::span<const uint64_t> nodes,
    std::span<const store::SlotRange> ranges) const {
  std::vector<std::vector<uint64_t>> slots(nodes.size());
  WithIdType(rows.adjacency, [&]<class Id>() {
    ReadRounds rounds(staged);
    const StagedRows<Id> staged_rows(rounds, rows, sorted_);
    rounds.Run(nodes.size(), ReadRounds::kSide, [&](size_t i) {
      return ExcludedSearch::Search<Id>(*this, staged_rows, nodes[i], ranges[i], &slots[i]);
    });
  });
  return slots;
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
