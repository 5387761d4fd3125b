// Multi-hop neighbour sampling. The contract is in sample/README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sample/neighbours/neighbour_sample.h"
#include "sample/pick/labor_numbers.h"
#include "sample/pick/position_set.h"
#include "sample/times/seed_times.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

// A sample of this many edges takes about 5 GB of working memory and results.
inline constexpr uint64_t kDefaultMaxEdges = uint64_t{1} << 28;

// Which edges a sample has.
enum class Subgraph {
  kDrawn,          // the drawn edges, hop by hop
  kBidirectional,  // the drawn edges and the reverse of each
  kInduced,        // all edges between the nodes that were found
};

// The nodes of one type.
struct TypeRequest {
  uint64_t count = 0;  // nodes of this type in the graph
  std::span<const int64_t> seeds;
  const int64_t* times = nullptr;  // of all its nodes, in the mapping; or null
  std::string name = {};           // for messages; empty in a graph without types
};

// Edges that some trees of a disjoint sample must not have: those between the two ends of a link,
// in the trees of both ends. All spans have the same length, but edge_ids may be empty.
struct TreeExclusions {
  std::span<const int64_t> sources;
  std::span<const int64_t> targets;
  std::span<const int64_t> trees;     // each is the number of the seed at the root
  std::span<const int64_t> edge_ids;  // only these edges; if empty, all between the pairs
};

// Makes a sample temporal: it has no slot that is later than the time of its seed.
struct TemporalRequest {
  // One time for each seed, in the order of the types. If empty, each seed's own time is used.
  std::span<const int64_t> times;
  TimeRule rule;
  bool last = false;  // the latest eligible edges instead of random ones
};

// What is drawn along one relation.
struct RelationRequest {
  // Belongs to the reader that is sampled. Its rows are those of the expanded nodes. Null if the
  // file does not store it; the fanout must then be all zeros.
  const store::Adjacency* adjacency = nullptr;
  uint32_t expanded_type = 0;   // type of the nodes that draw edges
  uint32_t found_type = 0;      // type of the neighbours
  std::vector<int64_t> fanout;  // one per hop: edges per node, -1 all, 0 none
  // Edges between these pairs are not in the sample; as many sources as targets.
  std::span<const int64_t> exclude_sources;
  std::span<const int64_t> exclude_targets;
  TreeExclusions exclude_in_trees = {};
  // The relation that has the same edges in reverse, if there is one; may be this relation.
  // Reverses of drawn edges are added to it. They keep ids and weights if it is this relation or a
  // view of the same edges.
  std::optional<uint32_t> reverse = std::nullopt;
  bool reverse_is_view = false;
  std::string name = {};  // for messages; empty in a graph without types
};

// Types and relations by their number in the file; a graph without types has one of each.
struct SampleRequest {
  std::vector<TypeRequest> types;
  std::vector<RelationRequest> relations;  // all with the same number of hops
  Expand expand = Expand::kTargets;
  bool replace = false;
  bool weighted = false;  // relations without weights draw uniformly; not all may be without
  bool disjoint = false;  // a tree for each seed that shares no node with the others
  std::optional<TemporalRequest> temporal;  // needs `disjoint`
  // LABOR in place of independent draws. Not with `replace` or `temporal->last`. With weights it
  // needs Subgraph::kDrawn, because only drawn edges have a scale.
  std::optional<LaborRequest> labor;
  // Edges of exclude_in_trees that existed before the time of the seed stay in the sample. Needs
  // `temporal`.
  bool spare_history = false;
  Subgraph subgraph = Subgraph::kDrawn;
  uint64_t seed = 0;
  uint64_t max_edges = kDefaultMaxEdges;  // of all relations together
  int threads = 0;                        // at most; 0 is the whole budget of threads.h
  // For a topology that does not fit into memory; null reads through the mapping.
  std::shared_ptr<const DiskTopology> disk;
  // Tests force each kind of set by this. The sample does not depend on it.
  std::optional<SetKind> forced_set;

  // Types and relations of a graph, without seeds, fanouts and the like.
  static SampleRequest Of(const store::TopologyReader& graph, Expand expand);
  // In each relation within one type whose needed adjacency is not stored, uses the other
  // adjacency. The caller asserts by this that the graph has the reverse of every edge, which the
  // file does not say.
  void AssumeSymmetric(const store::TopologyReader& graph);

  size_t NumHops() const { return relations.empty() ? 0 : relations.front().fanout.size(); }
  uint64_t NumSeeds() const {
    uint64_t count = 0;
    for (const TypeRequest& type : types) count += type.seeds.size();
    return count;
  }
};

// Throws std::out_of_range for a seed outside the graph, std::invalid_argument for a wrong
// argument, InputError for a request that would draw more than max_edges, FormatError for a damaged
// file.
NeighbourSample SampleNeighbours(const store::TopologyReader& graph, const SampleRequest& request);

}  // namespace graphzero::sample
