// The k slots of a row with the smallest numbers: LABOR sampling (sample/README.md).
//
// A node's number is the same for all targets of a hop (labor_numbers.h), so that targets that
// share neighbours take the same ones: same fanout, far fewer different nodes. Each set of k slots
// of what is looked at is as likely as any other.
//
// With weights, slots are ordered by number / weight. A slot of weight w is taken if its quotient
// is below tau, the (k+1)-th smallest of the row, which happens with probability min(1, w * tau).
// Dividing the weight by this probability gives the scale of the slot, max(w, 1 / tau). The sum of
// scale * x over the taken slots is on average the sum of w * x over the row.
//
// All slots are looked at and few are taken. Numbers are uniform, so the k-th smallest can be
// estimated: a first pass over the upper halves keeps the slots up to a limit, somewhat more than k
// (labor_scan.h), and only these are ordered. If the pass keeps too few, it is repeated with a
// larger limit. The limit changes no result.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "sample/pick/labor_numbers.h"
#include "sample/pick/labor_scan.h"

namespace graphzero::sample {

// A row, or the window of one (labor_window.h). Has fewer than 2^32 slots, unless all are taken.
template <class Id>
struct LaborRow {
  std::span<const Id> ids;
  std::span<const float> weights;  // empty without weights
  bool sorted;                     // by id, so that parallel edges follow each other

  size_t size() const { return ids.size(); }
};

// What was picked from a row.
struct LaborPicked {
  uint64_t count = 0;
  // With weights: 1 / tau; 0 if all slots of positive weight were taken.
  double inverse_tau = 0;
};

// Scratch of one thread.
class LaborPicker {
 public:
  // Writes at most `most` positions of the row, in rising order. With weights, checks all of them
  // and throws BadWeight (weighted_pick.h).
  template <class Id>
  LaborPicked Pick(const LaborRow<Id>& row, uint64_t most, const LaborNumbers& numbers,
                   uint64_t* positions);

  size_t bytes() const {
    return small_.bytes() + upper_.bytes() + parallel_.bytes() + base::BytesOf(by_upper_) +
           base::BytesOf(kept_) + base::BytesOf(counted_ids_) + base::BytesOf(counts_);
  }

 private:
  struct Candidate {
    uint64_t key;  // its number; with weights, the bits of number / weight, which is positive
    uint64_t id;
    uint64_t position;

    // Ties go by neighbour, then by place in the row, which is the order of edge ids unless rows
    // are in the order of times.
    bool operator<(const Candidate& other) const {
      if (key != other.key) return key < other.key;
      return id != other.id ? id < other.id : position < other.position;
    }
  };

  struct UpperAt {
    uint32_t upper;
    uint64_t position;
  };

  template <class Id>
  void FillUpper(const LaborRow<Id>& row, const LaborNumbers& numbers);
  // Give the second and later ones of parallel edges their own numbers: NumberRuns() in sorted
  // rows, CountParallel() in others.
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
  // Fills small_ with the slots whose upper half is at most `limit`.
  template <class Id>
  void FindSmallSlots(const LaborRow<Id>& row, uint32_t limit, const LaborNumbers& numbers);
  template <class Id>
  LaborPicked PickByWeight(const LaborRow<Id>& row, uint64_t most, const LaborNumbers& numbers,
                           uint64_t* positions);
  // Writes the positions of the `most` smallest slots of small_, in rising order. Returns false if
  // upper halves are tied, so that lower halves have to decide about the last slot.
  bool TakeByUpper(uint64_t most, uint64_t* positions);
  template <class Id>
  void Keep(const LaborRow<Id>& row, uint64_t position, uint32_t upper,
            const LaborNumbers& numbers);

  SmallSlots small_;
  uint64_t kept_for_most_ = 0;  // what kept_for_ was computed for
  double kept_for_ = 0;
  base::WorkVector<UpperAt> by_upper_;
  base::WorkVector<Candidate> kept_;
  // Upper halves, for rows with weights and for rows that are not sorted.
  base::Buffer<uint32_t> upper_;
  // How many equal ids come before each slot, if FillUpper() has counted them.
  base::Buffer<uint32_t> parallel_;
  bool parallel_counted_ = false;
  // Table that counts the ids of a row that is not sorted: open addressing, a count of 0 marks a
  // free place.
  base::WorkVector<uint64_t> counted_ids_;
  base::WorkVector<uint32_t> counts_;
};

}  // namespace graphzero::sample
