// Negatives of a topology that is not in memory: every negative is a program, and a round reads for
// all of them what tells whether their pairs are edges. Draws are those of negatives.cpp, in the
// same order.
#include <algorithm>
#include <vector>

#include "base/call.h"
#include "sample/negative_rules.h"
#include "sample/random.h"
#include "sample/staged_rows.h"

namespace graphzero::sample {
namespace {

// Those that go through all targets take more memory and should be few.
constexpr size_t kExhaustedSide = 16;
// Rows whose bounds are read at a time where all rows are gone through.
constexpr uint64_t kRowsAtOnce = 65536;
constexpr uint64_t kSlotsAtOnce = uint64_t{1} << 19;
// Candidates between two looks at whether the call is to end.
constexpr uint64_t kCheckedTargets = 4096;

// Its size follows the row of one node, which a request chooses.
using Targets = std::vector<uint64_t, base::WorkAllocator<uint64_t>>;

template <class Id>
class Drawer {
 public:
  Drawer(const StagedNegatives& negatives, ReadRounds& rounds)
      : request_(negatives.request),
        adjacency_(negatives.rows.adjacency),
        out_(negatives),
        rows_(rounds, negatives.rows, negatives.sorted),
        sources_(request_.source_candidates, adjacency_.rows),
        targets_(request_.target_candidates, adjacency_.rows),
        draws_(RequestDraws(request_.seed, Domain::kNegatives)) {}

  Reading<void> Draw(size_t number) {
    Draws draws = draws_.Child(number);
    std::optional<uint64_t> given;
    if (!request_.sources.empty()) given = static_cast<uint64_t>(request_.sources[number]);
    for (int attempt = 0; attempt < kMaxRejected; ++attempt) {
      uint64_t from = given.value_or(0);
      if (!given) from = co_await DrawEnd(draws, sources_, /*row=*/request_.rows_are_sources);
      const uint64_t to = co_await DrawEnd(draws, targets_, /*row=*/!request_.rows_are_sources);
      bool accepted = true;
      if (request_.reject) accepted = co_await IsNegative(from, to);
      if (!accepted) continue;
      Write(number, from, to);
      co_return;
    }
    exhausted_.push_back({number, draws, given});
  }

  // Negatives that only had their pairs rejected.
  size_t exhausted() const { return exhausted_.size(); }

  Reading<void> DrawExhausted(size_t place) {
    Draws draws = exhausted_[place].draws;
    const std::optional<uint64_t> given = exhausted_[place].given;
    const size_t number = exhausted_[place].number;
    const uint64_t first = given ? 0 : draws.Below(sources_.size());
    const uint64_t most = given ? 1 : sources_.size();
    for (uint64_t step = 0; step < most; ++step) {
      const uint64_t from = given ? *given : sources_[(first + step) % sources_.size()];
      const std::optional<uint64_t> to = co_await DrawAmongAll(from, draws);
      if (!to) continue;
      Write(number, from, *to);
      co_return;
    }
    ThrowNoNegative(rows_.rows(), request_, given);
  }

 private:
  struct Exhausted {
    size_t number;
    Draws draws;
    std::optional<uint64_t> given;
  };

  uint64_t Nodes() const { return adjacency_.rows; }

  void Write(size_t number, uint64_t from, uint64_t to) {
    out_.sources[number] = static_cast<int64_t>(from);
    out_.targets[number] = static_cast<int64_t>(to);
  }

  Reading<uint64_t> DrawEnd(Draws& draws, const Candidates& candidates, bool row) {
    if (request_.weights == NegativeWeights::kUniform) {
      co_return candidates[draws.Below(candidates.size())];
    }
    const uint64_t slot = draws.Below(adjacency_.edges);
    if (row) co_return co_await RowOf(slot);
    Id id;
    co_await rows_.rounds().Read(static_cast<const Id*>(adjacency_.neighbours.data) + slot,
                                 sizeof(id), &id);
    if (id < adjacency_.neighbour_bound) co_return id;
    const uint64_t node = co_await RowOf(slot);
    rows_.rows().ThrowDamagedNeighbour(node, slot, id);
  }

  // The row that a slot lies in: the last that starts at it or before.
  Reading<uint64_t> RowOf(uint64_t slot) {
    const Found after = co_await LowerBound(rows_.rounds(), adjacency_.indptr, 1, Nodes(), slot + 1,
                                            adjacency_.edges);
    co_return after.position - 1;
  }

  Reading<bool> IsNegative(uint64_t source, uint64_t target) {
    if (source == target) co_return false;
    const uint64_t node = request_.rows_are_sources ? source : target;
    const uint64_t neighbour = request_.rows_are_sources ? target : source;
    const store::SlotRange row = co_await rows_.Row(node);
    const bool linked = co_await rows_.Contains(row, neighbour);
    co_return !linked;
  }

