// Walks over a topology that is not in memory: every walker is a program, and a round reads for all
// of them what the next move needs. Draws are those of the other walks, in the same order.
#include <array>
#include <span>

#include "sample/node2vec.h"
#include "sample/staged_rows.h"
#include "sample/walk_context.h"
#include "sample/weighted_pick.h"

namespace graphzero::sample {
namespace {

// Walkers under way: enough that most rounds keep a disk busy to their end and that walkers on the
// same pages share reads; each takes about a kilobyte.
constexpr size_t kSide = 16384;
// Candidates of a second-order step that are drawn while the weights of a row are at hand. More are
// seldom needed, and then the weights are read again.
constexpr int kCandidates = 8;
static_assert(kMaxTries % kCandidates == 0);

// Where a walk is, and where it came from.
struct Walker {
  size_t number;
  uint64_t node;
  uint64_t previous = 0;
  store::SlotRange row{};  // of node, once it is read
  store::SlotRange previous_row{};
  bool has_previous = false;
};

template <class Id>
class StagedWalks {
 public:
  StagedWalks(const WalkContext& context, ReadRounds& rounds)
      : context_(context),
        rows_(rounds, context.rows, context.request.sorted),
        bias_(context.request.p, context.request.q),
        second_order_(context.request.p != 1 || context.request.q != 1) {}

  Reading<void> Walk(size_t number) {
    int64_t* const walk = context_.Walk(number);
    Walker walker{.number = number, .node = context_.Start(number)};
    walk[0] = static_cast<int64_t>(walker.node);
    for (uint64_t step = 0; step < context_.request.length; ++step) {
      Draws draws = context_.StepDraws(step, number);
      if (context_.Restarts(draws)) {
        walker.node = context_.Start(number);
        walker.has_previous = false;
      } else {
        walker.row = co_await rows_.Row(walker.node);
        const uint64_t next = co_await DrawNext(walker, draws);
        if (next == kNone) {
          context_.Finish(number, step);
          co_return;
        }
        walker.previous = walker.node;
        walker.previous_row = walker.row;
        walker.has_previous = true;
        walker.node = next;
      }
      walk[step + 1] = static_cast<int64_t>(walker.node);
    }
    context_.Finish(number, context_.request.length);
  }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;  // no node has this number

  struct Candidate {
    uint64_t slot;
    uint64_t number;  // that decides about it
  };

  // The node that the walk goes to, or kNone at a dead end.
  Reading<uint64_t> DrawNext(Walker& walker, Draws& draws) {
    const bool weighted = context_.request.weighted;
    const bool biased = second_order_ && walker.has_previous;
    if (walker.row.size() == 0) co_return kNone;
    if (!weighted && !biased) {
      const uint64_t slot = walker.row.begin + draws.Below(walker.row.size());
      co_return co_await rows_.Neighbour(walker.node, slot);
    }
    std::array<Candidate, kCandidates> candidates;
    for (int tries = 0; tries < kMaxTries; tries += kCandidates) {
      if (weighted) {
        const ReadRounds::Ranges loaded =
            co_await rows_.rounds().Load({rows_.WeightBytes(walker.row)});
        LoadWeights(walker, rows_.template As<float>(loaded[0]));
        if (weights_.positive() == 0) co_return kNone;
        if (!biased) {
          const uint64_t slot = walker.row.begin + weights_.Draw(draws);
          co_return co_await rows_.Neighbour(walker.node, slot);
        }
      }
      // Drawing ahead changes nothing: a step has draws of its own.
      for (Candidate& candidate : candidates) {
        const uint64_t position = weighted ? weights_.Draw(draws) : draws.Below(walker.row.size());
        candidate = {walker.row.begin + position, draws.Next() >> 11};
      }
      for (const Candidate& candidate : candidates) {
        const uint64_t accepted = co_await Consider(walker, candidate);
        if (accepted != kNone) co_return accepted;
      }
    }
    co_return co_await DrawFromWholeRow(walker, draws);
  }

  // The candidate's node, or kNone if it is rejected.
  Reading<uint64_t> Consider(Walker& walker, Candidate candidate) {
    using Verdict = Node2VecBias::Verdict;
    const uint64_t x = co_await rows_.Neighbour(walker.node, candidate.slot);
    const Verdict verdict = bias_.Judge(candidate.number, x == walker.previous);
    if (verdict == Verdict::kAccept) co_return x;
    if (verdict == Verdict::kReject) co_return kNone;
    const bool near = co_await rows_.Contains(walker.previous_row, x);
    co_return near == (verdict == Verdict::kAcceptIfNear) ? x : kNone;
  }

  Reading<uint64_t> DrawFromWholeRow(Walker& walker, Draws& draws) {
    std::span<const std::byte> weight_bytes;
    if (context_.request.weighted) weight_bytes = rows_.WeightBytes(walker.row);
    const ReadRounds::Ranges loaded = co_await rows_.rounds().Load(
        {rows_.IdBytes(walker.row), rows_.IdBytes(walker.previous_row), weight_bytes});
    const SecondOrderStep<Id> step{.bias = bias_,
                                   .sorted = rows_.sorted(),
                                   .row = rows_.template As<Id>(loaded[0]),
                                   .weights = rows_.template As<float>(loaded[2]),
                                   .previous = walker.previous,
                                   .previous_row = rows_.template As<Id>(loaded[1])};
    const uint64_t slot = walker.row.begin + DrawExactly(step, draws);
    co_return co_await rows_.Neighbour(walker.node, slot);
  }

  void LoadWeights(const Walker& walker, std::span<const float> weights) {
    try {
      weights_.Load(weights);
    } catch (const BadWeight& bad) {
      context_.rows.ThrowBadWeight(walker.node, walker.row.begin + bad.position, bad.weight);
    }
  }

  const WalkContext& context_;
  const StagedRows<Id> rows_;
  const Node2VecBias bias_;
  const bool second_order_;
  WeightedRow weights_;  // of whichever walker draws
};

}  // namespace

template <class Id>
void WalkStaged(const WalkContext& context, const StagedTopology& staged) {
  ReadRounds rounds(staged);
  StagedWalks<Id> walks(context, rounds);
  rounds.Run(context.request.starts.size(), kSide,
             [&](size_t number) { return walks.Walk(number); });
}

template void WalkStaged<uint32_t>(const WalkContext&, const StagedTopology&);
template void WalkStaged<uint64_t>(const WalkContext&, const StagedTopology&);

}  // namespace graphzero::sample
