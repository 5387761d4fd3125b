// How much shared memory a session is promised; budget.h tells what a promise means.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "shm/free_ranges.h"

namespace graphzero::shm {

inline constexpr uint64_t kPage = 4096;
inline constexpr uint64_t kSmallestRegion = uint64_t{4} << 20;

// How much of its region a block of `bytes` takes.
constexpr uint64_t BlockSize(uint64_t bytes) {
  return std::max(kPage, base::AlignUp(bytes, kPage));
}

// Size of a region that is made for a block: a little more, because the next batch will differ.
constexpr uint64_t RegionSize(uint64_t block) {
  constexpr uint64_t kStep = uint64_t{2} << 20;
  return std::max(kSmallestRegion, base::AlignUp(block + block / 8, kStep));
}

// Size of a new region for a session that has `resident` bytes already. A session that holds many
// blocks gets larger regions, so that the number of regions, and so of descriptors, grows only with
// the logarithm.
constexpr uint64_t GrownRegionSize(uint64_t block, uint64_t resident) {
  return std::max(RegionSize(block), base::AlignUp(resident / 16, kSmallestRegion));
}

// The promise to a session whose regions have `region` bytes, if all the others leave it `left` of
// `limit`: `window` regions, as far as they fit into `left` and into half of the limit, but at
// least two. Nothing if not even two fit into `left`.
constexpr std::optional<uint64_t> PromiseFor(uint64_t region, uint32_t window, uint64_t limit,
                                             uint64_t left) {
  if (region > left / 2) return std::nullopt;
  const uint64_t most = std::max(2 * region, std::min(limit / 2, left) / kPage * kPage);
  const uint64_t regions = std::max<uint64_t>(2, window);
  return region <= most / regions ? regions * region : most;
}

// The largest of the recent results: those of the current span of results and of the one before it.
// A span ends after 128 results, or when it has lasted for long enough.
class RecentLargest {
 public:
  // True if a span ended, so that largest() may have fallen.
  bool Add(uint64_t size) {
    now_ = std::max(now_, size);
    if (++results_ < kSpanResults) return false;
    BeginSpan();
    return true;
  }
  // Ends the span if it began before `before`; true if so.
  bool EndIfBegun(Clock::time_point before) {
    if (began_ >= before) return false;
    BeginSpan();
    return true;
  }
  uint64_t largest() const { return std::max(now_, before_); }

 private:
  static constexpr uint64_t kSpanResults = 128;

  void BeginSpan() {
    before_ = now_;
    now_ = results_ = 0;
    began_ = Clock::now();
  }

  uint64_t now_ = 0;
  uint64_t before_ = 0;
  uint64_t results_ = 0;
  Clock::time_point began_ = Clock::now();
};

}  // namespace graphzero::shm
