#include "sample/neighbour_sample.h"

#include <algorithm>
#include <span>

#include "base/threads.h"
#include "sample/row_batches.h"

namespace graphzero::sample {
namespace {

constexpr size_t kGrain = 8192;
constexpr size_t kCheckedNodes = 64;

}  // namespace

void NeighbourSample::CopyEdges(const SampleDestination& to, size_t first_node,
                                size_t last_node) const {
  const uint64_t* const first_edge = work_->first_edge.data();
  const size_t begin = first_edge[first_node];
  const size_t end = first_edge[last_node];
  int64_t* const expanded = expand_ == Expand::kTargets ? to.targets : to.sources;
  int64_t* const found = expand_ == Expand::kTargets ? to.sources : to.targets;
  if (found != nullptr) {
    std::copy(work_->neighbours.data() + begin, work_->neighbours.data() + end, found + begin);
  }
  for (size_t i = first_node; expanded != nullptr && i < last_node; ++i) {
    if (i % kCheckedNodes == 0) base::CheckStopped();
    std::fill(expanded + first_edge[i], expanded + first_edge[i + 1], static_cast<int64_t>(i));
  }
}

// What the file stores with the edges.
void NeighbourSample::CopyStored(const SampleDestination& to, base::ThreadLease& lease) const {
  const Rows rows{adjacency_, *file_, sorted_, disk_.get()};
  const std::span<const uint64_t> slots(work_->slots.data(), num_edges_);
  ReadRows(rows, [&] {
    if (to.edge_weight != nullptr) {
      ReadSlots(rows, lease, adjacency_.weights, slots, to.edge_weight);
    }
    if (to.e_id == nullptr) return;
    WithType(adjacency_.edge_ids, [&]<class Id>(const Id* edge_ids) {
      ReadSlots(rows, lease, edge_ids, slots, to.e_id);
    });
  });
}

void NeighbourSample::CopyTo(const SampleDestination& to, int threads) const {
  if (to.e_id != nullptr && !has_edge_ids()) throw std::logic_error("no edge ids to copy");
  if (to.edge_weight != nullptr && !has_weights()) throw std::logic_error("no weights to copy");
  if (to.batch != nullptr && !disjoint_) throw std::logic_error("not a disjoint sample");
  base::ThreadLease lease(threads);
  if (to.n_id != nullptr) {
    lease.For(num_nodes_, 4 * kGrain, [&](int, size_t begin, size_t end) {
      std::copy(work_->nodes.data() + begin, work_->nodes.data() + end, to.n_id + begin);
    });
  }
  if (to.batch != nullptr) {
    std::copy(work_->tree.data(), work_->tree.data() + num_nodes_, to.batch);
  }
  lease.For(expanded_, kGrain, [&](int, size_t begin, size_t end) { CopyEdges(to, begin, end); });
  if (to.e_id != nullptr || to.edge_weight != nullptr) CopyStored(to, lease);
}

}  // namespace graphzero::sample
