// Edges on their way through the compiler: keyed by the row they will be stored in.
#pragma once

#include <cstdint>
#include <tuple>

namespace graphzero::compile {

// An edge of which nothing but its ends will be stored. Equal records are identical, so their order
// does not matter. Id is uint32_t or uint64_t.
template <class IdType>
struct PlainRecord {
  using Id = IdType;
  static constexpr bool kRich = false;

  // What is left of the record inside its row, in the order of the row.
  struct Slot {
    Id neighbour;
    auto operator<=>(const Slot&) const = default;
  };

  Id row;
  Id neighbour;

  static PlainRecord Make(uint64_t row, uint64_t neighbour, uint64_t, float) {
    return {static_cast<Id>(row), static_cast<Id>(neighbour)};
  }
  Slot slot() const { return {neighbour}; }
  uint64_t edge() const { return 0; }
};

// An edge with its input row number and weight. The number makes the order within a row unique, and
// the weight where a damaged source repeats numbers. Split in two words, so that the record of
// 32-bit ids is 20 bytes and not 24.
template <class IdType>
struct RichRecord {
  using Id = IdType;
  static constexpr bool kRich = true;

  struct Slot {
    Id neighbour;
    uint32_t edge_high;
    uint32_t edge_low;
    float weight;

    uint64_t edge() const { return uint64_t{edge_high} << 32 | edge_low; }
    friend bool operator<(const Slot& a, const Slot& b) {
      return std::tie(a.neighbour, a.edge_high, a.edge_low, a.weight) <
             std::tie(b.neighbour, b.edge_high, b.edge_low, b.weight);
    }
  };

  Id row;
  Slot rest;

  static RichRecord Make(uint64_t row, uint64_t neighbour, uint64_t edge, float weight) {
    return {static_cast<Id>(row),
            {static_cast<Id>(neighbour), static_cast<uint32_t>(edge >> 32),
             static_cast<uint32_t>(edge), weight}};
  }
  Slot slot() const { return rest; }
  uint64_t edge() const { return rest.edge(); }
};

template <class Record>
uint64_t NeighbourOf(const Record& record) {
  return record.slot().neighbour;
}

}  // namespace graphzero::compile
