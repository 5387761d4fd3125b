#include "sample/times/seed_times.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/buffer.h"
#include "base/errors.h"
#include "base/prefetch.h"
#include "base/text.h"
#include "sample/rows/row_lanes.h"
#include "sample/rows/row_search.h"
#include "sample/rows/row_sources.h"
#include "sample/times/time_search.h"

namespace graphzero::sample {
namespace {

// Rows that a thread narrows at a time.
constexpr size_t kGrain = 2048;

// What all threads of a call share: the rows, and which times of theirs are eligible.
struct NarrowedRows {
  const Rows& rows;
  const int64_t* array;  // the times that are searched, in the mapping
  const SeedTimes& seeds;
  std::span<const uint64_t> nodes;  // of the rows; empty: rows are not those of nodes
  const LocalId* trees;
  uint64_t* begins;
  uint64_t* degrees;

  const int64_t* times() const { return array; }
  [[noreturn]] void ThrowUnordered(size_t i) const {
    if (nodes.empty()) rows.ThrowUnorderedNodes();
    rows.ThrowUnorderedTimes(nodes[i]);
  }
  TimeRange Eligible(size_t i) const { return seeds.Of(trees[i]); }
  void Keep(size_t i, uint64_t begin, uint64_t end) const {
    begins[i] = begin;
    degrees[i] = end - begin;
  }
};

// A search for the first slot with a time after `time`, which must not be the largest int64_t.
template <class Source>
RowSearch<int64_t> SearchAfter(const NarrowedRows& in, const store::SlotRange& row, int64_t time) {
  constexpr uint64_t kBlock = Source::kBlockBytes / sizeof(int64_t);
  return RowSearch<int64_t>::WithoutBounds(in.times(), row.begin, row.end, SearchKey(time) + 1,
                                           kBlock);
}

// Searches the rows of these numbers, each in a lane (row_lanes.h): first for the end of the
// eligible range, then, with a window, for its begin. For rows on disk.
template <class Source>
class TimeSearcher {
 public:
  TimeSearcher(const NarrowedRows& in, Source& source, std::span<const size_t> rows)
      : in_(in), source_(source), rows_(rows) {}

  struct Lane {
    typename Source::Asked asked;
    size_t row;
    RowSearch<int64_t> search;
    TimeRange eligible;
    uint64_t end;
    bool has_end;
  };

  bool Begin(Lane& lane, size_t number) {
    lane.row = rows_[number];
    lane.eligible = in_.Eligible(lane.row);
    lane.has_end = false;
    const uint64_t begin = in_.begins[lane.row];
    const store::SlotRange row{begin, begin + in_.degrees[lane.row]};
    lane.end = row.end;
    if (lane.eligible.latest == std::numeric_limits<int64_t>::max()) return FindBegin(lane);
    lane.search = SearchAfter<Source>(in_, row, lane.eligible.latest);
    return Search(lane);
  }

  bool Advance(Lane& lane) {
    const std::span<const int64_t> block = lane.search.block();
    const int64_t* const times = source_.Items(lane.asked, block);
    if (!std::is_sorted(times, times + block.size())) [[unlikely]] {
      in_.ThrowUnordered(lane.row);
    }
    lane.search.Take(times);
    return Search(lane);
  }

 private:
  bool Search(Lane& lane) {
    if (lane.search.done())
      return lane.has_end ? End(lane, lane.search.position()) : FindBegin(lane);
    AskBlock(source_, lane.asked, lane.search);
    return true;
  }

  bool FindBegin(Lane& lane) {
    if (!lane.has_end) {
      lane.has_end = true;
      if (lane.eligible.latest != std::numeric_limits<int64_t>::max()) {
        lane.end = lane.search.position();
      }
    }
    const uint64_t begin = in_.begins[lane.row];
    if (lane.eligible.earliest == kNoTime || begin == lane.end) return End(lane, begin);
    lane.search = SearchAfter<Source>(in_, {begin, lane.end}, lane.eligible.earliest - 1);
    return Search(lane);
  }

  bool End(const Lane& lane, uint64_t begin) const {
    in_.Keep(lane.row, std::min(begin, lane.end), lane.end);
    return false;
  }

