// Searches of many ranges of rising times that lie in memory, side by side.
//
// A search looks at one cache line, and then knows which line to look at next. All searches of a
// list take their first look before any of them takes its second. So the next line of every search
// is known long before it is read, and is prefetched. Lanes (row_lanes.h) hide these waits as well,
// but take 275 instructions a look, where these searches take 168.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.h"

namespace graphzero::sample {

// A search for the first of the times [begin, end) that is after `time`. `low` and `high` are the
// bounds of these times; `time` is at least `low` and below `high`.
struct TimeSearch {
  uint64_t begin;  // times before this place are not after `time`
  uint64_t end;    // times from this place on are after `time`
  int64_t time;
  int64_t low;
  int64_t high;
  uint64_t look = 0;  // where the next look begins
  uint32_t looks = 0;
  bool unordered = false;
};

// Runs all of these searches in an array that begins with a cache line. Afterwards both `begin` and
// `end` of each are the place that it was for, unless it has found times that do not rise: it is
// `unordered` then.
void SearchTimes(const int64_t* times, std::span<TimeSearch> searches);

}  // namespace graphzero::sample
