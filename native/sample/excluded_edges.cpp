#include "sample/excluded_edges.h"

#include <algorithm>

#include "sample/row_lanes.h"

namespace graphzero::sample {
namespace {

// Rows that a thread searches at a time.
constexpr size_t kGrain = 256;

// A damaged row could give a slot twice, and the caller subtracts their number from the degree.
void SortAndDropRepeats(ExcludedEdges::Slots* slots) {
  base::CheckedLoop loop;
  std::sort(slots->begin(), slots->end(), [&](uint64_t a, uint64_t b) {
    loop.Next();
    return a < b;
  });
  slots->erase(std::unique(slots->begin(), slots->end()), slots->end());
}

}  // namespace

ExcludedEdges::ExcludedEdges(std::span<const int64_t> rows, std::span<const int64_t> neighbours) {
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
  const auto begin = pairs_.begin() + first;
  // A search: the run of a hub is long, and this is asked for each of its edges.
  return {begin, std::upper_bound(begin, pairs_.end(), Pair{node, UINT64_MAX})};
}

bool ExcludedEdges::Contains(uint64_t node, uint64_t neighbour) const {
  const std::span<const Pair> run = Run(node);
  return std::binary_search(run.begin(), run.end(), Pair{node, neighbour});
}

// Finds the excluded edges of a row in each lane (row_lanes.h). Rows of hubs are long, and a few
// edges are looked for in them: they are searched, and only rows that are not sorted are read.
template <class Source>
class SlotFinder {
 public:
  SlotFinder(const ExcludedEdges& excluded, Source& source, std::span<const uint64_t> nodes,
             std::span<const store::SlotRange> ranges, std::span<ExcludedEdges::Slots> slots)
      : excluded_(excluded), source_(source), nodes_(nodes), ranges_(ranges), slots_(slots) {}

  struct Lane {
    typename Source::Asked asked;
    size_t number;
    std::span<const ExcludedEdges::Pair> left;  // pairs to look for
    // The first slot of the first pair; then that of the first neighbour beyond it.
    RowSearch<typename Source::Id> search;
    uint64_t begin;
    bool has_begin;
  };

  bool Begin(Lane& lane, size_t number) {
    lane.number = number;
    if (ranges_[number].size() == 0) return false;
    lane.left = excluded_.Run(nodes_[number]);
    if (source_.rows().sorted) return StartPair(lane);
    source_.AskRanges(lane.asked, RowIds(lane));
    return true;
  }

  bool Advance(Lane& lane) {
    if (!source_.rows().sorted) return FilterRow(lane);
    TakeBlock(source_, lane.asked, lane.search);
    return Search(lane);
  }

 private:
  using Id = typename Source::Id;

  std::span<const Id> RowIds(const Lane& lane) const {
    return source_.rows().template Ids<Id>(ranges_[lane.number]);
  }

  bool StartPair(Lane& lane) {
    if (lane.left.empty()) {
      SortAndDropRepeats(&slots_[lane.number]);
      return false;
    }
    lane.has_begin = false;
    lane.search = SearchRow(source_, ranges_[lane.number], lane.left.front().neighbour);
    return Search(lane);
  }

  bool Search(Lane& lane) {
    while (lane.search.done()) {
      if (lane.has_begin || !lane.search.found()) {
        const uint64_t end = lane.has_begin ? lane.search.position() : 0;
        for (uint64_t slot = lane.begin; slot < end; ++slot) {
          loop_.Next();
          slots_[lane.number].push_back(slot);
        }
        lane.left = lane.left.subspan(1);
        return StartPair(lane);
      }
      lane.has_begin = true;
      lane.begin = lane.search.position();
      lane.search = SearchRow(source_, {lane.begin, ranges_[lane.number].end},
                              lane.left.front().neighbour + 1);
    }
    AskBlock(source_, lane.asked, lane.search);
    return true;
  }

  bool FilterRow(Lane& lane) {
    const std::span<const Id> ids = source_.Loaded(lane.asked, 0, RowIds(lane));
    base::CheckPoint();  // a turn that reads a whole row
    for (size_t i = 0; i < ids.size(); ++i) {
      loop_.Next();
      const ExcludedEdges::Pair pair{nodes_[lane.number], ids[i]};
      if (std::binary_search(lane.left.begin(), lane.left.end(), pair)) {
        slots_[lane.number].push_back(ranges_[lane.number].begin + i);
      }
    }
    return false;
  }

  const ExcludedEdges& excluded_;
  Source& source_;
  const std::span<const uint64_t> nodes_;
  const std::span<const store::SlotRange> ranges_;
  const std::span<ExcludedEdges::Slots> slots_;
  base::CheckedLoop loop_;
};

base::WorkVector<ExcludedEdges::Slots> ExcludedEdges::FindSlots(
    const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> nodes,
    std::span<const store::SlotRange> ranges) const {
  base::WorkVector<Slots> slots(nodes.size());
  WithRowSource(rows, lease, nodes.size(), kGrain,
                [&]<class Source>(Source& source, size_t begin, size_t end) {
                  SlotFinder<Source> finder(*this, source, nodes, ranges, slots);
                  RunLanes<typename SlotFinder<Source>::Lane>(source, finder, begin, end,
                                                              Source::kSide);
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
