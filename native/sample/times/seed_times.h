// Which slots of a row a temporal sample may have: those that are not later than the time of the
// seed.
//
// The time of a slot is the later of its edge's and its neighbour's time. Rows are in the order of
// slot times, so the eligible slots are a range of the row, which a search finds. Slots of a
// relation without times are always eligible.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/threads.h"
#include "sample/id_table.h"
#include "sample/rows/rows.h"

namespace graphzero::sample {

// NumPy's NaT: no time at all.
inline constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

// Both ends are inclusive. Nothing is eligible if `latest` is before `earliest`.
struct TimeRange {
  int64_t earliest;
  int64_t latest;

  bool Contains(int64_t time) const { return earliest <= time && time <= latest; }
};

// Which times are eligible, given the time of the seed.
struct TimeRule {
  bool strict = false;  // only times before the seed's, not the same
  uint64_t window = 0;  // how far back eligible times reach; 0: without limit

  // Needs a time that is not kNoTime.
  TimeRange For(int64_t seed_time) const {
    TimeRange range{kNoTime, strict ? seed_time - 1 : seed_time};
    const uint64_t back = strict ? window : window - 1;
    // A range that would begin before the first of all times begins at the first.
    const auto above_first = static_cast<uint64_t>(seed_time) - static_cast<uint64_t>(kNoTime);
    if (window > 0 && back < above_first) {
      range.earliest = static_cast<int64_t>(static_cast<uint64_t>(seed_time) - back);
    }
    return range;
  }
};

// The seeds of a temporal sample. Does not own the times.
struct SeedTimes {
  std::span<const int64_t> times;  // of the seeds; seed i is the root of tree i
  TimeRule rule;

  TimeRange Of(LocalId tree) const { return rule.For(times[tree]); }
};

// Narrows the row of each nodes[i], the degrees[i] slots from begins[i] on, to the slots that are
// eligible for the seed of tree trees[i]. Throws FormatError if times of a row are found to be out
// of order, and IoError.
void NarrowToTimes(const Rows& rows, base::ThreadLease& lease, const SeedTimes& seeds,
                   std::span<const uint64_t> nodes, const LocalId* trees, uint64_t* begins,
                   uint64_t* degrees);

// counts[i] = how many of these rising times, an array in the mapping, are not after times[i].
void CountUpTo(const Rows& rows, base::ThreadLease& lease, std::span<const int64_t> rising,
               std::span<const int64_t> times, std::span<uint64_t> counts);

// Throws std::invalid_argument for a relation whose rows have times but are not in their order.
void CheckTimeOrder(const Rows& rows);

}  // namespace graphzero::sample
