// Which parts of a region are free, and which of those have no memory behind them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

namespace graphzero::shm {

using Clock = std::chrono::steady_clock;

// Free ranges of [0, size). Two of them touch only if one is punched and the other is not.
// Not thread-safe.
class FreeRanges {
 public:
  struct Range {
    uint64_t offset;
    uint64_t size;
    bool punched;  // given back to the system: must be refilled before use
  };

  explicit FreeRanges(uint64_t size) : size_(size) { free_[0] = {size, false, Clock::now()}; }

  // Takes `size` bytes from the smallest range that has them; prefers one that is not punched.
  std::optional<Range> Take(uint64_t size);
  // Gives a range back, `punched` if there is no memory behind it.
  void Give(uint64_t offset, uint64_t size, bool punched);

  // Everything is free.
  bool Whole() const { return free_bytes() == size_; }
  uint64_t free_bytes() const;
  uint64_t punched_bytes() const;

  // Marks as punched every range that was last used before `before`, and calls punch(offset, size).
  template <class Punch>
  uint64_t PunchIdle(Clock::time_point before, Punch&& punch) {
    uint64_t bytes = 0;
    for (auto& [offset, range] : free_) {
      if (range.punched || range.since >= before) continue;
      punch(offset, range.size);
      range.punched = true;
      bytes += range.size;
    }
    JoinPunched();
    return bytes;
  }

 private:
  struct Free {
    uint64_t size;
    bool punched;
    Clock::time_point since;
  };
  using Map = std::map<uint64_t, Free>;

  Map::iterator Best(uint64_t size);
  void JoinPunched();

  uint64_t size_;
  Map free_;  // by offset
};

}  // namespace graphzero::shm
