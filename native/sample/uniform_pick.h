// Uniform draws among the slots of one row.
#pragma once

#include <cstdint>
#include <optional>

#include "sample/position_set.h"
#include "sample/random.h"
#include "store/topology_reader.h"

namespace graphzero::sample {

// How many edges a row gives. kAll is taken as it is, replacement or not.
struct Fanout {
  static constexpr int64_t kAll = -1;

  int64_t edges = kAll;
  bool replace = false;

  // What a row of this degree gives; with weights, at most.
  uint64_t Count(uint64_t degree) const {
    if (edges == kAll || degree == 0) return degree;
    const auto wanted = static_cast<uint64_t>(edges);
    return replace || wanted < degree ? wanted : degree;
  }
};

// Scratch of one thread.
class UniformPicker {
 public:
  // Writes fanout.Count(row.size()) slots of the row to `slots`.
  //   every edge      in order, nothing is drawn
  //   replacement     one draw per edge
  //   k of more       Floyd's algorithm: k draws however long the row is. Each set of k slots is
  //                   equally likely; their order means nothing.
  // The set of slots taken so far may be forced to one kind, which changes no result.
  void Pick(const store::SlotRange& row, const Fanout& fanout, Draws draws, uint64_t* slots,
            std::optional<SetKind> forced = std::nullopt);

 private:
  PositionSet chosen_;
};

}  // namespace graphzero::sample
