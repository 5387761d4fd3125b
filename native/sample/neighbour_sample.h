// The result of neighbour sampling: drawn first, placed afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/threads.h"
#include "sample/disk_topology.h"
#include "sample/rows.h"
#include "sample/workspace.h"
#include "store/topology_reader.h"

namespace graphzero::sample {

// Which end of an edge an expanded node is. In a symmetric graph one adjacency serves both.
enum class Expand { kTargets, kSources };

// Where a sample goes. Sizes are known once it is drawn, so the caller may place the arrays
// anywhere. What is null is left out.
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

// Marks a slot of a RelationEdges that is one of the relation with the reverse edges.
inline constexpr uint64_t kReversed = uint64_t{1} << 63;

// A drawn sample in working memory, which goes back to the pool with this object. Movable; keeps
// the mapping alive. Const calls are thread-safe. Types and relations are those of the request, by
// number; a graph without types has one of each, with number 0.
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
  // New nodes of the seeds and of each hop.
  const std::vector<uint64_t>& num_sampled_nodes(size_t type = 0) const {
    return types_.at(type).hop_nodes;
  }
  // The ids of all nodes, which lie here until the sample is destroyed: to gather by, where what
  // CopyNodes() wrote may have been changed by others since.
  std::span<const uint64_t> nodes(size_t type = 0) const {
    return {work_->types.at(type).nodes.data(), num_nodes(type)};
  }

  // Of one relation. Throws std::out_of_range for a relation that the graph does not have.
  uint64_t num_edges(size_t relation = 0) const { return relations_.at(relation).num_edges; }
  bool has_edge_ids(size_t relation = 0) const { return relations_.at(relation).has_edge_ids(); }
  bool has_weights(size_t relation = 0) const { return relations_.at(relation).has_weights(); }
  // Edges of each hop, none of them if the edges are not in the order of hops (Subgraph).
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
    // Of the relation that the slots with the mark kReversed are of, if there are any.
    const store::Adjacency* reverse = nullptr;
    bool keeps_slots = false;  // those of its edges are in the workspace
    std::vector<uint64_t> hop_edges;
    uint64_t num_edges = 0;
    uint64_t expanded = 0;  // nodes that have edges: the first ones

    bool has_edge_ids() const { return adjacency.edge_ids.present(); }
    bool has_weights() const { return adjacency.weights != nullptr; }
  };

  NeighbourSample() = default;
  void CopyEnds(size_t relation, const EdgeDestination& destination, size_t first_node,
                size_t last_node) const;
  void CopyStored(size_t relation, const EdgeDestination& destination,
                  base::ThreadLease& lease) const;
  // Copies for the edges with these slots of an adjacency.
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
