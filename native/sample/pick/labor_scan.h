// The slots of a sorted row whose numbers are small, which is where LABOR spends its time: some
// 500 slots a row, of which about 15 matter.
//
// Two passes over 4096 slots at a time. The first one, eight slots at once where the CPU has AVX2,
// lists the slots whose numbers may be small. It has no branch that depends on the numbers, because
// such a branch is unpredictable. It computes the numbers of the first three parallel edges and
// lists all later ones. The second pass computes the number of each listed slot.
//
// A batch of 1024 x [15, 10, 5] of an R-MAT graph looks at 13 million slots, 7 % of them parallel
// edges. Time per batch on a busy core with AVX2: 7 ms for the first pass with rows in the cache
// and 10 to 13 ms from memory, 3 ms for the second pass. Rejected: one branch for every 32 slots
// where few are small, 12 to 14 ms; one for every 8, a sixth more; storing the numbers in the first
// pass, which costs as much as computing them again; listing every parallel edge, 4 ms more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "sample/pick/labor_numbers.h"

namespace graphzero::sample {

struct SmallSlot {
  uint64_t position;
  uint32_t upper;  // upper half of its number
};

// Writes the slots with an upper half of at most `limit`, in their order, and returns how many. The
// row is sorted by id.
template <class Id>
size_t FindSmall(const LaborKeys& keys, std::span<const Id> ids, uint32_t limit,
                 base::Buffer<SmallSlot>& small);

}  // namespace graphzero::sample
