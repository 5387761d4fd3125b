// Reads that are known beforehand, for many rows at once, over either source (row_sources.h).
//
// In memory the threads of the lease share the work and prefetch cache lines. From disk the calling
// thread reads all at once, or as much as memory allows, and lends its thread to others meanwhile.
// All throw IoError; from disk, with file and offset.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/rows/row_sources.h"

namespace graphzero::sample {

// ReadBounds() and ReadSlots() of MappedRows by all threads of the lease, or of DiskRows by the
// calling thread.
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

// How many bytes of whole rows from disk are held at a time, unless a single row is longer.
inline constexpr uint64_t kAtOnceBytes = uint64_t{16} << 20;

// For whole rows from disk: calls read(first, last) for ranges that make up [0, count) and take at
// most kAtOnceBytes each. After each read it calls body(rank, begin, end) for the items that were
// read, as base::ThreadLease::For() does.
template <class BytesOf, class Read, class Body>
void ForReadTogether(base::ThreadLease& lease, size_t count, size_t grain, const BytesOf& bytes_of,
                     const Read& read, const Body& body) {
  base::CheckedLoop loop;
  size_t last = 0;
  for (size_t first = 0; first < count; first = last) {
    uint64_t held = 0;
    for (last = first; last < count; ++last) {
      loop.Next();
      const uint64_t more = bytes_of(last);
      if (last > first && held + more > kAtOnceBytes) break;
      held += more;
    }
    read(first, last);
    lease.For(last - first, grain,
              [&](int rank, size_t begin, size_t end) { body(rank, first + begin, first + end); });
  }
}

// The items that an array has for ranges of slots, read from disk all at once. Ranges are added,
// then read, then found by their number.
template <class T>
class ReadPieces {
 public:
  void Clear() {
    ranges_.clear();
    items_ = 0;
  }
  void Add(const store::SlotRange& range) {
    ranges_.push_back(range);
    items_ += range.size();
  }
  // Appends the reads of all ranges to `wanted`. `array` has an item for each slot of the
  // adjacency.
  void Want(const DiskTopology& disk, const T* array, base::WorkVector<io::WantedRange>& wanted) {
    read_.Reserve(items_);
    spans_.clear();
    T* to = read_.data();
    base::CheckedLoop loop;
    for (const store::SlotRange& range : ranges_) {
      loop.Next();
      spans_.emplace_back(to, range.size());
      if (range.size() == 0) continue;
      wanted.push_back({disk.OffsetOf(array + range.begin), range.size() * sizeof(T),
                        reinterpret_cast<std::byte*>(to)});
      to += range.size();
    }
  }
  std::span<const T> operator[](size_t number) const { return spans_[number]; }

 private:
  base::WorkVector<store::SlotRange> ranges_;
  uint64_t items_ = 0;
  base::Buffer<T> read_;
  base::WorkVector<std::span<const T>> spans_;
};

// Calls body(rank, begin, end, items) for ranges that make up [0, count), as
// base::ThreadLease::For() does; items(i), for i of that range, are array[range_of(i)], where
// `array` has an item for each slot of the adjacency. From disk, kAtOnceBytes are held at a time,
// or a single range that is longer.
template <class T, class RangeOf, class Body>
void ForRanges(const Rows& rows, base::ThreadLease& lease, const T* array, size_t count,
               size_t grain, const RangeOf& range_of, const Body& body) {
  if (rows.disk == nullptr) {
    const auto items = [&](size_t i) {
      const store::SlotRange range = range_of(i);
      return std::span<const T>(array + range.begin, range.size());
    };
    lease.For(count, grain,
              [&](int rank, size_t begin, size_t end) { body(rank, begin, end, items); });
    return;
  }
  ReadPieces<T> pieces;
  base::WorkVector<io::WantedRange> wanted;
  size_t held_from = 0;
  const auto items = [&](size_t i) { return pieces[i - held_from]; };
  ForReadTogether(
      lease, count, grain, [&](size_t i) { return range_of(i).size() * sizeof(T); },
      [&](size_t first, size_t last) {
        held_from = first;
        pieces.Clear();
        wanted.clear();
        base::CheckedLoop loop;
        for (size_t i = first; i < last; ++i) {
          loop.Next();
          pieces.Add(range_of(i));
        }
        pieces.Want(*rows.disk, array, wanted);
        const base::ThreadLease::Pause pause;
        rows.disk->ReadRanges(wanted);
      },
      [&](int rank, size_t begin, size_t end) { body(rank, begin, end, items); });
}

}  // namespace graphzero::sample
