#include "sample/negatives.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/errors.h"
#include "base/threads.h"
#include "sample/negative_rules.h"
#include "sample/node2vec.h"
#include "sample/random.h"
#include "sample/rows.h"
#include "store/guarded_read.h"

namespace graphzero::sample {
namespace {

constexpr size_t kGrain = 512;
// Each may read through a row of a GraphZero 0.2 file, which can be long.
constexpr uint64_t kCheckedTargets = 64;

class NegativeDrawer {
 public:
  NegativeDrawer(const store::TopologyReader& graph, const NegativeRequest& request)
      : request_(request),
        rows_{*request.adjacency, graph.file()->path()},
        sorted_(graph.sorted()),
        sources_(request.source_candidates, Nodes()),
        targets_(request.target_candidates, Nodes()),
        draws_(RequestDraws(request.seed, Domain::kNegatives)) {}

  void Draw(size_t number, int64_t* source, int64_t* target) const {
    Draws draws = draws_.Child(number);
    std::optional<uint64_t> given;
    if (!request_.sources.empty()) given = static_cast<uint64_t>(request_.sources[number]);
    for (int attempt = 0; attempt < kMaxRejected; ++attempt) {
      const uint64_t from =
          given ? *given : DrawEnd(draws, sources_, /*row=*/request_.rows_are_sources);
      const uint64_t to = DrawEnd(draws, targets_, /*row=*/!request_.rows_are_sources);
      if (request_.reject && !IsNegative(from, to)) continue;
      *source = static_cast<int64_t>(from);
      *target = static_cast<int64_t>(to);
      return;
    }
    const uint64_t first = given ? 0 : draws.Below(sources_.size());
    for (uint64_t step = 0; step < (given ? 1 : sources_.size()); ++step) {
      const uint64_t from = given ? *given : sources_[(first + step) % sources_.size()];
      const std::optional<uint64_t> to = DrawAmongAll(from, draws);
      if (!to) continue;
      *source = static_cast<int64_t>(from);
      *target = static_cast<int64_t>(*to);
      return;
    }
    ThrowNoNegative(rows_, request_, given);
  }

 private:
  uint64_t Nodes() const { return rows_.adjacency.rows; }

  // One of the candidates; or a node in proportion to the number of edges that it is that end of:
  // the end of a random edge.
  uint64_t DrawEnd(Draws& draws, const Candidates& candidates, bool row) const {
    if (request_.weights == NegativeWeights::kUniform) {
      return candidates[draws.Below(candidates.size())];
    }
    const uint64_t slot = draws.Below(rows_.adjacency.edges);
    if (row) return RowOf(slot);
    const uint64_t id = rows_.adjacency.neighbours[slot];
    if (id >= rows_.adjacency.neighbour_bound) rows_.ThrowDamagedNeighbour(RowOf(slot), slot, id);
    return id;
  }

  // The row that a slot lies in; some row if the file is damaged.
  uint64_t RowOf(uint64_t slot) const {
    const uint64_t* const begin = rows_.adjacency.indptr;
    const uint64_t* const after = std::upper_bound(begin + 1, begin + Nodes(), slot);
    return static_cast<uint64_t>(after - begin) - 1;
  }

  bool IsNegative(uint64_t source, uint64_t target) const {
    if (source == target) return false;
    const uint64_t node = request_.rows_are_sources ? source : target;
    const uint64_t neighbour = request_.rows_are_sources ? target : source;
    const store::SlotRange row = rows_.Row(node);
    return WithIdType(rows_.adjacency, [&]<class Id>() {
      return !RowContains(rows_.Ids<Id>(row), sorted_, neighbour);
    });
  }

  // Uniform among all targets that make a negative with this source; nothing if there are none.
  std::optional<uint64_t> DrawAmongAll(uint64_t source, Draws& draws) const {
    uint64_t left = 0;
    for (uint64_t i = 0; i < targets_.size(); ++i) {
      if (i % kCheckedTargets == 0) base::CheckPoint();
      left += IsNegative(source, targets_[i]);
    }
    if (left == 0) return std::nullopt;
    uint64_t chosen = draws.Below(left);
    for (uint64_t i = 0; i < targets_.size(); ++i) {
      if (i % kCheckedTargets == 0) base::CheckPoint();
      if (IsNegative(source, targets_[i]) && chosen-- == 0) return targets_[i];
    }
    rows_.ThrowChangedRow(source);
  }

  const NegativeRequest& request_;
  const Rows rows_;
  const bool sorted_;
  const Candidates sources_;
  const Candidates targets_;
  const Draws draws_;
};

void Check(const Rows& rows, const NegativeRequest& request, size_t count) {
  CheckOneNodeSet(rows);
  CheckNodeIds(rows, request.sources, "source");
  CheckNodeIds(rows, request.target_candidates, "candidate");
  CheckNodeIds(rows, request.source_candidates, "candidate for sources");
  const bool chosen = !request.target_candidates.empty() || !request.source_candidates.empty();
  if (chosen && request.weights != NegativeWeights::kUniform) {
    throw std::invalid_argument(
        "negatives from candidates are drawn uniformly: expected no other weights");
  }
  if (count == 0) return;
  if (rows.adjacency.rows == 0) throw std::invalid_argument(rows.path + " has no nodes");
  if (request.weights == NegativeWeights::kDegree && rows.adjacency.edges == 0) {
    throw std::invalid_argument(rows.path +
                                " has no edges, so no node can be drawn by its degree; draw "
                                "negatives uniformly");
  }
}

}  // namespace

void ThrowNoNegative(const Rows& rows, const NegativeRequest& request,
                     const std::optional<uint64_t>& source) {
  const bool listed = !request.target_candidates.empty() || !request.source_candidates.empty();
  const std::string whom = listed ? "all candidates" : "all other nodes";
  const std::string pairs = listed ? "any two candidates" : "any two nodes";
  throw InputError(source ? "node " + std::to_string(*source) + " of " + rows.path +
                                " has edges to " + whom +
                                ": there is no negative for it; "
                                "draw negatives without rejection"
                          : rows.path + " has an edge between " + pairs +
                                ": there are no "
                                "negatives; draw them without rejection");
}

void DrawNegatives(const store::TopologyReader& graph, const NegativeRequest& request,
                   std::span<int64_t> sources, std::span<int64_t> targets) {
  const Rows rows{*request.adjacency, graph.file()->path()};
  Check(rows, request, targets.size());
  if (request.staged != nullptr) {
    const base::ThreadLease lease(request.threads);
    DrawNegativesStaged({request, rows, graph.sorted(), sources, targets});
    return;
  }
  store::ReadGuarded(*graph.file(), [&] {
    const NegativeDrawer drawer(graph, request);
    base::ThreadLease lease(request.threads);
    lease.For(targets.size(), kGrain, [&](int, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) drawer.Draw(i, &sources[i], &targets[i]);
    });
  });
}

}  // namespace graphzero::sample
