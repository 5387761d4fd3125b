// Which slots of a long row LABOR looks at: a window of a few hundred, however long the row is.
//
// LABOR takes the k slots with the smallest numbers, so it has to look at every slot that it might
// take. Where nodes have thousands of neighbours, looking at whole rows takes longer than drawing
// neighbours independently and gathering twice as many features (sample/README.md has figures).
//
// A window has kLaborPieces pieces of consecutive slots, spread evenly over the row, so that it has
// neighbours from all ranges of ids, or of times in a row in the order of times. Its place is
// random, and it goes on from the last slot of the row to the first, so that every slot is equally
// likely to be in it. The mean over the taken slots therefore stays unbiased.
//
// All rows of a hop have their windows at the same place, as a part of their length. Rows are
// sorted by neighbour, and most of them are spread over the ids in a similar way, so that windows
// at the same place have many neighbours in common, and targets still agree on whom they take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sample/pick/fanout.h"
#include "sample/pick/labor_numbers.h"

namespace graphzero::sample {

inline constexpr size_t kLaborPieces = 2;

// The positions of a row that its window has, in rising order.
struct LaborPieces {
  struct Piece {
    uint64_t begin;
    uint64_t end;
  };

  // One more, because a piece may go on from the last position to the first.
  std::array<Piece, kLaborPieces + 1> pieces;
  size_t count = 0;

  void Add(uint64_t begin, uint64_t end) { pieces[count++] = {begin, end}; }
  const Piece* begin() const { return pieces.data(); }
  const Piece* end() const { return pieces.data() + count; }
};

// The windows of the rows that one hop expands along one relation. Thread-safe: nothing changes.
class LaborWindows {
 public:
  LaborWindows(const LaborRequest& request, uint64_t relation, uint64_t expanded_type, uint64_t hop,
               const Fanout& fanout, bool weighted);

  // Whether a row with this many slots is looked at as a whole.
  bool IsWhole(uint64_t slots) const { return slots / kLaborPieces < piece_size_; }
  // The window in the row of this node. Needs a row that is not looked at as a whole.
  LaborPieces Of(uint64_t node, uint64_t slots) const;

 private:
  LaborWindows(const LaborPeriods& periods, Draws of_hop, const Fanout& fanout, bool weighted);

  uint64_t piece_size_;
  LaborPeriods periods_;
  // Where windows begin, as a part of 2^64 of the row's length, by period of the row's node.
  uint64_t first_place_;
  uint64_t later_place_;
};

}  // namespace graphzero::sample
