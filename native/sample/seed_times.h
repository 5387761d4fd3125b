// What a sample may know: slots of rows that are not later than the time of a seed.
//
// A slot has a time, the later of its edge's and its neighbour's, and rows are in the order of
// these: what is eligible is a range of the row, found by searching it. Slots of a relation without
// times are always eligible.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/threads.h"
#include "sample/id_table.h"
#include "sample/rows.h"

namespace graphzero::sample {

// NumPy's NaT: no time at all.
inline constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

// Times are inclusive. Nothing is eligible if `latest` is before `earliest`.
struct TimeRange {
  int64_t earliest;
  int64_t latest;

  bool Contains(int64_t time) const { return earliest <= time && time <= latest; }
};

// Which times a seed's makes eligible.
struct TimeRule {
  bool strict = false;  // only times before the seed's, not the same
  uint64_t window = 0;  // how far back; 0: as far as there is

  // Needs a time that is not kNoTime.
  TimeRange For(int64_t seed_time) const {
    TimeRange range{kNoTime, strict ? seed_time - 1 : seed_time};
    const uint64_t back = strict ? window : window - 1;
    // What would be before all times stays the first of them.
    const auto above_first = static_cast<uint64_t>(seed_time) - static_cast<uint64_t>(kNoTime);
    if (window > 0 && back < above_first) {
      range.earliest = static_cast<int64_t>(static_cast<uint64_t>(seed_time) - back);
    }
    return range;
  }
};

// The seeds of a temporal sample. Does not own the times.
struct SeedTimes {
  std::span<const int64_t> times;  // of the seeds, which are the trees
  TimeRule rule;

  TimeRange Of(LocalId tree) const { return rule.For(times[tree]); }
};

// Narrows the rows of nodes[i], which are degrees[i] slots from begins[i] on, to what is eligible
// for the seeds that are their trees. Throws FormatError for a row whose times are found to be in
// another order, IoError.
void NarrowToTimes(const Rows& rows, base::ThreadLease& lease, const SeedTimes& seeds,
                   std::span<const uint64_t> nodes, const LocalId* trees, uint64_t* begins,
                   uint64_t* degrees);

// counts[i] = how many of these rising times, an array in the mapping, are not after times[i].
void CountUpTo(const Rows& rows, base::ThreadLease& lease, std::span<const int64_t> rising,
               std::span<const int64_t> times, std::span<uint64_t> counts);

// Throws std::invalid_argument for a relation whose rows have times in no order.
void CheckTimeOrder(const Rows& rows);

}  // namespace graphzero::sample
