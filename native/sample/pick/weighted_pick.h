// Draws proportional to weight among the slots of one row.
//
// The row is cut into about sqrt(degree) blocks; a draw finds its block in the running sums of the
// block weights and its slot by adding up that block. Drawing without replacement removes a slot by
// summing its block again, so each draw sees exactly the weights of what is left (subtracting would
// leave the rounding error of a heavy edge in place of the light ones). Additions and
// multiplications of doubles only: IEEE 754 makes them the same on every CPU.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "sample/pick/fanout.h"
#include "sample/pick/position_set.h"
#include "sample/random.h"

namespace graphzero::sample {

// A weight that no probability can be made of. `position` is its place in the row.
struct BadWeight {
  uint64_t position;
  float weight;
};

// Scratch of one thread: Load() a row, then draw from it. The row stays in use until the next Load.
class WeightedPicker {
 public:
  // Reads every weight. Throws BadWeight for one that is negative, infinite or not a number. Bytes
  // that change under the mapping may still make a sum of these: then Draw() returns some position
  // of the row.
  void Load(std::span<const float> weights);

  // Edges of positive weight; the others are never drawn.
  uint64_t positive() const { return positive_; }

  // One position, in proportion to weight. Needs a positive total.
  uint64_t Draw(Draws& draws) const;

  // Writes the positions that `fanout` asks for, at most fanout.Count(degree), and returns how
  // many: all of positive weight if `fanout` is -1 or, without replacement, at least their number;
  // none if all weights are zero.
  uint64_t Pick(const Fanout& fanout, Draws draws, uint64_t* positions);

  size_t bytes() const { return block_sums_.bytes() + running_.bytes() + removed_.bytes(); }

 private:
  uint64_t Blocks() const { return (weights_.size() + block_ - 1) / block_; }
  double SumOfRest(uint64_t block) const;
  void Accumulate(uint64_t from);
  void Remove(uint64_t position);
  bool Available(uint64_t position) const;

  std::span<const float> weights_;
  uint64_t block_ = 1;               // slots in a block, a power of two
  base::Buffer<double> block_sums_;  // per block, without removed slots
  base::Buffer<double> running_;     // running_[b] = block_sums_[0] + ... + block_sums_[b]
  PositionSet removed_;
  bool any_removed_ = false;
  uint64_t positive_ = 0;
};

}  // namespace graphzero::sample
