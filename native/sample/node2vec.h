// The second-order bias of node2vec: where a step may go depends on where the walk came from.
//
// From `node`, reached from `previous`, an edge to x counts its weight (1 without weights) times
//   1/p  if x is the previous node,
//   1    if the previous node has an edge to x ("near"),
//   1/q  otherwise ("far").
// A step proposes an edge by weight alone and accepts it with probability bias / (largest bias),
// which draws from exactly this distribution and reads no other edge. One number decides, and most
// of the time it decides without knowing whether x is near. Extreme p and q could reject for very
// long: after kMaxTries the step is drawn by adding up the whole row, which is exact, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sample/random.h"
#include "sample/rows.h"

namespace graphzero::sample {

inline constexpr int kMaxTries = 64;

// The three biases, divided by the largest: each is a probability of acceptance.
class Node2VecBias {
 public:
  Node2VecBias(double p, double q) : Node2VecBias(1 / p, 1 / q, std::max({1 / p, 1.0, 1 / q})) {}

  enum class Verdict { kAccept, kReject, kAcceptIfNear, kAcceptIfFar };

  // `draw` has 53 bits.
  Verdict Judge(uint64_t draw, bool is_previous) const {
    if (is_previous) return draw < back_threshold_ ? Verdict::kAccept : Verdict::kReject;
    const bool if_near = draw < near_threshold_;
    const bool if_far = draw < far_threshold_;
    if (if_near && if_far) return Verdict::kAccept;
    if (if_near) return Verdict::kAcceptIfNear;
    return if_far ? Verdict::kAcceptIfFar : Verdict::kReject;
  }

  double back() const { return back_; }
  double near() const { return near_; }
  double far() const { return far_; }

 private:
  Node2VecBias(double back, double far, double largest)
      : back_(back / largest),
        near_(1 / largest),
        far_(far / largest),
        back_threshold_(ProbabilityThreshold(back_)),
        near_threshold_(ProbabilityThreshold(near_)),
        far_threshold_(ProbabilityThreshold(far_)) {}

  double back_;
  double near_;
  double far_;
  uint64_t back_threshold_;
  uint64_t near_threshold_;
  uint64_t far_threshold_;
};

// True if the row has an edge to x: by halving where rows are sorted, else by reading all of it.
// What is read is compared and never used as an index, so it needs no check.
template <class Id>
bool RowContains(const Rows& rows, const store::SlotRange& row, bool sorted, uint64_t x) {
  const Id* const ids = static_cast<const Id*>(rows.adjacency.neighbours.data);
  const Id* const begin = ids + row.begin;
  const Id* const end = ids + row.end;
  if (sorted) return std::binary_search(begin, end, x);
  return std::find(begin, end, x) != end;
}

// One step from `row` with the bias of having come from `previous`.
struct SecondOrderStep {
  const Rows& rows;
  bool sorted;
  const Node2VecBias& bias;
  uint64_t node;
  store::SlotRange row;
  uint64_t previous;
  store::SlotRange previous_row;
};

// The slot of the next edge, by adding up the whole row; `weights` is null in a graph without.
// Needs an edge of positive weight.
template <class Id>
uint64_t DrawExactly(const SecondOrderStep& step, const float* weights, Draws& draws) {
  const Id* const ids = static_cast<const Id*>(step.rows.adjacency.neighbours.data);
  std::vector<Id> near;  // a sorted copy where the file's row is not
  if (!step.sorted) {
    near.assign(ids + step.previous_row.begin, ids + step.previous_row.end);
    std::sort(near.begin(), near.end());
  }
  const auto weight = [&](uint64_t slot) { return weights == nullptr ? 1.0 : weights[slot]; };
  const auto biased = [&](uint64_t slot) {
    const uint64_t x = ids[slot];
    if (x == step.previous) return weight(slot) * step.bias.back();
    const bool is_near = step.sorted ? RowContains<Id>(step.rows, step.previous_row, true, x)
                                     : std::binary_search(near.begin(), near.end(), x);
    return weight(slot) * (is_near ? step.bias.near() : step.bias.far());
  };
  double total = 0;
  for (uint64_t slot = step.row.begin; slot < step.row.end; ++slot) total += biased(slot);
  const double target = draws.Unit() * total;
  double sum = 0;
  uint64_t last = step.row.begin;
  for (uint64_t slot = step.row.begin; slot < step.row.end; ++slot) {
    if (weight(slot) > 0) last = slot;
    sum += biased(slot);
    if (sum > target) break;
  }
  return last;
}

}  // namespace graphzero::sample
