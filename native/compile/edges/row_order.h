// The two orders that rows of a file can be in, as keys to sort and to divide by.
//
// An order has levels: records are divided by the key of level 0, their row, then records with
// equal keys by the key of level 1, and so on. A Slot is a record without its row number; slots
// compare in the order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "compile/edges/edge_record.h"

namespace graphzero::compile {

// Inclusive limits of the values seen, for dividing.
struct KeyBounds {
  uint64_t max_row = 0;
  uint64_t max_neighbour = 0;
  uint64_t max_edge = 0;
  uint64_t min_time = UINT64_MAX;  // of TimeKey()
  uint64_t max_time = 0;
};

// Bounds of the same edges in the rows of their other ends.
inline KeyBounds Turned(const KeyBounds& bounds) {
  KeyBounds turned = bounds;
  std::swap(turned.max_row, turned.max_neighbour);
  return turned;
}

inline KeyBounds Joined(const KeyBounds& a, const KeyBounds& b) {
  return {std::max(a.max_row, b.max_row), std::max(a.max_neighbour, b.max_neighbour),
          std::max(a.max_edge, b.max_edge), std::min(a.min_time, b.min_time),
          std::max(a.max_time, b.max_time)};
}

// The keys of `level` that a bucket may hold. On all levels before `level` its records agree.
struct KeyRange {
  int level = 0;
  uint64_t low = 0;
  uint64_t high = 0;  // inclusive
};

// Sorts by (neighbour, edge number), and edges with times by (neighbour, time, edge number). In
// this order, repeats of an edge are adjacent.
template <class RecordType>
struct ByNeighbour {
  using Record = RecordType;
  using Slot = typename Record::Slot;
  static constexpr int kLevels = Record::kTimed ? 4 : Record::kRich ? 3 : 2;

  Slot MakeSlot(const Record& record) const { return record.rest; }
  static const typename Record::Slot& Rest(const Slot& slot) { return slot; }

  uint64_t Key(const Record& record, int level) const {
    if (level == 0) return record.row;
    if (level == 1) return record.rest.neighbour;
    if constexpr (Record::kTimed) {
      if (level == 2) return record.rest.time_key();
    }
    if constexpr (Record::kRich) return record.rest.edge();
    return 0;
  }

  KeyRange Whole(int level, const KeyBounds& bounds) const {
    if (level == 1) return {level, 0, bounds.max_neighbour};
    if (Record::kTimed && level == 2) return {level, bounds.min_time, bounds.max_time};
    return {level, 0, bounds.max_edge};
  }
};

// Sorts by (slot time, edge number, neighbour). The time of a slot is the later of the edge's time
// and the neighbour's time.
template <class RecordType>
struct ByTime {
  using Record = RecordType;
  static constexpr int kLevels = 4;
  static_assert(Record::kRich, "equal times are told apart by edge numbers");

  struct Slot {
    uint64_t slot_time;  // TimeKey()
    typename Record::Slot rest;

    friend bool operator<(const Slot& a, const Slot& b) {
      return std::tie(a.slot_time, a.rest.edge_high, a.rest.edge_low, a.rest.neighbour,
                      a.rest.weight) < std::tie(b.slot_time, b.rest.edge_high, b.rest.edge_low,
                                                b.rest.neighbour, b.rest.weight);
    }
  };

  // Times of the nodes at the neighbour end; null: these nodes have no times, but the edges have.
  const int64_t* neighbour_times;

  uint64_t SlotTime(const typename Record::Slot& slot) const {
    uint64_t time = 0;
    if constexpr (Record::kTimed) time = slot.time_key();
    if (neighbour_times == nullptr) return time;
    return std::max(time, TimeKey(neighbour_times[slot.neighbour]));
  }

  Slot MakeSlot(const Record& record) const { return {SlotTime(record.rest), record.rest}; }
  static const typename Record::Slot& Rest(const Slot& slot) { return slot.rest; }

  uint64_t Key(const Record& record, int level) const {
    switch (level) {
      case 0:
        return record.row;
      case 1:
        return SlotTime(record.rest);
      case 2:
        return record.rest.edge();
      default:
        return record.rest.neighbour;
    }
  }

  // The time bounds must be those of slot times.
  KeyRange Whole(int level, const KeyBounds& bounds) const {
    if (level == 1) return {level, bounds.min_time, bounds.max_time};
    return {level, 0, level == 2 ? bounds.max_edge : bounds.max_neighbour};
  }
};

}  // namespace graphzero::compile
