// Rows of a topology that lies in memory. Cache lines are prefetched, so that cache misses overlap:
// those of one batch with each other, and the dependent ones of a walk or a search with those of
// other lanes (row_lanes.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/prefetch.h"
#include "sample/rows/row_search.h"
#include "sample/rows/rows.h"

namespace graphzero::sample {

// Used by one thread, inside ReadRows() (rows.h).
template <class IdType>
class MappedRows {
 public:
  using Id = IdType;
  struct Asked {
    static constexpr bool served() { return true; }
  };
  // Lanes side by side: enough to hide each other's cache misses, with a state that fits into the
  // L1 cache.
  static constexpr size_t kSide = 64;
  static constexpr uint64_t kBlockBytes = 64;  // a cache line
  // Slots whose items are read together, where there is a choice: few enough to stay in the L1
  // cache.
  static constexpr size_t kSlotsAtOnce = 2048;
  // Whether the ranges that Loaded() returns stay valid after the turn.
  static constexpr bool kLoadsStay = true;
  // Rows of at most this many bytes are read as a whole instead of item by item: none in memory.
  static constexpr uint64_t kShortRowBytes = 0;

  explicit MappedRows(const Rows& rows) : rows_(rows) {}

  const Rows& rows() const { return rows_; }

  template <class ForEachAsked>
  void Round(const ForEachAsked&) {}

  // Asks for consecutive items of an array, which take at most kBlockBytes.
  template <class T>
  [[gnu::always_inline]] void AskItems(Asked&, std::span<const T> items) const {
    base::Prefetch(items.data());
    if (items.size() > 1) base::Prefetch(items.data() + items.size() - 1);
  }
  // Returns, in the next turn, where these items are. Somebody may write to them meanwhile.
  template <class T>
  const T* Items(const Asked&, std::span<const T> items) const {
    return items.data();
  }

  // In memory, no bounds are known without a look at the mapping.
  static constexpr bool KnowsRow(const Rows&, uint64_t, store::SlotRange*) { return false; }
  static constexpr bool KnowsRowOf(uint64_t, uint64_t*) { return false; }

  // begins[i] and degrees[i] of the row of nodes[i]. Needs nodes below adjacency.rows. Throws
  // FormatError for the first that is damaged.
  void ReadBounds(std::span<const uint64_t> nodes, uint64_t* begins, uint64_t* degrees) const {
    const size_t primed = std::min(kAhead, nodes.size());
    for (size_t i = 0; i < primed; ++i) rows_.PrefetchRow(nodes[i]);
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (i + kAhead < nodes.size()) rows_.PrefetchRow(nodes[i + kAhead]);
      const store::SlotRange row = rows_.Row(nodes[i]);
      begins[i] = row.begin;
      degrees[i] = row.size();
    }
  }

  // to[i] = array[slots[i]], where `array` has an item for each slot of the adjacency. Items are as
  // the file has them; slots were checked when they were drawn.
  template <class From, class To>
  void ReadSlots(const From* array, std::span<const uint64_t> slots, To* to) const {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (i + kAhead < slots.size()) base::Prefetch(array + slots[i + kAhead]);
      to[i] = static_cast<To>(store::ReadOnce(array + slots[i]));
    }
  }

  // Asks for up to three ranges of arrays, which may be long (the rows of hubs). They are read in
  // order, so the hardware prefetcher fetches them.
  template <class... Range>
  void AskRanges(Asked&, const Range&...) const {}
  // Returns, in the next turn, range number `place` of those that were asked for, which was
  // `range`.
  template <class T>
  std::span<const T> Loaded(const Asked&, size_t, std::span<const T> range) const {
    return range;
  }

 private:
  // Items are prefetched this many items ahead.
  static constexpr size_t kAhead = 24;

  const Rows& rows_;
};

}  // namespace graphzero::sample
