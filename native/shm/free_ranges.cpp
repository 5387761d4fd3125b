#include "shm/free_ranges.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace graphzero::shm {

FreeRanges::FreeRanges(uint64_t size) : size_(size) { Give(0, size, false); }

uint64_t FreeRanges::PunchedIn(uint64_t offset, uint64_t size) const {
  uint64_t bytes = 0;
  for (auto it = std::prev(free_.upper_bound(offset));
       it != free_.end() && it->first < offset + size; ++it) {
    const uint64_t end = std::min(it->first + it->second.size, offset + size);
    if (it->second.punched) bytes += end - std::max(it->first, offset);
  }
  return bytes;
}

std::optional<FreeRanges::Place> FreeRanges::Find(uint64_t size) const {
  std::optional<Place> best;
  uint64_t best_stretch = 0;
  for (auto first = free_.begin(); first != free_.end();) {
    // [first, last): ranges that touch.
    auto last = first;
    uint64_t end = first->first;
    while (last != free_.end() && last->first == end) end += (last++)->second.size;
    const uint64_t begin = first->first;
    const auto consider = [&](uint64_t offset) {
      const Place place{offset, size, PunchedIn(offset, size)};
      const uint64_t stretch = end - begin;
      if (!best ||
          std::tie(place.punched_bytes, stretch) < std::tie(best->punched_bytes, best_stretch)) {
        best = place;
        best_stretch = stretch;
      }
    };
    // A place with the fewest punched bytes begins or ends where a range does.
    for (; first != last; ++first) {
      const uint64_t range_end = first->first + first->second.size;
      if (end - first->first >= size) consider(first->first);
      if (range_end - begin >= size) consider(range_end - size);
    }
  }
  return best;
}

void FreeRanges::SplitAt(uint64_t offset) {
  const auto after = free_.upper_bound(offset);
  if (after == free_.begin()) return;
  const auto it = std::prev(after);
  const uint64_t left = offset - it->first;
  if (left == 0 || left >= it->second.size) return;
  free_[offset] = {it->second.size - left, it->second.punched, it->second.since};
  it->second.size = left;
}

std::vector<FreeRanges::Range> FreeRanges::Take(uint64_t offset, uint64_t size) {
  SplitAt(offset);
  SplitAt(offset + size);
  std::vector<Range> punched;
  const auto begin = free_.lower_bound(offset);
  const auto end = free_.lower_bound(offset + size);
  for (auto it = begin; it != end; ++it) {
    free_bytes_ -= it->second.size;
    if (!it->second.punched) continue;
    punched_bytes_ -= it->second.size;
    punched.push_back({it->first, it->second.size});
  }
  free_.erase(begin, end);
  return punched;
}

void FreeRanges::Give(uint64_t offset, uint64_t size, bool punched) {
  free_bytes_ += size;
  if (punched) punched_bytes_ += size;
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

std::vector<FreeRanges::WarmRange> FreeRanges::Warm() const {
  std::vector<WarmRange> found;
  for (const auto& [offset, range] : free_) {
    if (!range.punched) found.push_back({offset, range.size, range.since});
  }
  return found;
}

}  // namespace graphzero::shm
