#include "sample/times/time_search.h"

#include <algorithm>

#include "base/prefetch.h"
#include "store/files/integer_array.h"

namespace graphzero::sample {
namespace {

constexpr uint64_t kLine = 64 / sizeof(int64_t);
// Lines are prefetched this many looks ahead.
constexpr size_t kAhead = 24;
// One look in this many halves the range, which bounds the number of looks; the other looks guess.
constexpr uint32_t kHalvingEvery = 4;

// About size * (time - low) / (high - low), always below `size`. In floating point, because a
// division of 64-bit integers takes several times as long. Differences are halved, so that they fit
// into signed integers, which one instruction converts.
[[gnu::always_inline]] inline uint64_t Guess(const TimeSearch& search) {
  const auto half = [&](int64_t time) {
    const uint64_t above = static_cast<uint64_t>(time) - static_cast<uint64_t>(search.low);
    return static_cast<double>(static_cast<int64_t>(above >> 1));
  };
  const auto size = static_cast<int64_t>(search.end - search.begin);
  const double part = static_cast<double>(size) * half(search.time) / (half(search.high) + 1);
  return static_cast<uint64_t>(std::min(static_cast<int64_t>(part), size - 1));
}

// Chooses where the next look begins. Most looks interpolate, because times are spread evenly more
// often than not. A look begins at the begin of a cache line, or at the begin of the range if the
// line begins before that.
[[gnu::always_inline]] inline void ChooseLook(TimeSearch& search) {
  const bool halve = search.looks % kHalvingEvery == kHalvingEvery - 1;
  const uint64_t place = halve ? (search.end - search.begin) / 2 : Guess(search);
  search.look = std::max(search.begin, (search.begin + place) & ~(kLine - 1));
}

// Narrows the range of a search by the times of its line.
[[gnu::always_inline]] inline void Look(const int64_t* times, TimeSearch& search) {
  const uint64_t line_end = (search.look | (kLine - 1)) + 1;
  const uint64_t count = std::min(line_end, search.end) - search.look;
  const int64_t* const line = times + search.look;
  int64_t read[kLine];
  uint64_t upto = 0;
  bool unordered = false;
  if (count == kLine) {
    for (uint64_t i = 0; i < kLine; ++i) read[i] = store::ReadOnce(line + i);
    for (uint64_t i = 0; i < kLine; ++i) upto += read[i] <= search.time;
    for (uint64_t i = 1; i < kLine; ++i) unordered |= read[i - 1] > read[i];
  } else {
    for (uint64_t i = 0; i < count; ++i) {
      read[i] = store::ReadOnce(line + i);
      upto += read[i] <= search.time;
      unordered |= i > 0 && read[i - 1] > read[i];
    }
  }
  search.unordered = unordered;
  ++search.looks;
  if (upto == count) {
    search.begin = search.look + count;
    search.low = read[count - 1];
  } else {
    // If no time of the line is early enough, some before it may be too late, too.
    if (upto > 0) search.begin = search.look + upto;
    search.end = search.look + upto;
    search.high = read[upto];
  }
}

}  // namespace

void SearchTimes(const int64_t* times, std::span<TimeSearch> searches) {
  base::WorkVector<uint32_t> active(searches.size());
  size_t left = 0;
  for (size_t i = 0; i < searches.size(); ++i) {
    TimeSearch& search = searches[i];
    ChooseLook(search);
    active[left] = static_cast<uint32_t>(i);
    left += search.begin < search.end;
  }
  while (left > 0) {
    const size_t count = left;
    left = 0;
    for (size_t i = 0; i < std::min(count, kAhead); ++i) {
      base::Prefetch(times + searches[active[i]].look);
    }
    for (size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) base::Prefetch(times + searches[active[i + kAhead]].look);
      TimeSearch& search = searches[active[i]];
      Look(times, search);
      active[left] = active[i];
      const bool done = search.begin >= search.end || search.unordered;
      left += !done;
      if (!done) ChooseLook(search);
    }
  }
}

}  // namespace graphzero::sample
