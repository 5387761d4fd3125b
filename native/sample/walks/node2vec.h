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
#include <span>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/random.h"
#include "sample/rows/row_search.h"

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

// One step along a row with the bias of having come from `previous`.
template <class Id>
struct SecondOrderStep {
  const Node2VecBias& bias;
  bool sorted;  // whether both rows are
  std::span<const Id> row;
  std::span<const float> weights;  // of the row; empty in a graph without weights
  uint64_t previous;
  std::span<const Id> previous_row;
};

// The position of the next edge in the row, by adding up all of it. Needs an edge of positive
// weight.
template <class Id>
uint64_t DrawExactly(const SecondOrderStep<Id>& step, Draws& draws) {
  base::WorkVector<Id> near;  // a sorted copy of the previous row, if rows are not sorted
  if (!step.sorted) {
    near.assign(step.previous_row.begin(), step.previous_row.end());
    std::sort(near.begin(), near.end());
  }
  const std::span<const Id> near_row = step.sorted ? step.previous_row : std::span<const Id>(near);
  const auto weight = [&](size_t at) { return step.weights.empty() ? 1.0 : step.weights[at]; };
  const auto biased = [&](size_t at) {
    const uint64_t x = step.row[at];
    if (x == step.previous) return weight(at) * step.bias.back();
    const bool is_near = Contains(near_row, true, x);
    return weight(at) * (is_near ? step.bias.near() : step.bias.far());
  };
  double total = 0;
  base::ForEach(step.row.size(), [&](size_t at) { total += biased(at); });
  const double target = draws.Unit() * total;
  double sum = 0;
  size_t last = 0;
  base::CheckedLoop loop;
  for (size_t at = 0; at < step.row.size(); ++at) {
    loop.Next();
    if (weight(at) > 0) last = at;
    sum += biased(at);
    if (sum > target) break;
  }
  return last;
}

}  // namespace graphzero::sample
