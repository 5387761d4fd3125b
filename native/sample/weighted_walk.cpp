// Walks whose steps are drawn by edge weight, first and second order. Every step reads all weights
// of a row, in order, so there is little to gain from walkers side by side.
#include "base/threads.h"
#include "sample/node2vec.h"
#include "sample/walk_context.h"
#include "sample/weighted_pick.h"

namespace graphzero::sample {
namespace {

template <class Id>
class Weighted {
 public:
  explicit Weighted(const WalkContext& context)
      : context_(context),
        rows_(context.rows),
        bias_(context.request.p, context.request.q),
        second_order_(context.request.p != 1 || context.request.q != 1) {}

  void Walk(size_t walker) {
    int64_t* const walk = context_.Walk(walker);
    uint64_t node = context_.Start(walker);
    uint64_t previous = node;
    store::SlotRange previous_row;
    bool has_previous = false;
    walk[0] = static_cast<int64_t>(node);
    for (uint64_t step = 0; step < context_.request.length; ++step) {
      base::CheckPoint();  // a step reads a whole row
      Draws draws = context_.StepDraws(step, walker);
      if (context_.Restarts(draws)) {
        node = context_.Start(walker);
        has_previous = false;
      } else {
        const store::SlotRange row = rows_.Row(node);
        if (!Load(node, row)) return context_.Finish(walker, step);
        const SecondOrderStep<Id> from{.bias = bias_,
                                       .sorted = context_.request.sorted,
                                       .row = rows_.template Ids<Id>(row),
                                       .weights = rows_.Weights(row),
                                       .previous = previous,
                                       .previous_row = rows_.template Ids<Id>(previous_row)};
        const bool biased = second_order_ && has_previous;
        const uint64_t slot =
            row.begin + (biased ? DrawBiased(from, node, row, draws) : weights_.Draw(draws));
        previous = node;
        previous_row = row;
        has_previous = true;
        node = rows_.template Neighbour<Id>(node, slot);
      }
      walk[step + 1] = static_cast<int64_t>(node);
    }
    context_.Finish(walker, context_.request.length);
  }

 private:
  // False if the row has no edge of positive weight.
  bool Load(uint64_t node, const store::SlotRange& row) {
    try {
      weights_.Load(rows_.Weights(row));
    } catch (const BadWeight& bad) {
      rows_.ThrowBadWeight(node, row.begin + bad.position, bad.weight);
    }
    return weights_.positive() > 0;
  }

  // A position in the row.
  uint64_t DrawBiased(const SecondOrderStep<Id>& step, uint64_t node, const store::SlotRange& row,
                      Draws& draws) {
    using Verdict = Node2VecBias::Verdict;
    for (int tries = 0; tries < kMaxTries; ++tries) {
      const uint64_t position = weights_.Draw(draws);
      const uint64_t x = rows_.template Neighbour<Id>(node, row.begin + position);
      const Verdict verdict = bias_.Judge(draws.Next() >> 11, x == step.previous);
      if (verdict == Verdict::kAccept) return position;
      if (verdict == Verdict::kReject) continue;
      const bool near = RowContains(step.previous_row, step.sorted, x);
      if (near == (verdict == Verdict::kAcceptIfNear)) return position;
    }
    return DrawExactly(step, draws);
  }

  const WalkContext& context_;
  const Rows& rows_;
  const Node2VecBias bias_;
  const bool second_order_;
  WeightedRow weights_;
};

}  // namespace

template <class Id>
void WeightedWalks(const WalkContext& context, size_t begin, size_t end) {
  Weighted<Id> walks(context);
  for (size_t walker = begin; walker < end; ++walker) walks.Walk(walker);
}

template void WeightedWalks<uint32_t>(const WalkContext&, size_t, size_t);
template void WeightedWalks<uint64_t>(const WalkContext&, size_t, size_t);

}  // namespace graphzero::sample
