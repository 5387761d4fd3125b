// Draws pairs of nodes until one is a negative, each in a lane (row_lanes.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sample/negatives/negative_context.h"
#include "sample/rows/row_lanes.h"
#include "sample/rows/row_search.h"

namespace graphzero::sample {

// After this many rejected pairs, a negative is drawn among all that are left
// (exhausted_negatives.h). A source with edges to nine in ten of all nodes gets there once in a
// thousand times.
inline constexpr int kMaxRejected = 64;

template <class Source>
class PairDrawer {
 public:
  PairDrawer(const NegativeContext& context, Source& source)
      : context_(context),
        request_(context.request),
        adjacency_(context.rows.adjacency),
        source_(source),
        test_(context.Test()) {}

  // Returns the negatives that had all their pairs rejected.
  std::vector<Exhausted> Run(size_t begin, size_t end) {
    RunLanes<Lane>(source_, *this, begin, end, Source::kSide);
    return std::move(exhausted_);
  }

  struct Lane {
    // What the lane takes in its next turn.
    enum class Turn {
      kNode,      // the node at a place in the order of times
      kSlotRow,   // a block of indptr, to find the row that a drawn slot lies in
      kSlotId,    // the neighbour in a drawn slot
      kRow,       // the bounds of the row that the edge of the pair would be in
      kOtherRow,  // the bounds of the row of its other end, which may be shorter
      kSearch,    // a block of a row, to see whether it has the edge
      kWholeRow   // all of a row that is not sorted, to see whether it has the edge
    };

    typename Source::Asked asked;
    size_t number;
    Draws draws{0};
    int rejected;
    Turn turn;
    bool draws_source;  // with kNode, kSlotRow, kSlotId: which end is drawn
    uint64_t source;
    uint64_t target;
    uint64_t slot;  // with kNode, the place in the order of times
    bool damaged;   // the neighbour in `slot` is; its row is found for the message
    RowSearch<uint64_t> slot_row;
    const Rows* in;  // where the edge is looked for: context.rows or *context.other
    store::SlotRange row;
    RowSearch<typename Source::Id> search;
  };

  bool Begin(Lane& n, size_t number) {
    n.number = number;
    n.draws = context_.draws.Child(number);
    n.rejected = 0;
    return DrawPair(n);
  }

  bool Advance(Lane& n) {
    switch (n.turn) {
      case Turn::kNode:
        return UseEnd(n, TakeNode(n));
      case Turn::kSlotRow:
        TakeBlock(source_, n.asked, n.slot_row);
        return FindSlotRow(n);
      case Turn::kSlotId:
        return UseSlotId(n, TakeId(source_, n.asked, n.slot));
      case Turn::kRow:
        return UseRow(n, TakeBounds(n));
      case Turn::kOtherRow:
        return UseOtherRow(n, TakeBounds(n));
      case Turn::kSearch:
        TakeBlock(source_, n.asked, n.search);
        return SearchOn(n);
      case Turn::kWholeRow:
        break;
    }
    base::CheckPoint();  // this turn reads a whole row
    return Settle(n, RowHasEdge(n));
  }

 private:
  using Id = typename Source::Id;
  using Turn = typename Lane::Turn;

  static bool Wait(Lane& n, Turn turn) {
    n.turn = turn;
    return true;
  }

  bool DrawPair(Lane& n) {
    const std::optional<uint64_t> given = context_.Given(n.number);
    n.source = given.value_or(0);
    if (request_.weights == NegativeWeights::kDegree) return DrawByDegree(n, !given);
    return DrawUniformly(n, !given);
  }

  bool DrawUniformly(Lane& n, bool source) {
    n.draws_source = source;
    const Candidates& candidates = source ? context_.sources : context_.targets;
    const uint64_t position = n.draws.Below(candidates.size(n.number));
    if (!candidates.must_be_read()) return UseEnd(n, candidates[position]);
    n.slot = position;
    WithType(candidates.by_time(), [&]<class Node>(const Node* nodes) {
      source_.AskItems(n.asked, std::span(nodes + position, 1));
    });
    return Wait(n, Turn::kNode);
  }

  uint64_t TakeNode(const Lane& n) const {
    const Candidates& candidates = n.draws_source ? context_.sources : context_.targets;
    const uint64_t node =
        WithType(candidates.by_time(), [&]<class Node>(const Node* nodes) -> uint64_t {
          return store::ReadOnce(source_.Items(n.asked, std::span(nodes + n.slot, 1)));
        });
    const store::NodeType& type = n.draws_source ? *request_.source_type : *request_.target_type;
    if (node >= type.count) context_.rows.ThrowDamagedOrder(n.slot, node, type.count);
    return node;
  }

  // The source or the target of a random edge: a node in proportion to its degree.
  bool DrawByDegree(Lane& n, bool source) {
    n.draws_source = source;
    n.damaged = false;
    n.slot = n.draws.Below(adjacency_.edges);
    if (source == request_.rows_are_sources) return SearchSlotRow(n);
    AskId(source_, n.asked, n.slot);
    return Wait(n, Turn::kSlotId);
  }

  bool UseSlotId(Lane& n, uint64_t id) {
    if (id < adjacency_.neighbour_bound) return UseEnd(n, id);
    (n.draws_source ? n.source : n.target) = id;
    n.damaged = true;
    return SearchSlotRow(n);
  }

