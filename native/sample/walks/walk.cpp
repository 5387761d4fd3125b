#include "sample/walks/walk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "sample/pick/weighted_pick.h"
#include "sample/rows/row_lanes.h"
#include "sample/walks/metapath_walk.h"
#include "sample/walks/node2vec.h"
#include "sample/walks/walk_context.h"

namespace graphzero::sample {
namespace {

// Walks that a thread takes at a time.
constexpr size_t kGrain = 1024;

// A walk in its lane.
template <class Source>
struct Walker {
  using Id = typename Source::Id;

  // What the walk takes in its next turn.
  enum class Turn {
    kRow,          // the bounds of the row of `node`
    kShortRow,     // all ids of that row, because they take one short read
    kWeights,      // all weights of the row
    kCandidate,    // the neighbour in the slot of a candidate
    kSearch,       // a block of the previous row, to see whether the candidate is near
    kPreviousRow,  // all of the previous row, if rows are not sorted, for the same purpose
    kWholeRow,     // all of both rows, and weights, after too many rejected candidates
    kChosen        // the neighbour in the slot that was drawn from the whole row
  };
  // The ids of a row if they take one short read, else none.
  struct ShortRow {
    std::array<Id, Source::kShortRowBytes / sizeof(Id) + 1> ids;
    uint64_t size = 0;

    std::span<const Id> span() const { return {ids.data(), size}; }
  };
  // A proposed edge, and the number that decides about it.
  struct Candidate {
    uint64_t slot;
    uint64_t number;
  };
  // Candidates that are drawn while the weights of the row are in memory. More are seldom needed;
  // the weights are then read again.
  static constexpr int kCandidates = Source::kLoadsStay ? 1 : 8;
  static_assert(kMaxTries % kCandidates == 0);

  typename Source::Asked asked;
  size_t number;
  uint64_t step;  // steps taken
  Turn turn;
  Draws draws{0};  // of this step
  uint64_t node;
  store::SlotRange row;
  bool has_previous;  // the walk came along an edge
  uint64_t previous;
  store::SlotRange previous_row;
  int tries;  // candidates of this step that were rejected
  std::array<Candidate, kCandidates> candidates;
  uint64_t candidate;  // the neighbour in the slot of the current candidate
  bool accept_if_near;
  RowSearch<Id> search;
  ShortRow ids;
  ShortRow previous_ids;
};

// Walks of all kinds. Draws of one step come in the order: restart or not; then for each candidate
// its position and, for a second-order step, the number that decides about it; then the exact draw.
template <class Source>
class Walks {
 public:
  using Lane = Walker<Source>;

  Walks(const WalkContext& context, Source& source)
      : context_(context),
        rows_(context.rows),
        source_(source),
        bias_(context.request.p, context.request.q),
        weighted_(context.request.weighted),
        second_order_(context.request.p != 1 || context.request.q != 1) {}

  void Run(size_t begin, size_t end) {
    // Lanes share one WeightedPicker. In memory its sums would have to be computed again after each
    // turn of another lane, and reading weights in order causes few cache misses to hide, so one
    // lane runs alone.
    const size_t side = weighted_ && Source::kLoadsStay ? 1 : Source::kSide;
    RunLanes<Lane>(source_, *this, begin, end, side);
  }

  bool Begin(Lane& w, size_t number) {
    w.number = number;
    w.step = 0;
    w.node = context_.Start(number);
    w.has_previous = false;
    context_.Walk(number)[0] = static_cast<int64_t>(w.node);
    return StartStep(w);
  }

  bool Advance(Lane& w) {
    using Turn = typename Lane::Turn;
    switch (w.turn) {
      case Turn::kRow:
        w.row = TakeRow(source_, w.asked, w.node);
        return UseRow(w);
      case Turn::kShortRow:
        w.ids.size = w.row.size();
        std::copy_n(source_.Items(w.asked, RowIds(w.row)), w.ids.size, w.ids.ids.begin());
        return ProposeFromRow(w);
      case Turn::kWeights:
        return UseWeights(w, source_.Loaded(w.asked, 0, rows_.Weights(w.row)));
      case Turn::kCandidate:
        return Consider(w, TakeId(source_, w.asked, w.candidates[w.tries % kCandidates].slot));
      case Turn::kSearch:
        TakeBlock(source_, w.asked, w.search);
        return SearchPreviousRow(w);
      case Turn::kPreviousRow:
        base::CheckPoint();  // this turn reads a whole row
        return Settle(
            w, Contains(source_.Loaded(w.asked, 0, RowIds(w.previous_row)), false, w.candidate));
      case Turn::kWholeRow:
        return ChooseFromWholeRow(w);
      case Turn::kChosen:
        break;
    }
    return MoveTo(w, CheckedNeighbour(w, w.candidates[0].slot,
                                      TakeId(source_, w.asked, w.candidates[0].slot)));
  }

