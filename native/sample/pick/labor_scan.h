// The slots of a sorted row whose numbers are small, which is where LABOR spends its time: some 140
// slots a row, of which about 6 are taken.
//
// FindSmall() goes over the slots once, eight at a time where the CPU has AVX2, and keeps those
// with small numbers. It has no branch that depends on the numbers, because such a branch is
// unpredictable. It knows the numbers of the first three parallel edges only and keeps all later
// ones; where it has met any, it goes over the kept slots once more.
//
// A batch of 1024 x [15, 10, 5] of an R-MAT graph looks at 3.3 million slots of 24 thousand rows.
// Rejected, when rows of up to 4096 slots were looked at, which were 13 million slots:
// - 16 slots at a time by AVX-512, which packs what it keeps: it takes as long;
// - a branch for every 8 slots, which makes it a sixth slower, or one for every 32 slots where few
//   are small, which takes 12 to 14 ms a batch in place of 10 to 13;
// - going over every row with parallel edges once more: 4 ms a batch more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "sample/pick/labor_numbers.h"

namespace graphzero::sample {

// Slots of a row in their order, each with the upper half of its number. The row has fewer than
// 2^32 slots.
class SmallSlots {
 public:
  // Vectors are stored as a whole, though only their first lanes may be meant.
  static constexpr size_t kLanes = 8;

  size_t size() const { return count_; }
  void clear() { count_ = 0; }
  // Says how many slots there are, after some were written to the lists below.
  void Resize(size_t count) { count_ = count; }

  uint32_t* positions() { return positions_.data(); }
  uint32_t* uppers() { return uppers_.data(); }
  const uint32_t* positions() const { return positions_.data(); }
  const uint32_t* uppers() const { return uppers_.data(); }

  // Makes room for `more` slots after those that are there.
  void ReserveMore(size_t more) {
    positions_.Reserve(count_ + more + kLanes, count_);
    uppers_.Reserve(count_ + more + kLanes, count_);
  }
  void Add(uint32_t position, uint32_t upper) {
    positions_[count_] = position;
    uppers_[count_] = upper;
    ++count_;
  }

  size_t bytes() const { return positions_.bytes() + uppers_.bytes(); }

 private:
  base::Buffer<uint32_t> positions_;
  base::Buffer<uint32_t> uppers_;
  size_t count_ = 0;
};

// Adds the slots of a row, sorted by id, with an upper half of at most `limit`.
template <class Id>
void FindSmall(const LaborKeys& keys, std::span<const Id> ids, uint32_t limit, SmallSlots& small);

// For at most this many slots, counting the smaller ones of each is faster than std::nth_element:
// it uses vectors and no branch, and leaves the slots in the order of their positions.
inline constexpr size_t kRanked = 96;

// Writes the positions of the `most` slots with the smallest upper halves, in rising order. Returns
// false if upper halves are tied, so that lower halves have to decide about the last slot. Needs at
// least `most` and at most kRanked slots.
bool TakeByRank(const SmallSlots& small, uint64_t most, uint64_t* positions);

}  // namespace graphzero::sample