  // Uniform among all targets that make a negative with this source; nothing if there are none.
  Reading<std::optional<uint64_t>> DrawAmongAll(uint64_t source, Draws& draws) {
    Targets others = co_await TargetsOf(source);  // that make no negative
    others.push_back(source);
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    if (!targets_.all()) co_return DrawAmongListed(others, draws);
    if (others.size() >= Nodes()) co_return std::nullopt;
    const uint64_t chosen = draws.Below(Nodes() - others.size());
    uint64_t skipped = 0;
    for (const uint64_t other : others) {
      if (other > chosen + skipped) break;
      ++skipped;
    }
    co_return chosen + skipped;
  }

  std::optional<uint64_t> DrawAmongListed(const Targets& others, Draws& draws) const {
    const auto is_negative = [&](uint64_t i) {
      if (i % kCheckedTargets == 0) base::CheckStopped();
      return !std::binary_search(others.begin(), others.end(), targets_[i]);
    };
    uint64_t left = 0;
    for (uint64_t i = 0; i < targets_.size(); ++i) left += is_negative(i);
    if (left == 0) return std::nullopt;
    uint64_t chosen = draws.Below(left);
    uint64_t i = 0;
    while (!is_negative(i) || chosen-- != 0) ++i;
    return targets_[i];
  }

  Reading<Targets> TargetsOf(uint64_t source) {
    if (!request_.rows_are_sources) co_return co_await TargetsInAllRows(source);
    const store::SlotRange row = co_await rows_.Row(source);
    const ReadRounds::Ranges loaded = co_await rows_.rounds().Load({rows_.IdBytes(row)});
    const std::span<const Id> ids = rows_.template As<Id>(loaded[0]);
    Targets targets(ids.begin(), ids.end());
    std::erase_if(targets, [&](uint64_t id) { return id >= Nodes(); });  // a damaged file
    co_return targets;
  }

  // Where rows are those of targets, all of them are gone through, in order and in long reads.
  Reading<Targets> TargetsInAllRows(uint64_t source) {
    Targets targets;
    std::vector<uint64_t> bounds;
    for (uint64_t first = 0; first < Nodes(); first += kRowsAtOnce) {
      const uint64_t last = std::min(first + kRowsAtOnce, Nodes());
      {
        const ReadRounds::Ranges loaded = co_await rows_.rounds().Load(
            {std::as_bytes(std::span(adjacency_.indptr + first, last - first + 1))});
        const std::span<const uint64_t> copy = rows_.template As<uint64_t>(loaded[0]);
        bounds.assign(copy.begin(), copy.end());
      }
      for (uint64_t target = first; target < last; ++target) {
        const store::SlotRange row{bounds[target - first], bounds[target - first + 1]};
        if (row.begin > row.end || row.end > adjacency_.edges) {
          rows_.rows().ThrowDamagedRow(target, row);
        }
      }
      uint64_t target = first;
      const uint64_t end = bounds.back();
      for (uint64_t begin = bounds.front(); begin < end; begin += kSlotsAtOnce) {
        const store::SlotRange piece{begin, std::min(begin + kSlotsAtOnce, end)};
        const ReadRounds::Ranges loaded = co_await rows_.rounds().Load({rows_.IdBytes(piece)});
        const std::span<const Id> ids = rows_.template As<Id>(loaded[0]);
        for (uint64_t slot = piece.begin; slot < piece.end; ++slot) {
          if (ids[slot - piece.begin] != source) continue;
          while (bounds[target - first + 1] <= slot) ++target;
          targets.push_back(target);
        }
      }
    }
    co_return targets;
  }

  const NegativeRequest& request_;
  const store::Adjacency& adjacency_;
  const StagedNegatives& out_;
  const StagedRows<Id> rows_;
  const Candidates sources_;
  const Candidates targets_;
  const Draws draws_;
  std::vector<Exhausted> exhausted_;
};

}  // namespace

void DrawNegativesStaged(const StagedNegatives& negatives) {
  WithIdType(negatives.rows.adjacency, [&]<class Id>() {
    ReadRounds rounds(*negatives.request.staged);
    Drawer<Id> drawer(negatives, rounds);
    rounds.Run(negatives.targets.size(), ReadRounds::kSide,
               [&](size_t number) { return drawer.Draw(number); });
    rounds.Run(drawer.exhausted(), kExhaustedSide,
               [&](size_t place) { return drawer.DrawExhausted(place); });
  });
}

}  // namespace graphzero::sample
