// Edges on their way through the compiler: keyed by the row they will be stored in.
#pragma once

#include <cstdint>
#include <tuple>

namespace graphzero::compile {

// What an edge may carry beside its ends.
struct EdgeValues {
  uint64_t edge = 0;  // input row number
  float weight = 0;
  int64_t time = 0;
};

// An edge of which nothing but its ends will be stored. Equal records are identical, so their order
// does not matter. Id is uint32_t or uint64_t.
template <class IdType>
struct PlainRecord {
  using Id = IdType;
  static constexpr bool kRich = false;
  static constexpr bool kTimed = false;

  // The record without its row number. Slots compare in the order of the row.
  struct Slot {
    Id neighbour;
    auto operator<=>(const Slot&) const = default;
    bool SameEdge(const Slot& other) const { return neighbour == other.neighbour; }
  };

  Id row;
  Slot rest;

  static PlainRecord Make(uint64_t row, uint64_t neighbour, const EdgeValues&) {
    return {static_cast<Id>(row), {static_cast<Id>(neighbour)}};
  }
};

// An edge with its input row number and weight. The number makes the order within a row unique;
// where a damaged source repeats numbers, the weight does. The number is split into two words, so
// that a record with 32-bit ids has 20 bytes and not 24.
template <class IdType>
struct RichRecord {
  using Id = IdType;
  static constexpr bool kRich = true;
  static constexpr bool kTimed = false;

  struct Slot {
    Id neighbour;
    uint32_t edge_high;
    uint32_t edge_low;
    float weight;

    uint64_t edge() const { return uint64_t{edge_high} << 32 | edge_low; }
    // Whether dedup treats two slots of one row as the same edge.
    bool SameEdge(const Slot& other) const { return neighbour == other.neighbour; }
    friend bool operator<(const Slot& a, const Slot& b) {
      return std::tie(a.neighbour, a.edge_high, a.edge_low, a.weight) <
             std::tie(b.neighbour, b.edge_high, b.edge_low, b.weight);
    }
  };

  Id row;
  Slot rest;

  static RichRecord Make(uint64_t row, uint64_t neighbour, const EdgeValues& values) {
    return {static_cast<Id>(row),
            {static_cast<Id>(neighbour), static_cast<uint32_t>(values.edge >> 32),
             static_cast<uint32_t>(values.edge), values.weight}};
  }
};

// Map times to unsigned numbers in the same order, which can be divided into ranges and split into
// words.
inline uint64_t TimeKey(int64_t time) { return static_cast<uint64_t>(time) ^ (uint64_t{1} << 63); }
inline int64_t TimeOfKey(uint64_t key) { return static_cast<int64_t>(key ^ (uint64_t{1} << 63)); }

// An edge with a time of its own. Only edges at the same time are repeats of each other: an edge
// between the same nodes at another time is another event.
template <class IdType>
struct TimedRecord {
  using Id = IdType;
  static constexpr bool kRich = true;
  static constexpr bool kTimed = true;

  struct Slot {
    Id neighbour;
    uint32_t edge_high;
    uint32_t edge_low;
    float weight;
    uint32_t time_high;  // of TimeKey()
    uint32_t time_low;

    uint64_t edge() const { return uint64_t{edge_high} << 32 | edge_low; }
    uint64_t time_key() const { return uint64_t{time_high} << 32 | time_low; }
    int64_t time() const { return TimeOfKey(time_key()); }
    bool SameEdge(const Slot& other) const {
      return neighbour == other.neighbour && time_key() == other.time_key();
    }
    friend bool operator<(const Slot& a, const Slot& b) {
      return std::tie(a.neighbour, a.time_high, a.time_low, a.edge_high, a.edge_low, a.weight) <
             std::tie(b.neighbour, b.time_high, b.time_low, b.edge_high, b.edge_low, b.weight);
    }
  };

  Id row;
  Slot rest;

  static TimedRecord Make(uint64_t row, uint64_t neighbour, const EdgeValues& values) {
    const uint64_t time = TimeKey(values.time);
    return {static_cast<Id>(row),
            {static_cast<Id>(neighbour), static_cast<uint32_t>(values.edge >> 32),
             static_cast<uint32_t>(values.edge), values.weight, static_cast<uint32_t>(time >> 32),
             static_cast<uint32_t>(time)}};
  }
};

// The same edge in the row of its other end.
template <class Record>
Record Turned(const Record& record) {
  Record turned = record;
  turned.row = record.rest.neighbour;
  turned.rest.neighbour = record.row;
  return turned;
}

}  // namespace graphzero::compile
