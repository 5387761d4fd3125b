#include "sample/neighbours/neighbour_sample.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "base/threads.h"
#include "sample/rows/row_batches.h"

namespace graphzero::sample {
namespace {

constexpr size_t kGrain = 8192;
constexpr size_t kCheckedNodes = 64;

}  // namespace

void NeighbourSample::CopyNodes(size_t type, const NodeDestination& to, int threads) const {
  if (to.batch != nullptr && !disjoint_) throw std::logic_error("not a disjoint sample");
  const size_t count = num_nodes(type);
  const TypeNodes& found = work_->types[type];
  base::ThreadLease lease(threads);
  lease.For(count, 4 * kGrain, [&](int, size_t begin, size_t end) {
    if (to.n_id != nullptr) {
      std::copy(found.nodes.data() + begin, found.nodes.data() + end, to.n_id + begin);
    }
    if (to.batch != nullptr) {
      std::copy(found.tree.data() + begin, found.tree.data() + end, to.batch + begin);
    }
  });
}

void NeighbourSample::CopyEnds(size_t relation, const EdgeDestination& to, size_t first_node,
                               size_t last_node) const {
  const RelationEdges& edges = work_->relations[relation];
  const uint64_t* const first_edge = edges.first_edge.data();
  const size_t begin = first_edge[first_node];
  const size_t end = first_edge[last_node];
  int64_t* const expanded = expand_ == Expand::kTargets ? to.targets : to.sources;
  int64_t* const found = expand_ == Expand::kTargets ? to.sources : to.targets;
  if (found != nullptr) {
    std::copy(edges.neighbours.data() + begin, edges.neighbours.data() + end, found + begin);
  }
  for (size_t i = first_node; expanded != nullptr && i < last_node; ++i) {
    if (i % kCheckedNodes == 0) base::CheckStopped();
    std::fill(expanded + first_edge[i], expanded + first_edge[i + 1], static_cast<int64_t>(i));
  }
}

void NeighbourSample::CopySlots(const store::Adjacency& adjacency, std::span<const uint64_t> slots,
                                const EdgeDestination& to, base::ThreadLease& lease) const {
  const Rows rows{adjacency, *file_, adjacency.sorted, disk_.get()};
  ReadRows(rows, [&] {
    if (to.edge_weight != nullptr) {
      ReadSlots(rows, lease, adjacency.weights, slots, to.edge_weight);
    }
    if (to.e_id == nullptr) return;
    WithType(adjacency.edge_ids, [&]<class Id>(const Id* edge_ids) {
      ReadSlots(rows, lease, edge_ids, slots, to.e_id);
    });
  });
}

// Copies edge ids and weights, which the file stores.
void NeighbourSample::CopyStored(size_t relation, const EdgeDestination& to,
                                 base::ThreadLease& lease) const {
  const Relation& drawn = relations_[relation];
  const std::span<const uint64_t> slots(work_->relations[relation].slots.data(), drawn.num_edges);
  if (drawn.reverse == nullptr) {
    CopySlots(drawn.adjacency, slots, to, lease);
    return;
  }
  for (const bool reversed : {false, true}) {
    base::WorkVector<uint64_t> chosen;
    base::WorkVector<size_t> places;
    base::ForEach(slots.size(), [&](size_t e) {
      if (((slots[e] & kReversed) != 0) != reversed) return;
      chosen.push_back(slots[e] & ~kReversed);
      places.push_back(e);
    });
    base::WorkVector<float> weights(to.edge_weight != nullptr ? chosen.size() : 0);
    base::WorkVector<int64_t> ids(to.e_id != nullptr ? chosen.size() : 0);
    CopySlots(reversed ? *drawn.reverse : drawn.adjacency, chosen,
              {.e_id = to.e_id != nullptr ? ids.data() : nullptr,
               .edge_weight = to.edge_weight != nullptr ? weights.data() : nullptr},
              lease);
    base::ForEach(places.size(), [&](size_t i) {
      if (to.edge_weight != nullptr) to.edge_weight[places[i]] = weights[i];
      if (to.e_id != nullptr) to.e_id[places[i]] = ids[i];
    });
  }
}

void NeighbourSample::CopyEdges(size_t relation, const EdgeDestination& to, int threads) const {
  const Relation& drawn = relations_.at(relation);
  if (to.e_id != nullptr && !drawn.has_edge_ids()) throw std::logic_error("no edge ids to copy");
  if (to.edge_weight != nullptr && !drawn.has_weights()) {
    throw std::logic_error("no weights to copy");
  }
  if (to.edge_scale != nullptr && !has_scales_) throw std::logic_error("no scales to copy");
  if (drawn.num_edges == 0) return;
  base::ThreadLease lease(threads);
  lease.For(drawn.expanded, kGrain,
            [&](int, size_t begin, size_t end) { CopyEnds(relation, to, begin, end); });
  if (to.edge_scale != nullptr) {
    std::copy_n(work_->relations[relation].scales.data(), drawn.num_edges, to.edge_scale);
  }
  if (to.e_id != nullptr || to.edge_weight != nullptr) CopyStored(relation, to, lease);
}

}  // namespace graphzero::sample