 private:
  using Id = typename Source::Id;
  using Turn = typename Lane::Turn;
  static constexpr int kCandidates = Lane::kCandidates;

  std::span<const Id> RowIds(const store::SlotRange& row) const { return rows_.Ids<Id>(row); }
  bool Biased(const Lane& w) const { return second_order_ && w.has_previous; }

  static bool Wait(Lane& w, Turn turn) {
    w.turn = turn;
    return true;
  }

  bool End(const Lane& w) const {
    context_.Finish(w.number, w.step);
    return false;
  }

  bool StartStep(Lane& w) {
    int64_t* const walk = context_.Walk(w.number);
    for (; w.step < context_.request.length; walk[++w.step] = static_cast<int64_t>(w.node)) {
      loop_.Next();  // a walk that always restarts never waits for a read
      w.draws = context_.StepDraws(w.step, w.number);
      if (!context_.Restarts(w.draws)) {
        if (source_.KnowsRow(rows_, w.node, &w.row)) return UseRow(w);
        AskRow(source_, w.asked, w.node);
        return Wait(w, Turn::kRow);
      }
      w.node = context_.Start(w.number);
      w.has_previous = false;
    }
    return End(w);
  }

  bool MoveTo(Lane& w, uint64_t node) {
    w.has_previous = true;
    w.previous = w.node;
    w.previous_row = w.row;
    if constexpr (Source::kShortRowBytes > 0) w.previous_ids = w.ids;
    w.node = node;
    context_.Walk(w.number)[++w.step] = static_cast<int64_t>(node);
    return StartStep(w);
  }

  bool UseRow(Lane& w) {
    w.tries = 0;
    w.ids.size = 0;
    if (w.row.size() == 0) return End(w);
    // The ids of a short row are used twice: as candidates now, and as the previous row in the next
    // step.
    if (second_order_ && w.row.size() * sizeof(Id) <= Source::kShortRowBytes) {
      source_.AskItems(w.asked, RowIds(w.row));
      return Wait(w, Turn::kShortRow);
    }
    return ProposeFromRow(w);
  }

  bool ProposeFromRow(Lane& w) {
    if (!weighted_) return DrawCandidates(w);
    source_.AskRanges(w.asked, rows_.Weights(w.row));
    return Wait(w, Turn::kWeights);
  }

  bool UseWeights(Lane& w, std::span<const float> weights) {
    base::CheckPoint();  // this turn reads a whole row
    try {
      weights_.Load(weights);
    } catch (const BadWeight& bad) {
      rows_.ThrowBadWeight(w.node, w.row.begin + bad.position, bad.weight);
    }
    return weights_.positive() == 0 ? End(w) : DrawCandidates(w);
  }

  bool DrawCandidates(Lane& w) {
    for (auto& candidate : w.candidates) {
      candidate.slot =
          w.row.begin + (weighted_ ? weights_.Draw(w.draws) : w.draws.Below(w.row.size()));
      if (!Biased(w)) break;
      candidate.number = w.draws.Next() >> 11;
    }
    return ReadSlot(w, Turn::kCandidate);
  }

  // Asks for the neighbour of the current candidate.
  bool ReadSlot(Lane& w, Turn turn) {
    const uint64_t slot = w.candidates[w.tries % kCandidates].slot;
    if (w.ids.size > 0) {
      const uint64_t id = w.ids.ids[slot - w.row.begin];
      return turn == Turn::kCandidate ? Consider(w, id) : MoveTo(w, CheckedNeighbour(w, slot, id));
    }
    AskId(source_, w.asked, slot);
    return Wait(w, turn);
  }

  uint64_t CheckedNeighbour(const Lane& w, uint64_t slot, uint64_t id) const {
    rows_.CheckNeighbour(w.node, slot, id);
    return id;
  }

