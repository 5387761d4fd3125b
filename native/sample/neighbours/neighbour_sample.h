// The result of neighbour sampling: drawn into working memory first, copied to the caller's arrays
// afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/threads.h"
#include "sample/neighbours/workspace.h"
#include "sample/rows/disk_topology.h"
#include "sample/rows/rows.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

// Which end of an edge an expanded node is. In a symmetric graph one adjacency serves both.
enum class Expand { kTargets, kSources };

// Where a sample goes. Sizes are known once it is drawn, so the caller may place the arrays
// anywhere. Arrays that are null are not filled.
struct NodeDestination {
  int64_t* n_id = nullptr;   // num_nodes() ids
  int64_t* batch = nullptr;  // num_nodes(); needs a disjoint sample
};
struct EdgeDestination {
  int64_t* sources = nullptr;    // num_edges() local ids
  int64_t* targets = nullptr;    // num_edges() local ids
  int64_t* e_id = nullptr;       // num_edges(); needs a file with edge ids
  float* edge_weight = nullptr;  // num_edges(); needs a file with weights
  float* edge_scale = nullptr;   // num_edges(); needs has_scales()
};

// Marks a slot in RelationEdges that belongs to the relation with the reverse edges.
inline constexpr uint64_t kReversed = uint64_t{1} << 63;

// A drawn sample in working memory, which returns to the pool when this object is destroyed.
// Movable; keeps the mapping alive. Const calls are thread-safe. Types and relations are those of
// the request, by number; a graph without types has one of each, with number 0.
class NeighbourSample {
 public:
  size_t num_types() const { return types_.size(); }
  size_t num_relations() const { return relations_.size(); }
  bool disjoint() const { return disjoint_; }
  // Whether nothing in it is later than the time of its seed.
  bool temporal() const { return temporal_; }
  // Whether edges have scales: those of a LABOR sample by weight.
  bool has_scales() const { return has_scales_; }
  // Of a temporal sample, the time of each seed, of all types in order.
  std::span<const int64_t> seed_times() const { return seed_times_; }

  // Of one type. Throws std::out_of_range for a type that the graph does not have.
  uint64_t batch_size(size_t type = 0) const { return types_.at(type).hop_nodes.front(); }
  uint64_t num_nodes(size_t type = 0) const { return types_.at(type).num_nodes; }
  // How many seeds there are, then how many new nodes each hop has found.
  const std::vector<uint64_t>& num_sampled_nodes(size_t type = 0) const {
    return types_.at(type).hop_nodes;
  }
  // The ids of all nodes, valid until the sample is destroyed. Rows are gathered by these where
  // others may have changed what CopyNodes() wrote.
  std::span<const uint64_t> nodes(size_t type = 0) const {
    return {work_->types.at(type).nodes.data(), num_nodes(type)};
  }

  // Of one relation. Throws std::out_of_range for a relation that the graph does not have.
  uint64_t num_edges(size_t relation = 0) const { return relations_.at(relation).num_edges; }
  bool has_edge_ids(size_t relation = 0) const { return relations_.at(relation).has_edge_ids(); }
  bool has_weights(size_t relation = 0) const { return relations_.at(relation).has_weights(); }
  // How many edges each hop has drawn; empty if the edges are not in the order of hops (Subgraph).
  const std::vector<uint64_t>& num_sampled_edges(size_t relation = 0) const {
    return relations_.at(relation).hop_edges;
  }

  // Fill every array that is not null. `threads` as in SampleRequest.
  void CopyNodes(size_t type, const NodeDestination& destination, int threads) const;
  void CopyEdges(size_t relation, const EdgeDestination& destination, int threads) const;

 private:
  friend class NeighbourSampler;
  friend class SubgraphBuilder;

  struct Type {
    std::vector<uint64_t> hop_nodes;
    uint64_t num_nodes = 0;
  };
  struct Relation {
    store::Adjacency adjacency;
    // The adjacency that slots with the mark kReversed belong to, if there are any.
    const store::Adjacency* reverse = nullptr;
    bool keeps_slots = false;  // the workspace has those of its edges
    std::vector<uint64_t> hop_edges;
    uint64_t num_edges = 0;
    uint64_t expanded = 0;  // only the first `expanded` nodes have edges

    bool has_edge_ids() const { return adjacency.edge_ids.present(); }
    bool has_weights() const { return adjacency.weights != nullptr; }
  };

  NeighbourSample() = default;
  void CopyEnds(size_t relation, const EdgeDestination& destination, size_t first_node,
                size_t last_node) const;
  void CopyStored(size_t relation, const EdgeDestination& destination,
                  base::ThreadLease& lease) const;
  // Copies ids and weights of the edges in these slots of an adjacency.
  void CopySlots(const store::Adjacency& adjacency, std::span<const uint64_t> slots,
                 const EdgeDestination& destination, base::ThreadLease& lease) const;

  std::shared_ptr<const store::MappedFile> file_;
  std::shared_ptr<const DiskTopology> disk_;  // or null
  Expand expand_ = Expand::kTargets;
  WorkspacePointer work_;
  std::vector<Type> types_;
  std::vector<Relation> relations_;
  base::WorkVector<int64_t> seed_times_;
  bool disjoint_ = false;
  bool temporal_ = false;
  bool has_scales_ = false;
};

}  // namespace graphzero::sample
