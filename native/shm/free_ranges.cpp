#include "shm/free_ranges.h"

#include <algorithm>
#include <iterator>

namespace graphzero::shm {

FreeRanges::Map::iterator FreeRanges::Best(uint64_t size) {
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second.size < size) continue;
    const bool better =
        best == free_.end() || (best->second.punched && !it->second.punched) ||
        (best->second.punched == it->second.punched && it->second.size < best->second.size);
    if (better) best = it;
  }
  return best;
}

std::optional<FreeRanges::Range> FreeRanges::Take(uint64_t size) {
  const auto it = Best(size);
  if (it == free_.end()) return std::nullopt;
  const uint64_t offset = it->first;
  const Free range = it->second;
  free_.erase(it);
  if (range.size > size) {
    free_[offset + size] = {range.size - size, range.punched, range.since};
  }
  return Range{offset, size, range.punched};
}

void FreeRanges::Give(uint64_t offset, uint64_t size, bool punched) {
  const auto it = free_.insert_or_assign(offset, Free{size, punched, Clock::now()}).first;
  const auto next = std::next(it);
  if (next != free_.end() && next->second.punched == punched && next->first == offset + size) {
    it->second.size += next->second.size;
    free_.erase(next);
  }
  if (it == free_.begin()) return;
  const auto previous = std::prev(it);
  const uint64_t previous_end = previous->first + previous->second.size;
  if (previous->second.punched == punched && previous_end == offset) {
    previous->second.size += it->second.size;
    previous->second.since = it->second.since;
    free_.erase(it);
  }
}

void FreeRanges::JoinPunched() {
  for (auto it = free_.begin(); it != free_.end();) {
    const auto next = std::next(it);
    const bool touch = next != free_.end() && it->second.punched && next->second.punched &&
                       it->first + it->second.size == next->first;
    if (!touch) {
      it = next;
      continue;
    }
    it->second.size += next->second.size;
    free_.erase(next);
  }
}

uint64_t FreeRanges::free_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [offset, range] : free_) bytes += range.size;
  return bytes;
}

uint64_t FreeRanges::punched_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [offset, range] : free_) bytes += range.punched ? range.size : 0;
  return bytes;
}

}  // namespace graphzero::shm