  const NarrowedRows& in_;
  Source& source_;
  const std::span<const size_t> rows_;
};

template <class Source>
void SearchRows(const NarrowedRows& in, Source& source, std::span<const size_t> rows) {
  TimeSearcher<Source> searcher(in, source, rows);
  RunLanes<typename TimeSearcher<Source>::Lane>(source, searcher, 0, rows.size(), Source::kSide);
}

// A row in memory to search, with its first and its last time.
struct SearchedRow {
  size_t number;
  int64_t first;
  int64_t last;
};

// Most rows of most graphs need no search: they are short, or all or none of their slots are
// eligible. Narrows such rows among [begin, end) and returns those that must be searched. For rows
// in memory.
base::WorkVector<SearchedRow> NarrowPlainRows(const NarrowedRows& in, size_t begin, size_t end) {
  constexpr size_t kAhead = 16;
  constexpr uint64_t kShort = 16;
  const int64_t* const times = in.times();
  const auto prefetch = [&](size_t i) __attribute__((always_inline)) {
    base::Prefetch(times + in.begins[i]);
    if (in.degrees[i] > 1) base::Prefetch(times + in.begins[i] + in.degrees[i] - 1);
  };
  base::WorkVector<SearchedRow> left;
  for (size_t i = begin; i < std::min(begin + kAhead, end); ++i) prefetch(i);
  for (size_t i = begin; i < end; ++i) {
    if (i + kAhead < end) prefetch(i + kAhead);
    const uint64_t degree = in.degrees[i];
    if (degree == 0) continue;
    const TimeRange eligible = in.Eligible(i);
    const int64_t* const row = times + in.begins[i];
    const int64_t first = store::ReadOnce(row);
    const int64_t last = store::ReadOnce(row + degree - 1);
    if (first > last) in.ThrowUnordered(i);
    if (eligible.Contains(first) && eligible.Contains(last)) continue;
    if (last < eligible.earliest || first > eligible.latest) {
      in.degrees[i] = 0;
    } else if (degree <= kShort) {
      uint64_t before = 0;
      uint64_t upto = 0;
      int64_t previous = first;
      bool ordered = true;
      for (uint64_t e = 0; e < degree; ++e) {
        const int64_t time = store::ReadOnce(row + e);
        before += time < eligible.earliest;
        upto += time <= eligible.latest;
        ordered &= previous <= time;
        previous = time;
      }
      if (!ordered) in.ThrowUnordered(i);
      in.Keep(i, in.begins[i] + std::min(before, upto), in.begins[i] + upto);
    } else {
      left.push_back({i, first, last});
    }
  }
  return left;
}

// Searches the rows that NarrowPlainRows() has left, and narrows them.
void SearchInMemory(const NarrowedRows& in, std::span<const SearchedRow> rows) {
  base::WorkVector<TimeSearch> searches;
  base::WorkVector<size_t> numbers;  // of the rows that are searched
  size_t unordered = SIZE_MAX;
  const auto search = [&](const auto& keep) {
    SearchTimes(in.times(), searches);
    for (size_t k = 0; k < searches.size(); ++k) {
      if (searches[k].unordered) [[unlikely]] {
        unordered = std::min(unordered, numbers[k]);
      }
      keep(numbers[k], searches[k].end);
    }
    searches.clear();
    numbers.clear();
  };
  searches.reserve(rows.size());
  numbers.reserve(rows.size());
  for (const SearchedRow& row : rows) {
    const TimeRange eligible = in.Eligible(row.number);
    if (row.last <= eligible.latest) continue;
    const uint64_t begin = in.begins[row.number];
    const uint64_t end = begin + in.degrees[row.number];
    searches.push_back({begin + 1, end - 1, eligible.latest, row.first, row.last});
    numbers.push_back(row.number);
  }
  search([&](size_t i, uint64_t end) { in.Keep(i, in.begins[i], end); });
  if (in.seeds.rule.window > 0) {
    for (const SearchedRow& row : rows) {
      const TimeRange eligible = in.Eligible(row.number);
      if (row.first >= eligible.earliest) continue;
      const uint64_t begin = in.begins[row.number];
      const int64_t high = std::max(std::min(row.last, eligible.latest), eligible.earliest);
      searches.push_back(
          {begin + 1, begin + in.degrees[row.number], eligible.earliest - 1, row.first, high});
      numbers.push_back(row.number);
    }
    search([&](size_t i, uint64_t begin) { in.Keep(i, begin, in.begins[i] + in.degrees[i]); });
  }
  if (unordered != SIZE_MAX) in.ThrowUnordered(unordered);
}

void Narrow(const NarrowedRows& in, base::ThreadLease& lease, size_t count) {
  WithRowSource(in.rows, lease, count, kGrain,
                [&]<class Source>(Source& source, size_t begin, size_t end) {
                  if constexpr (Source::kLoadsStay) {
                    SearchInMemory(in, NarrowPlainRows(in, begin, end));
                  } else {
                    base::WorkVector<size_t> all;
                    for (size_t i = begin; i < end; ++i) {
                      if (in.degrees[i] > 0) all.push_back(i);
                    }
                    SearchRows(in, source, all);
                  }
                });
}

}  // namespace

void NarrowToTimes(const Rows& rows, base::ThreadLease& lease, const SeedTimes& seeds,
                   std::span<const uint64_t> nodes, const LocalId* trees, uint64_t* begins,
                   uint64_t* degrees) {
  const int64_t* const times = rows.adjacency.slot_times;
  if (times != nullptr)
    Narrow({rows, times, seeds, nodes, trees, begins, degrees}, lease, nodes.size());
}

void CountUpTo(const Rows& rows, base::ThreadLease& lease, std::span<const int64_t> rising,
               std::span<const int64_t> times, std::span<uint64_t> counts) {
  const SeedTimes seeds{times, {}};
  base::WorkVector<LocalId> trees(times.size());
  std::iota(trees.begin(), trees.end(), 0);
  base::WorkVector<uint64_t> begins(times.size(), 0);
  std::fill(counts.begin(), counts.end(), rising.size());
  Narrow({rows, rising.data(), seeds, {}, trees.data(), begins.data(), counts.data()}, lease,
         times.size());
}

void CheckTimeOrder(const Rows& rows) {
  if (rows.adjacency.slot_times == nullptr || rows.adjacency.time_ordered) return;
  throw std::invalid_argument(
      rows.path() + ": rows" + rows.OfRelation() +
      " have times, but are not in their order, which a sample by time needs; convert the graph "
      "again, or sample without a time");
}

}  // namespace graphzero::sample
