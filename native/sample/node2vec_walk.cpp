// node2vec walks on unweighted rows. Walkers take turns; each turn uses what the last one asked
// memory for and asks for the next thing, so that the many dependent reads of a step (row,
// candidate, and the halving search in the previous node's row) overlap with those of the other
// walkers.
#include <algorithm>
#include <array>

#include "sample/node2vec.h"
#include "sample/walk_context.h"

namespace graphzero::sample {
namespace {

constexpr size_t kSide = 64;
constexpr uint64_t kScanBytes = 64;  // a search this close reads the rest in order

template <class Id>
class Turns {
 public:
  Turns(const WalkContext& context, size_t begin, size_t end)
      : context_(context),
        rows_(context.rows),
        ids_(static_cast<const Id*>(context.rows.adjacency.neighbours.data)),
        bias_(context.request.p, context.request.q),
        next_(begin),
        end_(end) {}

  void Run() {
    size_t active = 0;
    while (active < kSide && Begin(walkers_[active])) ++active;
    base::CheckedLoop loop;
    while (active > 0) {
      for (size_t i = 0; i < active;) {
        loop.Next();
        // A finished walker's place is taken by the next one, or by the last that still walks.
        if (Advance(walkers_[i]) || Begin(walkers_[i])) {
          ++i;
        } else {
          walkers_[i] = walkers_[--active];
        }
      }
    }
  }

 private:
  enum class Turn { kRow, kCandidate, kSearch };

  struct Walker {
    size_t number;
    uint64_t step;
    Turn turn;
    int tries;
    bool has_previous;
    bool accept_if_near;
    uint64_t node;
    uint64_t previous;
    store::SlotRange row;
    store::SlotRange previous_row;
    Draws draws{0};
    uint64_t slot;
    uint64_t candidate;
    store::SlotRange search;  // where the candidate may still be in previous_row
  };

  // False if no walker is left.
  bool Begin(Walker& w) {
    while (next_ < end_) {
      w.number = next_++;
      context_.Walk(w.number)[0] = context_.request.starts[w.number];
      if (context_.request.length > 0) {
        w.step = 0;
        w.has_previous = false;
        Arrive(w, context_.Start(w.number));
        return true;
      }
      context_.Finish(w.number, 0);
    }
    return false;
  }

  void Arrive(Walker& w, uint64_t node) {
    w.node = node;
    w.turn = Turn::kRow;
    rows_.PrefetchRow(node);
  }

  // False when the walk is over.
  bool Advance(Walker& w) {
    switch (w.turn) {
      case Turn::kRow:
        return StartStep(w);
      case Turn::kCandidate:
        return Consider(w);
      case Turn::kSearch:
        break;
    }
    return Search(w);
  }

  bool StartStep(Walker& w) {
    w.draws = context_.StepDraws(w.step, w.number);
    if (context_.Restarts(w.draws)) return MoveTo(w, context_.Start(w.number), false);
    w.row = rows_.Row(w.node);
    if (w.row.size() == 0) {
      context_.Finish(w.number, w.step);
      return false;
    }
    w.tries = 0;
    return Propose(w);
  }

  bool Propose(Walker& w) {
    if (w.tries++ == kMaxTries) {
      const SecondOrderStep<Id> step{.bias = bias_,
                                     .sorted = context_.request.sorted,
                                     .row = rows_.template Ids<Id>(w.row),
                                     .weights = {},
                                     .previous = w.previous,
                                     .previous_row = rows_.template Ids<Id>(w.previous_row)};
      const uint64_t slot = w.row.begin + DrawExactly(step, w.draws);
      return MoveTo(w, rows_.template Neighbour<Id>(w.node, slot), true);
    }
    w.slot = w.row.begin + w.draws.Below(w.row.size());
    w.turn = Turn::kCandidate;
    rows_.template PrefetchSlot<Id>(w.slot);
    return true;
  }

  bool Consider(Walker& w) {
    using Verdict = Node2VecBias::Verdict;
    w.candidate = rows_.template Neighbour<Id>(w.node, w.slot);
    if (!w.has_previous) return MoveTo(w, w.candidate, true);
    const Verdict verdict = bias_.Judge(w.draws.Next() >> 11, w.candidate == w.previous);
    if (verdict == Verdict::kAccept) return MoveTo(w, w.candidate, true);
    if (verdict == Verdict::kReject) return Propose(w);
    w.accept_if_near = verdict == Verdict::kAcceptIfNear;
    if (!context_.request.sorted) {
      return Settle(w, RowContains(rows_.template Ids<Id>(w.previous_row), false, w.candidate));
    }
    w.search = w.previous_row;
    w.turn = Turn::kSearch;
    PrefetchProbe(w);
    return true;
  }

  static uint64_t Middle(const store::SlotRange& range) { return range.begin + range.size() / 2; }
  static bool Short(const store::SlotRange& range) {
    return range.size() <= kScanBytes / sizeof(Id);
  }

  void PrefetchProbe(const Walker& w) {
    if (Short(w.search)) {
      __builtin_prefetch(ids_ + w.search.begin);
      __builtin_prefetch(ids_ + w.search.end);
    } else {
      __builtin_prefetch(ids_ + Middle(w.search));
    }
  }

  bool Search(Walker& w) {
    if (Short(w.search)) {
      bool found = false;
      for (uint64_t s = w.search.begin; s < w.search.end; ++s) found |= ids_[s] == w.candidate;
      return Settle(w, found);
    }
    const uint64_t middle = Middle(w.search);
    // Keeps the middle itself: it may be the one.
    if (ids_[middle] <= w.candidate) {
      w.search.begin = middle;
    } else {
      w.search.end = middle;
    }
    PrefetchProbe(w);
    return true;
  }

  bool Settle(Walker& w, bool near) {
    return near == w.accept_if_near ? MoveTo(w, w.candidate, true) : Propose(w);
  }

  bool MoveTo(Walker& w, uint64_t node, bool along_edge) {
    w.has_previous = along_edge;
    w.previous = w.node;
    w.previous_row = w.row;
    context_.Walk(w.number)[++w.step] = static_cast<int64_t>(node);
    if (w.step == context_.request.length) {
      context_.Finish(w.number, w.step);
      return false;
    }
    Arrive(w, node);
    return true;
  }

  const WalkContext& context_;
  const Rows& rows_;
  const Id* const ids_;
  const Node2VecBias bias_;
  size_t next_;
  const size_t end_;
  std::array<Walker, kSide> walkers_;
};

}  // namespace

template <class Id>
void Node2VecWalks(const WalkContext& context, size_t begin, size_t end) {
  Turns<Id>(context, begin, end).Run();
}

template void Node2VecWalks<uint32_t>(const WalkContext&, size_t, size_t);
template void Node2VecWalks<uint64_t>(const WalkContext&, size_t, size_t);

}  // namespace graphzero::sample
