// The result of neighbour sampling: drawn first, placed afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/threads.h"
#include "sample/disk_topology.h"
#include "sample/workspace.h"
#include "store/topology_reader.h"

namespace graphzero::sample {

// Which end of an edge an expanded node is. In a symmetric graph one adjacency serves both.
enum class Expand { kTargets, kSources };

// Where a sample goes. Sizes are known once it is drawn, so the caller may place the arrays
// anywhere.
struct SampleDestination {
  int64_t* n_id = nullptr;       // num_nodes() ids
  int64_t* sources = nullptr;    // num_edges() local ids
  int64_t* targets = nullptr;    // num_edges() local ids
  int64_t* e_id = nullptr;       // num_edges(), or null; needs a file with edge ids
  float* edge_weight = nullptr;  // num_edges(), or null; needs a file with weights
  int64_t* batch = nullptr;      // num_nodes(), or null; needs a disjoint sample
};

// A drawn sample in working memory, which goes back to the pool with this object. Movable; keeps
// the mapping alive. Const calls are thread-safe.
class NeighbourSample {
 public:
  uint64_t batch_size() const { return hop_nodes_.front(); }
  uint64_t num_nodes() const { return num_nodes_; }
  uint64_t num_edges() const { return num_edges_; }
  bool has_edge_ids() const { return adjacency_.edge_ids.present(); }
  bool has_weights() const { return adjacency_.weights != nullptr; }
  bool disjoint() const { return disjoint_; }

  // New nodes of the seeds and of each hop; edges of each hop, none of them if the edges are not
  // in the order of hops (Subgraph).
  const std::vector<uint64_t>& num_sampled_nodes() const { return hop_nodes_; }
  const std::vector<uint64_t>& num_sampled_edges() const { return hop_edges_; }

  // The ids of all nodes, which lie here until the sample is destroyed: to gather by, where what
  // CopyTo() wrote may have been changed by others since.
  std::span<const uint64_t> nodes() const { return {work_->nodes.data(), num_nodes_}; }

  // Fills every array that is not null. `threads` as in SampleRequest.
  void CopyTo(const SampleDestination& destination, int threads) const;

 private:
  friend class NeighbourSampler;
  friend class SubgraphBuilder;
  NeighbourSample() = default;
  void CopyEdges(const SampleDestination& destination, size_t first_node, size_t last_node) const;
  void CopyStored(const SampleDestination& destination, base::ThreadLease& lease) const;

  std::shared_ptr<const store::MappedFile> file_;
  std::shared_ptr<const DiskTopology> disk_;  // or null
  store::Adjacency adjacency_;
  bool sorted_ = false;  // the rows of the file
  Expand expand_ = Expand::kTargets;
  WorkspacePointer work_;
  std::vector<uint64_t> hop_nodes_;
  std::vector<uint64_t> hop_edges_;
  uint64_t num_nodes_ = 0;
  uint64_t num_edges_ = 0;
  uint64_t expanded_ = 0;  // nodes that have edges: the first ones
  bool disjoint_ = false;
};

}  // namespace graphzero::sample
