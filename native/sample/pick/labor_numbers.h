// The numbers of LABOR sampling: one for each node, the same for all targets of a hop, so that
// targets agree on whom they take (labor_pick.h). sample/README.md, "LABOR", has the contract.
//
// Number j of a node, for the j-th of parallel edges, has 64 bits. A row is read as a whole and few
// of its slots are taken, so the upper half, which decides about nearly all slots, is a hash of
// 32-bit operations, computed for eight slots at a time (labor_scan.h). The lower half is computed
// only for slots whose upper halves are tied.
//
// Numbers depend on the run, the batch and `dependency` (kappa): the number of node v is keyed by
// the period floor((batch + phase(v)) / kappa), where phase(v) in [0, kappa) is a hash of v. So
// from one batch to the next, one node in kappa gets a new number. A sample outside of any run is
// batch 0 of a run of its own, with a dependency of 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sample/random.h"

namespace graphzero::sample {

struct LaborRequest {
  uint64_t run_seed = 0;    // of the loader, or of a single sample
  uint64_t batch = 0;       // number of the batch over all epochs
  uint32_t dependency = 1;  // kappa, at least 1
  bool one_for_all_hops = false;

  uint64_t HopWord(uint64_t hop) const { return one_for_all_hops ? 0 : hop; }
};

// Two rounds of multiplying and shifting (the constants are those of Wellons' lowbias32), with a
// key before each round. Different 32-bit ids never have the same hash.
struct LaborHash {
  static constexpr uint32_t kFirstFactor = 0x7feb352d;
  static constexpr uint32_t kSecondFactor = 0x846ca68b;

  uint32_t first;
  uint32_t second;
  uint32_t upper;  // odd; factor of the upper half of 64-bit ids
  uint32_t step;   // odd; added for each further parallel edge

  explicit LaborHash(Draws draws) {
    const uint64_t keys = draws.Next();
    first = static_cast<uint32_t>(keys);
    second = static_cast<uint32_t>(keys >> 32);
    const uint64_t factors = draws.Next();
    upper = static_cast<uint32_t>(factors) | 1;
    step = static_cast<uint32_t>(factors >> 32) | 1;
  }

  [[gnu::always_inline]] uint32_t operator()(uint64_t id, uint64_t parallel = 0) const {
    const uint32_t folded = static_cast<uint32_t>(id) + static_cast<uint32_t>(id >> 32) * upper;
    return Mix(folded + static_cast<uint32_t>(parallel) * step, first, second);
  }
  [[gnu::always_inline]] static uint32_t Mix(uint32_t x, uint32_t first, uint32_t second) {
    x += first;
    x = (x ^ (x >> 16)) * kFirstFactor;
    x = ((x ^ (x >> 15)) + second) * kSecondFactor;
    return x ^ (x >> 16);
  }
};

// Tells in which period each node of a type is. Cheap to copy.
class LaborPeriods {
 public:
  LaborPeriods(const LaborRequest& request, uint64_t type);

  uint64_t first() const { return first_; }  // of all nodes, or the earlier of two
  bool two() const { return two_; }
  // Whether a node is in period first() + 1 already. Never, unless two().
  bool IsLater(uint64_t id) const { return two_ && hash_(id) >= later_from_; }

  const LaborHash& hash() const { return hash_; }
  uint32_t later_from() const { return later_from_; }

 private:
  LaborHash hash_;
  uint64_t first_;
  bool two_ = false;
  uint32_t later_from_ = 0;
};

// What the upper halves of numbers are computed from: a hash for each of the two periods that nodes
// can be in.
struct LaborKeys {
  LaborHash first;
  LaborHash later;
  LaborHash phases;
  uint32_t later_from;  // nodes whose phase hash is at least this are in the later period
  bool two;             // nodes are in both periods, not all in the first

  [[gnu::always_inline]] uint32_t Upper(uint64_t id, uint64_t parallel) const {
    return two && phases(id) >= later_from ? later(id, parallel) : first(id, parallel);
  }
};

// The numbers of the nodes of one type in one hop. Thread-safe: nothing changes.
class LaborNumbers {
 public:
  LaborNumbers(const LaborRequest& request, uint64_t type, uint64_t hop);

  // Writes the upper half of the first number of each of these nodes. Returns whether any two
  // consecutive ids are equal.
  template <class Id>
  bool FillUpper(std::span<const Id> ids, uint32_t* upper) const;

  const LaborKeys& keys() const { return keys_; }
  uint32_t Upper(uint64_t id, uint64_t parallel) const { return keys_.Upper(id, parallel); }
  uint32_t Lower(uint64_t id, uint64_t parallel) const;

 private:
  LaborNumbers(const LaborPeriods& periods, Draws of_hop);

  LaborPeriods periods_;
  Draws first_;  // generators of the lower halves, by period
  Draws later_;
  LaborKeys keys_;
};

}  // namespace graphzero::sample
