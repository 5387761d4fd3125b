// Reads that are known beforehand, for many rows at once, over either source (row_sources.h).
//
// In memory the threads of the lease share the work and ask for cache lines early. From disk the
// calling thread reads all at once, or as much as memory allows, and lends its thread to others
// meanwhile. All throw IoError; from disk, with file and offset.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/row_sources.h"

namespace graphzero::sample {

// MappedRows::ReadBounds() and ReadSlots() by all threads of the lease, or those of DiskRows.
inline void ReadBounds(const Rows& rows, base::ThreadLease& lease, std::span<const uint64_t> nodes,
                       uint64_t* begins, uint64_t* degrees) {
  WithRowSource(rows, lease, nodes.size(), 2048, [&](auto& source, size_t begin, size_t end) {
    source.ReadBounds(nodes.subspan(begin, end - begin), begins + begin, degrees + begin);
  });
}
template <class From, class To>
void ReadSlots(const Rows& rows, base::ThreadLease& lease, const From* array,
               std::span<const uint64_t> slots, To* to) {
  WithRowSource(rows, lease, slots.size(), 32768, [&](auto& source, size_t begin, size_t end) {
    source.ReadSlots(array, slots.subspan(begin, end - begin), to + begin);
  });
}

// Calls body(rank, begin, end, items) for ranges that make up [0, count), as
// base::ThreadLease::For() does; items(i), for i of that range, are array[range_of(i)], where
// `array` has an item for each slot of the adjacency. From disk, kAtOnceBytes are held at a time,
// or a single range that is longer.
template <class T, class RangeOf, class Body>
void ForRanges(const Rows& rows, base::ThreadLease& lease, const T* array, size_t count,
               size_t grain, const RangeOf& range_of, const Body& body) {
  constexpr uint64_t kAtOnceBytes = uint64_t{16} << 20;
  if (rows.disk == nullptr) {
    const auto items = [&](size_t i) {
      const store::SlotRange range = range_of(i);
      return std::span<const T>(array + range.begin, range.size());
    };
    lease.For(count, grain,
              [&](int rank, size_t begin, size_t end) { body(rank, begin, end, items); });
    return;
  }
  base::Buffer<T> read;
  base::WorkVector<std::span<const T>> spans;
  base::WorkVector<io::WantedRange> wanted;
  base::CheckedLoop loop;
  size_t last = 0;
  for (size_t first = 0; first < count; first = last) {
    uint64_t held = 0;
    for (last = first; last < count; ++last) {
      loop.Next();
      const uint64_t more = range_of(last).size();
      if (last > first && (held + more) * sizeof(T) > kAtOnceBytes) break;
      held += more;
    }
    read.Reserve(held);
    spans.clear();
    wanted.clear();
    T* to = read.data();
    for (size_t i = first; i < last; ++i) {
      loop.Next();
      const store::SlotRange range = range_of(i);
      spans.emplace_back(to, range.size());
      if (range.size() == 0) continue;
      wanted.push_back({rows.disk->OffsetOf(array + range.begin), range.size() * sizeof(T),
                        reinterpret_cast<std::byte*>(to)});
      to += range.size();
    }
    {
      const base::ThreadLease::Pause pause;
      rows.disk->ReadRanges(wanted);
    }
    const auto items = [&](size_t i) { return spans[i - first]; };
    lease.For(last - first, grain, [&](int rank, size_t begin, size_t end) {
      body(rank, first + begin, first + end, items);
    });
  }
}

}  // namespace graphzero::sample
