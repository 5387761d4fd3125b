// Which parts of a region are free, and which of those have no memory behind them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace graphzero::shm {

using Clock = std::chrono::steady_clock;

// Free ranges of [0, size), each either warm (with memory behind it) or punched (given back to the
// system, to be refilled before use). Of two ranges that touch, one is warm and one punched. Not
// thread-safe.
class FreeRanges {
 public:
  struct Range {
    uint64_t offset;
    uint64_t size;
  };
  // A free stretch, which may lie across several ranges that touch.
  struct Place {
    uint64_t offset;
    uint64_t size;
    uint64_t punched_bytes;
  };
  struct WarmRange {
    uint64_t offset;
    uint64_t size;
    Clock::time_point since;  // free since
  };

  // Everything is free and warm.
  explicit FreeRanges(uint64_t size);

  // A place for `size` bytes: with the fewest punched bytes, and among such places in the shortest
  // stretch of free ranges, so that long stretches stay whole.
  std::optional<Place> Find(uint64_t size) const;
  // Takes a place that lies inside free ranges. Returns the parts of it that must be refilled.
  std::vector<Range> Take(uint64_t offset, uint64_t size);
  // Gives a range back, `punched` if there is no memory behind it.
  void Give(uint64_t offset, uint64_t size, bool punched);

  std::vector<WarmRange> Warm() const;

  bool Whole() const { return free_bytes_ == size_; }  // everything is free
  uint64_t free_bytes() const { return free_bytes_; }
  uint64_t warm_bytes() const { return free_bytes_ - punched_bytes_; }
  // Bytes of the region with memory behind them, in use or not.
  uint64_t resident_bytes() const { return size_ - punched_bytes_; }

 private:
  struct Free {
    uint64_t size;
    bool punched;
    Clock::time_point since;
  };
  using Map = std::map<uint64_t, Free>;

  uint64_t PunchedIn(uint64_t offset, uint64_t size) const;
  // Splits the range that `offset` lies in, so that one begins there.
  void SplitAt(uint64_t offset);

  uint64_t size_;
  uint64_t free_bytes_ = 0;
  uint64_t punched_bytes_ = 0;
  Map free_;  // by offset
};

}  // namespace graphzero::shm