  // The row of a slot is the last one that begins at the slot or before. In a damaged file, the
  // search gives some row.
  bool SearchSlotRow(Lane& n) {
    uint64_t node;
    if (source_.KnowsRowOf(n.slot, &node)) return UseSlotRow(n, node);
    n.slot_row = RowSearch<uint64_t>(adjacency_.indptr, 1, adjacency_.rows, n.slot + 1,
                                     adjacency_.edges, Source::kBlockBytes / sizeof(uint64_t));
    return FindSlotRow(n);
  }

  bool FindSlotRow(Lane& n) {
    if (!n.slot_row.done()) {
      AskBlock(source_, n.asked, n.slot_row);
      return Wait(n, Turn::kSlotRow);
    }
    return UseSlotRow(n, n.slot_row.position() - 1);
  }

  bool UseSlotRow(Lane& n, uint64_t node) {
    if (n.damaged) {
      context_.rows.ThrowDamagedNeighbour(node, n.slot, n.draws_source ? n.source : n.target);
    }
    return UseEnd(n, node);
  }

  bool UseEnd(Lane& n, uint64_t node) {
    if (n.draws_source) {
      n.source = node;
      return request_.weights == NegativeWeights::kDegree ? DrawByDegree(n, false)
                                                          : DrawUniformly(n, false);
    }
    n.target = node;
    return Judge(n);
  }

  bool Judge(Lane& n) {
    if (!request_.reject) return Settle(n, false);
    if (context_.one_type && n.source == n.target) return Settle(n, true);
    return AskBounds(n, test_ == EdgeTest::kSearchOther ? context_.other : &context_.rows,
                     Turn::kRow);
  }

  // The edge of the pair would be in the row of one end, and have the other as neighbour.
  bool RowsAreSources(const Lane& n) const {
    return (n.in == &context_.rows) == request_.rows_are_sources;
  }
  uint64_t RowNode(const Lane& n) const { return RowsAreSources(n) ? n.source : n.target; }
  uint64_t Neighbour(const Lane& n) const { return RowsAreSources(n) ? n.target : n.source; }
  std::span<const Id> RowIds(const Lane& n) const { return n.in->template Ids<Id>(n.row); }

  bool AskBounds(Lane& n, const Rows* in, Turn turn) {
    n.in = in;
    store::SlotRange row;
    if (source_.KnowsRow(*in, RowNode(n), &row)) {
      return turn == Turn::kRow ? UseRow(n, row) : UseOtherRow(n, row);
    }
    source_.AskItems(n.asked, std::span(in->adjacency.indptr + RowNode(n), 2));
    return Wait(n, turn);
  }

  store::SlotRange TakeBounds(const Lane& n) const {
    const uint64_t node = RowNode(n);
    const uint64_t* const pair =
        source_.Items(n.asked, std::span(n.in->adjacency.indptr + node, 2));
    const store::SlotRange row{store::ReadOnce(pair), store::ReadOnce(pair + 1)};
    n.in->CheckRow(node, row);
    return row;
  }

  bool UseRow(Lane& n, const store::SlotRange& row) {
    n.row = row;
    switch (test_) {
      case EdgeTest::kSearch:
      case EdgeTest::kSearchOther:
        n.search =
            RowSearch<Id>(n.in->template Ids<Id>({}).data(), n.row.begin, n.row.end, Neighbour(n),
                          n.in->adjacency.neighbour_bound, Source::kBlockBytes / sizeof(Id));
        return SearchOn(n);
      case EdgeTest::kScan:
        return ScanRow(n);
      case EdgeTest::kScanShorter:
        break;
    }
    return AskBounds(n, context_.other, Turn::kOtherRow);
  }

  bool UseOtherRow(Lane& n, const store::SlotRange& row) {
    if (row.size() < n.row.size()) {
      n.row = row;
    } else {
      n.in = &context_.rows;
    }
    return ScanRow(n);
  }

  bool ScanRow(Lane& n) {
    if (request_.times.empty() || n.in->adjacency.times == nullptr) {
      source_.AskRanges(n.asked, RowIds(n));
    } else {
      source_.AskRanges(n.asked, RowIds(n), RowTimes(n));
    }
    return Wait(n, Turn::kWholeRow);
  }

  // The times of the edges themselves.
  std::span<const int64_t> RowTimes(const Lane& n) const {
    return {n.in->adjacency.times + n.row.begin, n.row.size()};
  }

  bool RowHasEdge(const Lane& n) const {
    const std::span<const Id> ids = source_.Loaded(n.asked, 0, RowIds(n));
    if (request_.times.empty() || n.in->adjacency.times == nullptr) {
      return Contains(ids, false, Neighbour(n));
    }
    const std::span<const int64_t> times = source_.Loaded(n.asked, 1, RowTimes(n));
    for (auto at = ids.begin(); at != ids.end(); ++at) {
      at = std::find(at, ids.end(), Neighbour(n));
      if (at == ids.end()) return false;
      if (context_.Counts(n.number, times[static_cast<size_t>(at - ids.begin())])) return true;
    }
    return false;
  }

  bool SearchOn(Lane& n) {
    if (n.search.done()) return Settle(n, n.search.found());
    AskBlock(source_, n.asked, n.search);
    return Wait(n, Turn::kSearch);
  }

  bool Settle(Lane& n, bool rejected) {
    if (!rejected) {
      context_.out.Write(n.number, n.source, n.target);
      return false;
    }
    if (++n.rejected < kMaxRejected) return DrawPair(n);
    exhausted_.push_back({n.number, n.draws});
    return false;
  }

  const NegativeContext& context_;
  const NegativeRequest& request_;
  const store::Adjacency& adjacency_;
  Source& source_;
  const EdgeTest test_;
  std::vector<Exhausted> exhausted_;
};

}  // namespace graphzero::sample
