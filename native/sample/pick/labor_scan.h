// The slots of a sorted row whose numbers are small, which is where LABOR spends its time: some
// 500 slots a row, of which about 15 matter.
//
// FindSmall() makes two passes over 4096 slots at a time. The first one, eight slots at once where
// the CPU has AVX2, lists the slots whose numbers may be small. It has no branch that depends on
// the numbers, because such a branch is unpredictable. It computes the numbers of the first three
// parallel edges and lists all later ones. The second pass computes the number of each listed slot.
//
// A batch of 1024 x [15, 10, 5] of an R-MAT graph looks at 13 million slots, 7 % of them parallel
// edges. Most of the first pass waits for these 52 MB. Rejected:
// - one pass over 16 slots at a time by AVX-512, which packs what it keeps: it takes as long;
// - in the first pass, a branch for every 8 slots, which makes it a sixth slower, or one for every
//   32 slots where few are small, which takes 12 to 14 ms a batch in place of 10 to 13;
// - storing the numbers in the first pass: that takes as long as computing them again;
// - listing every parallel edge: 4 ms a batch more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "sample/pick/labor_numbers.h"

namespace graphzero::sample {

// Slots of a row in their order, each with the upper half of its number.
class SmallSlots {
 public:
  size_t size() const { return count_; }
  void clear() { count_ = 0; }
  uint64_t position(size_t i) const { return positions_[i]; }
  uint32_t upper(size_t i) const { return uppers_[i]; }

  // Makes room for this many slots, those that are there included.
  void Reserve(size_t slots) {
    positions_.Reserve(slots, count_);
    uppers_.Reserve(slots, count_);
  }
  // Adds a slot if `small`, without a branch, and needs room for it in either case.
  void Add(uint64_t position, uint32_t upper, bool small = true) {
    positions_[count_] = position;
    uppers_[count_] = upper;
    count_ += small ? 1 : 0;
  }

  size_t bytes() const { return positions_.bytes() + uppers_.bytes(); }

 private:
  base::Buffer<uint64_t> positions_;
  base::Buffer<uint32_t> uppers_;
  size_t count_ = 0;
};

// Adds the slots with an upper half of at most `limit`. The row is sorted by id, and its first slot
// has this position.
template <class Id>
void FindSmall(const LaborKeys& keys, std::span<const Id> ids, uint64_t position, uint32_t limit,
               SmallSlots& small);

// For at most this many slots, counting the smaller ones of each is faster than std::nth_element:
// it uses vectors and no branch, and leaves the slots in the order of their positions.
inline constexpr size_t kRanked = 96;

// Writes the positions of the `most` slots with the smallest upper halves, in rising order. Returns
// false if upper halves are tied, so that lower halves have to decide about the last slot. Needs at
// least `most` and at most kRanked slots.
bool TakeByRank(const SmallSlots& small, uint64_t most, uint64_t* positions);

}  // namespace graphzero::sample
