#include "gather/warmth.h"

#include <time.h>

#include <cstddef>

#include "store/files/mapped_file.h"

namespace graphzero::gather {
namespace {

// Rows that one measurement checks. With 1 row in 200 on the disk, three measurements in four find
// such a row; the page faults that follow the fourth cost less than reading all rows would.
constexpr size_t kLooks = 256;
constexpr int64_t kWarmForMs = 200;
constexpr int64_t kColdForMs = 20;

int64_t CoarseMilliseconds() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

bool Warmth::IsWarm(size_t count, const std::function<uint64_t(size_t)>& offset) {
  const int64_t now = CoarseMilliseconds();
  int64_t due = next_look_.load(std::memory_order_relaxed);
  if (now < due || count == 0) return warm_.load(std::memory_order_relaxed);
  // One caller measures; the others use the last result.
  if (!next_look_.compare_exchange_strong(due, now + kColdForMs)) {
    return warm_.load(std::memory_order_relaxed);
  }
  const bool warm = Measure(count, offset);
  warm_ = warm;
  if (warm) next_look_ = now + kWarmForMs;
  return warm;
}

bool Warmth::Measure(size_t count, const std::function<uint64_t(size_t)>& offset) const {
  return store::SpreadLooks(count, kLooks, [&](size_t i) {
    std::byte byte;
    return file_.TryRead(offset(i), {&byte, 1});
  });
}

}  // namespace graphzero::gather
