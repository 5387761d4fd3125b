// Uniform draws among the slots of one row.
#pragma once

#include <cstdint>
#include <optional>

#include "sample/pick/fanout.h"
#include "sample/pick/position_set.h"
#include "sample/random.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

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

  size_t bytes() const { return chosen_.bytes(); }

 private:
  PositionSet chosen_;
};

}  // namespace graphzero::sample
