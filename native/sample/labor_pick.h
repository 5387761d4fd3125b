// The k slots of a row with the smallest numbers: LABOR sampling (README.md).
//
// A node's number is the same for all targets of a hop (labor_numbers.h), so that targets that
// share neighbours take the same ones: same fanout, far fewer different nodes. Of one row each
// set of k slots is as likely as any other.
//
// With weights, slots are ordered by number / weight. Slot i is taken if that is below tau, the
// (k+1)-th of the row, which happens with probability min(1, w * tau): dividing its weight by that
// gives its scale, max(w, 1 / tau), and the sum of scale * x over the taken slots is on average the
// sum of w * x over the row.
//
// All slots are looked at and few are taken. How small the k-th number is can be foreseen, because
// numbers are uniform: a first look at the upper halves keeps somewhat more than k slots
// (labor_scan.h), and those are put in order. Where the guess kept too few, it is made larger; it
// changes no result.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "sample/labor_numbers.h"
#include "sample/labor_scan.h"

namespace graphzero::sample {

// Longer rows are looked at through a window of so many slots, or k + 1.
inline constexpr uint64_t kLaborWindow = 4096;

// A row, or the window of one.
template <class Id>
struct LaborRow {
  std::span<const Id> ids;
  std::span<const float> weights;  // empty without weights
  bool sorted;                     // by id, so that parallel edges follow each other
};

// What a row gave.
struct LaborPicked {
  uint64_t count = 0;
  // With weights: 1 / tau; 0 if all slots of positive weight were taken.
  double inverse_tau = 0;
};

// Scratch of one thread.
class LaborPicker {
 public:
  // Writes at most `most` positions of the row, in rising order. With weights, checks all and
  // throws BadWeight (weighted_pick.h).
  template <class Id>
  LaborPicked Pick(const LaborRow<Id>& row, uint64_t most, const LaborNumbers& numbers,
                   uint64_t* positions);

 private:
  struct Candidate {
    uint64_t key;  // its number; with weights, the bits of number / weight, which is positive
    uint64_t id;
    uint64_t position;

    // Ties go by neighbour, then by place in the row, which is that of the edge id.
    bool operator<(const Candidate& other) const {
      if (key != other.key) return key < other.key;
      return id != other.id ? id < other.id : position < other.position;
    }
  };

  template <class Id>
  void FillUpper(const LaborRow<Id>& row, const LaborNumbers& numbers);
  // Give slots of parallel edges the numbers that they use, in sorted rows and in others.
  template <class Id>
  void NumberRuns(std::span<const Id> ids, const LaborNumbers& numbers);
  template <class Id>
  void CountParallel(std::span<const Id> ids, const LaborNumbers& numbers);
  // How many slots before this one have the same id.
  template <class Id>
  uint64_t Parallel(const LaborRow<Id>& row, uint64_t position) const;
  template <class Id>
  LaborPicked PickUniformly(const LaborRow<Id>& row, uint64_t most, const LaborNumbers& numbers,
                            uint64_t* positions);
  // Fills small_ with the slots of a number of at most `limit`, judged by upper halves.
  template <class Id>
  void FindSmallSlots(const LaborRow<Id>& row, uint32_t limit, const LaborNumbers& numbers);
  template <class Id>
  LaborPicked PickByWeight(const LaborRow<Id>& row, uint64_t most, const LaborNumbers& numbers,
                           uint64_t* positions);
  // Take the smallest of small_, in the order of their positions, unless lower halves have to
  // decide about the last one.
  bool TakeByUpper(uint64_t most, uint64_t* positions);
  bool TakeByRank(uint64_t most, uint64_t* positions);
  template <class Id>
  void Keep(const LaborRow<Id>& row, const SmallSlot& slot, const LaborNumbers& numbers);

  base::Buffer<SmallSlot> small_;
  size_t small_count_ = 0;
  base::WorkVector<Candidate> kept_;
  // Of rows with weights and of those that are not sorted: upper halves, and
  base::Buffer<uint32_t> upper_;
  base::Buffer<uint32_t> parallel_;  // if not sorted, how many equal ids come before.
  // Counts ids of rows that are not sorted: open addressing, counts of 0 are free places.
  base::WorkVector<uint64_t> counted_ids_;
  base::WorkVector<uint32_t> counts_;
};

}  // namespace graphzero::sample