  bool Consider(Lane& w, uint64_t id) {
    using Verdict = Node2VecBias::Verdict;
    const auto& candidate = w.candidates[w.tries % kCandidates];
    w.candidate = CheckedNeighbour(w, candidate.slot, id);
    if (!Biased(w)) return MoveTo(w, id);
    const Verdict verdict = bias_.Judge(candidate.number, id == w.previous);
    if (verdict == Verdict::kAccept) return MoveTo(w, id);
    if (verdict == Verdict::kReject) return Reject(w);
    w.accept_if_near = verdict == Verdict::kAcceptIfNear;
    if (w.previous_ids.size > 0) {
      return Settle(w, Contains(w.previous_ids.span(), rows_.sorted, id));
    }
    if (rows_.sorted) {
      w.search = SearchRow(source_, w.previous_row, id);
      return SearchPreviousRow(w);
    }
    source_.AskRanges(w.asked, RowIds(w.previous_row));
    return Wait(w, Turn::kPreviousRow);
  }

  bool SearchPreviousRow(Lane& w) {
    if (w.search.done()) return Settle(w, w.search.found());
    AskBlock(source_, w.asked, w.search);
    return Wait(w, Turn::kSearch);
  }

  bool Settle(Lane& w, bool near) {
    return near == w.accept_if_near ? MoveTo(w, w.candidate) : Reject(w);
  }

  bool Reject(Lane& w) {
    ++w.tries;
    if (w.tries == kMaxTries) {
      const auto weights = weighted_ ? rows_.Weights(w.row) : std::span<const float>();
      source_.AskRanges(w.asked, RowIds(w.row), RowIds(w.previous_row), weights);
      return Wait(w, Turn::kWholeRow);
    }
    if (w.tries % kCandidates != 0) return ReadSlot(w, Turn::kCandidate);
    return Source::kLoadsStay ? DrawCandidates(w) : ProposeFromRow(w);
  }

  bool ChooseFromWholeRow(Lane& w) {
    base::CheckPoint();  // this turn reads a whole row
    const auto weights = weighted_ ? rows_.Weights(w.row) : std::span<const float>();
    const SecondOrderStep<Id> step{
        .bias = bias_,
        .sorted = rows_.sorted,
        .row = source_.Loaded(w.asked, 0, RowIds(w.row)),
        .weights = source_.Loaded(w.asked, 2, weights),
        .previous = w.previous,
        .previous_row = source_.Loaded(w.asked, 1, RowIds(w.previous_row))};
    w.tries = 0;
    w.candidates[0].slot = w.row.begin + DrawExactly(step, w.draws);
    return ReadSlot(w, Turn::kChosen);
  }

  const WalkContext& context_;
  const Rows& rows_;
  Source& source_;
  const Node2VecBias bias_;
  const bool weighted_;
  const bool second_order_;
  WeightedPicker weights_;  // of the lane whose turn it is
  base::CheckedLoop loop_;
};

void CheckBias(const char* name, double value) {
  // Written so that a NaN fails, too. The reciprocal is used too, so it must be finite.
  if (value > 0 && std::isfinite(value) && std::isfinite(1 / value)) return;
  throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                              ", expected a number greater than 0");
}

void Check(const Rows& rows, const WalkRequest& request) {
  CheckOneNodeSet(rows);
  CheckHasWeights(rows, request.weighted);
  CheckBias("p", request.p);
  CheckBias("q", request.q);
  if (!(request.restart >= 0 && request.restart <= 1)) {
    throw std::invalid_argument("restart is " + std::to_string(request.restart) +
                                ", expected a probability from 0 to 1");
  }
  CheckNodeIds(rows, request.starts, "start");
}

}  // namespace

void RandomWalk(const store::TopologyReader& graph, const WalkRequest& request,
                const WalkDestination& destination) {
  const Rows rows = Rows::Of(graph, *request.adjacency, request.disk);
  const WalkContext context{request, rows, destination};
  Check(rows, request);
  const bool uniform = request.p == 1 && request.q == 1 && !request.weighted;
  if (uniform && rows.disk != nullptr && request.restart == 0) {
    const MetapathRequest steps{.relations = {0},
                                .starts = request.starts,
                                .length = request.length,
                                .seed = request.seed,
                                .threads = request.threads,
                                .disk = request.disk};
    WalkTogether({&rows, 1}, steps, destination);
    return;
  }
  ReadRows(rows, [&] {
    base::ThreadLease lease(request.threads);
    WithRowSource(rows, lease, request.starts.size(), kGrain,
                  [&]<class Source>(Source& source, size_t begin, size_t end) {
                    if (uniform && rows.disk == nullptr) {
                      UniformWalks<typename Source::Id>(context, begin, end);
                    } else {
                      Walks<Source>(context, source).Run(begin, end);
                    }
                  });
  });
}

}  // namespace graphzero::sample
