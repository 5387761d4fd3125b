// Reading for a call that may be told to end (base/call.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/call.h"

namespace graphzero::io {

// Asked by queues between two reads, maybe on other threads than that of the call.
inline bool IsStopped(const base::Call* call) { return call != nullptr && call->stopped(); }

// Sorts; throws base::Stopped in the midst of it if the call is to end.
template <class T, class Less>
void SortStoppable(std::span<T> items, const Less& less) {
  constexpr uint64_t kCompared = uint64_t{1} << 16;
  uint64_t compared = 0;
  std::sort(items.begin(), items.end(), [&](const T& a, const T& b) {
    if (++compared % kCompared == 0) [[unlikely]]
      base::CheckStopped();
    return less(a, b);
  });
}

}  // namespace graphzero::io
