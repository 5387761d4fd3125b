#include "sample/neighbours/excluded_edges.h"

#include <algorithm>
#include <utility>

#include "sample/rows/row_batches.h"
#include "sample/rows/row_lanes.h"

namespace graphzero::sample {
namespace {

// Rows that a thread searches at a time.
constexpr size_t kGrain = 256;

// A damaged row could give a slot twice, and the caller subtracts the number of slots from the
// degree.
void SortAndDropRepeats(ExcludedEdges::Slots* slots) {
  base::CheckedLoop loop;
  std::sort(slots->begin(), slots->end(), [&](uint64_t a, uint64_t b) {
    loop.Next();
    return a < b;
  });
  slots->erase(std::unique(slots->begin(), slots->end()), slots->end());
}

}  // namespace

ExcludedEdges::ExcludedEdges(base::WorkVector<Pair> pairs, bool by_edge_id)
    : pairs_(std::move(pairs)), by_edge_id_(by_edge_id) {
  base::CheckedLoop loop;
  std::sort(pairs_.begin(), pairs_.end(), [&](const Pair& a, const Pair& b) {
    loop.Next();
    return a < b;
  });
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  runs_.Reset(pairs_.size());
  for (size_t i = 0; i < pairs_.size(); ++i) {
    loop.Next();
    runs_.view().FindOrInsert(pairs_[i].row, static_cast<LocalId>(i));
  }
}

std::span<const ExcludedEdges::Pair> ExcludedEdges::Run(uint64_t row) const {
  const LocalId first = runs_.view().Find(row);
  if (first == kNoLocalId) return {};
  const auto begin = pairs_.begin() + first;
  // A binary search, because the run of a hub is long and this is called for each of its edges.
  return {begin, std::upper_bound(begin, pairs_.end(), Pair{row, UINT64_MAX, UINT64_MAX})};
}

bool ExcludedEdges::Contains(uint64_t row, uint64_t neighbour, uint64_t edge_id) const {
  if (empty()) return false;
  return Has(Run(row), row, neighbour, edge_id);
}

bool ExcludedEdges::Has(std::span<const Pair> run, uint64_t row, uint64_t neighbour,
                        uint64_t edge_id) const {
  const auto has = [&](uint64_t id) {
    return std::binary_search(run.begin(), run.end(), Pair{row, neighbour, id});
  };
  return by_edge_id_ ? has(edge_id) || has(kAnyId) : has(0);
}

// Finds the excluded edges of one row in each lane (row_lanes.h). Rows of hubs are long and few of
// their edges are looked for, so sorted rows are searched. Rows that are not sorted, or whose edges
// are excluded by id, are read as a whole.
template <class Source>
class SlotFinder {
 public:
  SlotFinder(const ExcludedEdges& excluded, Source& source, std::span<const uint64_t> keys,
             std::span<const store::SlotRange> ranges, std::span<ExcludedEdges::Slots> slots)
      : excluded_(excluded),
        source_(source),
        keys_(keys),
        ranges_(ranges),
        slots_(slots),
        searches_(source.rows().sorted && !excluded.by_edge_id()) {}

  struct Lane {
    typename Source::Asked asked;
    size_t number;
    std::span<const ExcludedEdges::Pair> left;  // pairs still to look for
    // Looks for the first slot of the first pair, then for the first slot of a larger neighbour.
    RowSearch<typename Source::Id> search;
    uint64_t begin;
    bool has_begin;
  };

  bool Begin(Lane& lane, size_t number) {
    lane.number = number;
    if (ranges_[number].size() == 0) return false;
    lane.left = excluded_.Run(keys_[number]);
    if (lane.left.empty()) return false;
    if (searches_) return StartPair(lane);
    if (!excluded_.by_edge_id()) {
      source_.AskRanges(lane.asked, RowIds(lane));
      return true;
    }
    WithType(source_.rows().adjacency.edge_ids, [&]<class Id>(const Id* edge_ids) {
      source_.AskRanges(lane.asked, RowIds(lane), EdgeIds(lane, edge_ids));
    });
    return true;
  }

  bool Advance(Lane& lane) {
    if (!searches_) return FilterRow(lane);
    TakeBlock(source_, lane.asked, lane.search);
    return Search(lane);
  }

 private:
  using Id = typename Source::Id;

  std::span<const Id> RowIds(const Lane& lane) const {
    return source_.rows().template Ids<Id>(ranges_[lane.number]);
  }

  template <class Integer>
  std::span<const Integer> EdgeIds(const Lane& lane, const Integer* edge_ids) const {
    const store::SlotRange& range = ranges_[lane.number];
    return {edge_ids + range.begin, range.size()};
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
    if (!excluded_.by_edge_id()) {
      Filter(lane, [](size_t) { return uint64_t{0}; });
      return false;
    }
    WithType(source_.rows().adjacency.edge_ids, [&]<class Integer>(const Integer* edge_ids) {
      const std::span<const Integer> loaded =
          source_.Loaded(lane.asked, 1, EdgeIds(lane, edge_ids));
      Filter(lane, [&](size_t i) { return static_cast<uint64_t>(store::ReadOnce(&loaded[i])); });
    });
    return false;
  }

