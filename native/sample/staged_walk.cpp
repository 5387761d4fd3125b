// Walks over a topology that is not in memory: every walker is a program, and a round reads for all
// of them what the next move needs. Draws are those of the other walks, in the same order.
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "sample/node2vec.h"
#include "sample/staged_rows.h"
#include "sample/walk_context.h"
#include "sample/weighted_pick.h"

namespace graphzero::sample {
namespace {

// Candidates of a second-order step that are drawn while the weights of a row are at hand. More are
// seldom needed, and then the weights are read again.
constexpr int kCandidates = 8;
static_assert(kMaxTries % kCandidates == 0);

// Rows of at most so many bytes are read as a whole where several of their edges may be looked at,
// now as candidates and after the step as neighbours of the previous node: a read of one edge costs
// as much.
constexpr uint64_t kShortRowBytes = 512;

template <class Id>
struct StagedRow {
  store::SlotRange slots;
  std::vector<Id> ids;  // all of them in a short row, else none

  bool loaded() const { return !ids.empty() || slots.size() == 0; }
};

// Where a walk is, and where it came from.
template <class Id>
struct Walker {
  size_t number;
  uint64_t node;
  StagedRow<Id> row{};  // of node, once it is read
  uint64_t previous = 0;
  StagedRow<Id> previous_row{};
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
    Walker<Id> walker{.number = number, .node = context_.Start(number)};
    walk[0] = static_cast<int64_t>(walker.node);
    for (uint64_t step = 0; step < context_.request.length; ++step) {
      Draws draws = context_.StepDraws(step, number);
      if (context_.Restarts(draws)) {
        walker.node = context_.Start(number);
        walker.has_previous = false;
      } else {
        walker.row.slots = co_await rows_.Row(walker.node);
        walker.row.ids.clear();
        const uint64_t next = co_await DrawNext(walker, draws);
        if (next == kNone) {
          context_.Finish(number, step);
          co_return;
        }
        walker.previous = walker.node;
        std::swap(walker.previous_row, walker.row);
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
  Reading<uint64_t> DrawNext(Walker<Id>& walker, Draws& draws) {
    const store::SlotRange row = walker.row.slots;
    const bool weighted = context_.request.weighted;
    const bool biased = second_order_ && walker.has_previous;
    if (row.size() == 0) co_return kNone;
    if (second_order_ && row.size() * sizeof(Id) <= kShortRowBytes) {
      walker.row.ids.resize(row.size());
      const std::span<const std::byte> place = rows_.IdBytes(row);
      co_await rows_.rounds().Read(place.data(), place.size(), walker.row.ids.data());
    }
    if (!weighted && !biased) {
      const uint64_t slot = row.begin + draws.Below(row.size());
      co_return co_await Neighbour(walker, slot);
    }
    std::array<Candidate, kCandidates> candidates;
    for (int tries = 0; tries < kMaxTries; tries += kCandidates) {
      if (weighted) {
        const ReadRounds::Ranges loaded = co_await rows_.rounds().Load({rows_.WeightBytes(row)});
        LoadWeights(walker, rows_.template As<float>(loaded[0]));
        if (weights_.positive() == 0) co_return kNone;
        if (!biased) {
          const uint64_t slot = row.begin + weights_.Draw(draws);
          co_return co_await Neighbour(walker, slot);
        }
      }
      // Drawing ahead changes nothing: a step has draws of its own.
      for (Candidate& candidate : candidates) {
        const uint64_t position = weighted ? weights_.Draw(draws) : draws.Below(row.size());
        candidate = {row.begin + position, draws.Next() >> 11};
      }
      for (const Candidate& candidate : candidates) {
        const uint64_t accepted = co_await Consider(walker, candidate);
        if (accepted != kNone) co_return accepted;
      }
    }
    co_return co_await DrawFromWholeRow(walker, draws);
  }

  // A neighbour of the node that the walk is at.
  Reading<uint64_t> Neighbour(const Walker<Id>& walker, uint64_t slot) {
    if (!walker.row.loaded()) co_return co_await rows_.Neighbour(walker.node, slot);
    const uint64_t id = walker.row.ids[slot - walker.row.slots.begin];
    if (id >= context_.rows.adjacency.neighbour_bound) {
      context_.rows.ThrowDamagedNeighbour(walker.node, slot, id);
    }
    co_return id;
  }

  // The candidate's node, or kNone if it is rejected.
  Reading<uint64_t> Consider(const Walker<Id>& walker, Candidate candidate) {
    using Verdict = Node2VecBias::Verdict;
    const uint64_t x = co_await Neighbour(walker, candidate.slot);
    const Verdict verdict = bias_.Judge(candidate.number, x == walker.previous);
    if (verdict == Verdict::kAccept) co_return x;
    if (verdict == Verdict::kReject) co_return kNone;
    bool near = false;
    if (walker.previous_row.loaded()) {
      near = RowContains(std::span<const Id>(walker.previous_row.ids), rows_.sorted(), x);
    } else {
      near = co_await rows_.Contains(walker.previous_row.slots, x);
    }
    co_return near == (verdict == Verdict::kAcceptIfNear) ? x : kNone;
  }

  Reading<uint64_t> DrawFromWholeRow(const Walker<Id>& walker, Draws& draws) {
    const store::SlotRange row = walker.row.slots;
    std::span<const std::byte> weight_bytes;
    if (context_.request.weighted) weight_bytes = rows_.WeightBytes(row);
    const ReadRounds::Ranges loaded = co_await rows_.rounds().Load(
        {rows_.IdBytes(row), rows_.IdBytes(walker.previous_row.slots), weight_bytes});
    const SecondOrderStep<Id> step{.bias = bias_,
                                   .sorted = rows_.sorted(),
                                   .row = rows_.template As<Id>(loaded[0]),
                                   .weights = rows_.template As<float>(loaded[2]),
                                   .previous = walker.previous,
                                   .previous_row = rows_.template As<Id>(loaded[1])};
    const uint64_t slot = row.begin + DrawExactly(step, draws);
    co_return co_await Neighbour(walker, slot);
  }

  void LoadWeights(const Walker<Id>& walker, std::span<const float> weights) {
    try {
      weights_.Load(weights);
    } catch (const BadWeight& bad) {
      const uint64_t slot = walker.row.slots.begin + bad.position;
      context_.rows.ThrowBadWeight(walker.node, slot, bad.weight);
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
  rounds.Run(context.request.starts.size(), ReadRounds::kSide,
             [&](size_t number) { return walks.Walk(number); });
}

template void WalkStaged<uint32_t>(const WalkContext&, const StagedTopology&);
template void WalkStaged<uint64_t>(const WalkContext&, const StagedTopology&);

}  // namespace graphzero::sample
