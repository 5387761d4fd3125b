#include "sample/negatives/negatives.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/errors.h"
#include "base/text.h"
#include "sample/negatives/exhausted_negatives.h"
#include "sample/negatives/negative_context.h"
#include "sample/negatives/negative_pairs.h"
#include "sample/rows/row_sources.h"

namespace graphzero::sample {
namespace {

using base::Number;

// Negatives that a thread draws at a time.
constexpr size_t kGrain = 4096;

// Draws negatives [begin, end) for which nothing is read. In lanes, which PairDrawer needs for its
// reads, they would take 1.3 times as long.
void DrawWithoutReading(const NegativeContext& context, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    Draws draws = context.draws.Child(i);
    const std::optional<uint64_t> given = context.Given(i);
    const uint64_t source = given ? *given : context.sources[draws.Below(context.sources.size(i))];
    context.out.Write(i, source, context.targets[draws.Below(context.targets.size(i))]);
  }
}

void CheckTimes(const NegativeRequest& request, size_t count) {
  if (request.times.empty()) return;
  if (request.times.size() != count) {
    throw std::invalid_argument("times of negatives: found " + Number(request.times.size()) +
                                ", expected " + Number(count) + ", one for each");
  }
  if (request.weights != NegativeWeights::kUniform) {
    throw std::invalid_argument(
        "negatives that exist at a time are drawn uniformly: expected no other weights");
  }
  const auto missing = std::find(request.times.begin(), request.times.end(), kNoTime);
  if (missing == request.times.end()) return;
  throw std::invalid_argument("time of negative " +
                              Number(static_cast<uint64_t>(missing - request.times.begin())) +
                              " is none (NaT), expected one for each");
}

void Check(const Rows& rows, const NegativeRequest& request, size_t count) {
  if (request.name.empty()) CheckOneNodeSet(rows);
  const uint64_t num_sources = request.source_type->count;
  const uint64_t num_targets = request.target_type->count;
  CheckNodeIds(request.sources, num_sources, "source", rows.path());
  CheckNodeIds(request.target_candidates, num_targets, "candidate", rows.path());
  CheckNodeIds(request.source_candidates, num_sources, "candidate for sources", rows.path());
  const bool chosen = !request.target_candidates.empty() || !request.source_candidates.empty();
  if (chosen && request.weights != NegativeWeights::kUniform) {
    throw std::invalid_argument(
        "negatives from candidates are drawn uniformly: expected no other weights");
  }
  CheckTimes(request, count);
  if (count == 0) return;
  if (num_sources == 0 || num_targets == 0) {
    throw std::invalid_argument(rows.path() + " has no nodes" + rows.OfRelation());
  }
  if (request.weights == NegativeWeights::kDegree && rows.adjacency.edges == 0) {
    throw std::invalid_argument(rows.path() + " has no edges" + rows.OfRelation() +
                                ", so no node can be drawn by its degree; draw negatives "
                                "uniformly");
  }
}

// For a message: the link that a negative belongs to.
std::string WhoseNegative(const NegativeRequest& request, size_t negative) {
  const uint64_t links = request.links;
  if (links == 0) return "negative " + Number(negative);
  if (links == 1) return "the link";
  const uint64_t each = std::max<uint64_t>(request.times.size() / links, 1);
  return "link " + Number(request.sources.empty() ? negative % links : negative / each);
}

// Throws InputError for a negative that has nothing to be drawn from.
void CheckExisting(const Rows& rows, base::ThreadLease& lease, const NegativeRequest& request,
                   const Candidates& candidates, const char* what) {
  for (size_t i = 0; i < request.times.size(); ++i) {
    if (candidates.size(i) > 0) continue;
    throw InputError(rows.path() + rows.OfRelation() + ": no " + what + " exists at time " +
                     std::to_string(request.times[i]) + ", that of " + WhoseNegative(request, i) +
                     ": there is no negative for it, because the first " + what + " exists from " +
                     std::to_string(candidates.Earliest(rows, lease)) +
                     " on; leave earlier links out");
  }
}

}  // namespace

NegativeRequest NegativeRequest::Of(const store::TopologyReader& graph, size_t relation,
                                    bool symmetric) {
  const store::Relation& found = graph.relations().at(relation);
  const bool both_ways = found.symmetric || (symmetric && found.source == found.target);
  NegativeRequest request;
  request.adjacency = &found.any();
  request.rows_are_sources = found.out != nullptr;
  request.other = found.out != nullptr ? found.in : nullptr;
  // The reverse of an edge is in the rows of the same adjacency.
  if (request.other == nullptr && both_ways) request.other = request.adjacency;
  request.source_type = &graph.types()[found.source];
  request.target_type = &graph.types()[found.target];
  request.relation = relation;
  request.name = graph.Title(static_cast<uint32_t>(relation));
  return request;
}

void DrawNegatives(const store::TopologyReader& graph, const NegativeRequest& request,
                   std::span<int64_t> sources, std::span<int64_t> targets) {
  const Rows rows = Rows::Of(graph, *request.adjacency, request.disk, request.name);
  std::optional<Rows> other;
  if (request.other != nullptr &&
      request.other->neighbours.width == request.adjacency->neighbours.width) {
    other.emplace(Rows::Of(graph, *request.other, request.disk, request.name));
  }
  Check(rows, request, targets.size());
  ReadRows(rows, [&] {
    base::ThreadLease lease(request.threads);
    const Candidates from(rows, lease, *request.source_type, request.source_candidates,
                          request.times);
    const Candidates to(rows, lease, *request.target_type, request.target_candidates,
                        request.times);
    if (request.sources.empty()) CheckExisting(rows, lease, request, from, "source");
    CheckExisting(rows, lease, request, to, "target");
    const NegativeContext context{request, rows, other ? &*other : nullptr, {sources, targets},
                                  from,    to};
    const bool reads = from.must_be_read() || to.must_be_read();
    if (!request.reject && request.weights == NegativeWeights::kUniform && !reads) {
      lease.For(targets.size(), kGrain,
                [&](int, size_t begin, size_t end) { DrawWithoutReading(context, begin, end); });
      return;
    }
    std::mutex mutex;
    std::vector<Exhausted> exhausted;
    WithRowSource(rows, lease, targets.size(), kGrain,
                  [&]<class Source>(Source& source, size_t begin, size_t end) {
                    const auto more = PairDrawer<Source>(context, source).Run(begin, end);
                    const std::lock_guard lock(mutex);
                    exhausted.insert(exhausted.end(), more.begin(), more.end());
                  });
    ExhaustedDrawer(context, lease).Run(std::move(exhausted));
  });
}

}  // namespace graphzero::sample