  // Adds the slots of the row whose edges are excluded; edge_id(i) is the id of the i-th edge.
  template <class EdgeId>
  void Filter(Lane& lane, const EdgeId& edge_id) {
    const std::span<const Id> ids = source_.Loaded(lane.asked, 0, RowIds(lane));
    base::CheckPoint();  // this turn reads a whole row
    for (size_t i = 0; i < ids.size(); ++i) {
      loop_.Next();
      if (excluded_.Has(lane.left, keys_[lane.number], ids[i], edge_id(i))) {
        slots_[lane.number].push_back(ranges_[lane.number].begin + i);
      }
    }
  }

  const ExcludedEdges& excluded_;
  Source& source_;
  const std::span<const uint64_t> keys_;
  const std::span<const store::SlotRange> ranges_;
  const std::span<ExcludedEdges::Slots> slots_;
  const bool searches_;
  base::CheckedLoop loop_;
};

void ExcludedEdges::FindSlots(const Rows& rows, base::ThreadLease& lease,
                              std::span<const uint64_t> keys,
                              std::span<const store::SlotRange> ranges,
                              std::span<Slots> slots) const {
  WithRowSource(rows, lease, keys.size(), kGrain,
                [&]<class Source>(Source& source, size_t begin, size_t end) {
                  SlotFinder<Source> finder(*this, source, keys, ranges, slots);
                  RunLanes<typename SlotFinder<Source>::Lane>(source, finder, begin, end,
                                                              Source::kSide);
                });
}

base::WorkVector<ExcludedEdges::Slots> RelationExclusions::FindSlots(
    const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> nodes,
    std::span<const LocalId> trees, std::span<const store::SlotRange> ranges) const {
  base::WorkVector<ExcludedEdges::Slots> slots(nodes.size());
  if (!everywhere.empty()) everywhere.FindSlots(rows, lease, nodes, ranges, slots);
  if (in_trees.empty()) return slots;
  FindSlotsInTrees(rows, lease, nodes, trees, ranges, slots);
  if (!everywhere.empty()) {
    for (ExcludedEdges::Slots& found : slots) SortAndDropRepeats(&found);
  }
  return slots;
}

void RelationExclusions::FindSlotsInTrees(const Rows& rows, base::ThreadLease& lease,
                                          std::span<const uint64_t> nodes,
                                          std::span<const LocalId> trees,
                                          std::span<const store::SlotRange> ranges,
                                          std::span<ExcludedEdges::Slots> slots) const {
  base::WorkVector<uint64_t> keys(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) keys[i] = TreeKey(trees[i], nodes[i]);
  base::WorkVector<store::SlotRange> wanted(ranges.begin(), ranges.end());
  if (spare_history) LeaveHistoryOut(rows, lease, nodes, trees, wanted);
  in_trees.FindSlots(rows, lease, keys, wanted, slots);
}

void RelationExclusions::LeaveHistoryOut(const Rows& rows, base::ThreadLease& lease,
                                         std::span<const uint64_t> nodes,
                                         std::span<const LocalId> trees,
                                         std::span<store::SlotRange> ranges) const {
  const bool has_slot_times = rows.adjacency.slot_times != nullptr;
  if (!has_slot_times && node_times == nullptr) return;
  base::WorkVector<int64_t> own(nodes.size(), kNoTime);
  if (node_times != nullptr) ReadSlots(rows, lease, node_times, nodes, own.data());
  base::WorkVector<uint64_t> begins(nodes.size());
  base::WorkVector<uint64_t> degrees(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    begins[i] = ranges[i].begin;
    degrees[i] = ranges[i].size();
  }
  if (has_slot_times) {
    const SeedTimes at_once{seeds->times, TimeRule{.strict = false, .window = 1}};
    NarrowToTimes(rows, lease, at_once, nodes, trees.data(), begins.data(), degrees.data());
  } else {
    std::fill(degrees.begin(), degrees.end(), 0);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    // If the node itself exists only from the time of the seed on, none of its edges is history.
    if (own[i] != kNoTime && own[i] >= seeds->times[trees[i]]) continue;
    ranges[i] = {begins[i], begins[i] + degrees[i]};
  }
}

uint64_t SlotWithout(std::span<const uint64_t> slots, uint64_t row_begin, uint64_t position) {
  const uint64_t wanted = row_begin + position;
  // Before slots[j] come slots[j] - row_begin - j edges that are not excluded. This number never
  // falls with j, so it can be searched by halving.
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
