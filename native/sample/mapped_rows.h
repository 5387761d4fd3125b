// Rows of a topology that lies in memory, for algorithms in lanes (row_lanes.h): the many dependent
// cache misses of a walk or a search overlap with those of other lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sample/row_search.h"
#include "sample/rows.h"

namespace graphzero::sample {

// Used by one thread, inside ReadRows() (rows.h).
template <class IdType>
class MappedRows {
 public:
  using Id = IdType;
  struct Asked {
    static constexpr bool served() { return true; }
  };
  // Lanes that hide each other's cache misses, with a state that fits into the first cache.
  static constexpr size_t kSide = 64;
  static constexpr uint64_t kBlockBytes = 64;  // a cache line
  // What Loaded() gives stays after the turn.
  static constexpr bool kLoadsStay = true;
  // Rows of so many bytes are better read as a whole than looked at here and there: none.
  static constexpr uint64_t kShortRowBytes = 0;

  explicit MappedRows(const Rows& rows) : rows_(rows) {}

  const Rows& rows() const { return rows_; }

  template <class ForEachAsked>
  void Round(const ForEachAsked&) {}

  // Consecutive items of an array, which take at most kBlockBytes.
  template <class T>
  [[gnu::always_inline]] void AskItems(Asked&, std::span<const T> items) const {
    __builtin_prefetch(items.data());
    if (items.size() > 1) __builtin_prefetch(items.data() + items.size() - 1);
  }
  // In the next turn: where they are. Somebody may write to them meanwhile.
  template <class T>
  const T* Items(const Asked&, std::span<const T> items) const {
    return items.data();
  }

  // Whole ranges of arrays, up to three, which may be long (the rows of hubs). They are read in
  // order, which the processor foresees.
  template <class... Range>
  void AskRanges(Asked&, const Range&...) const {}
  // In the next turn: number `place` of the ranges that were asked for, which was `range`.
  template <class T>
  std::span<const T> Loaded(const Asked&, size_t, std::span<const T> range) const {
    return range;
  }

 private:
  const Rows& rows_;
};

}  // namespace graphzero::sample
