// Multi-hop neighbour sampling. The contract is in README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "sample/neighbour_sample.h"
#include "sample/position_set.h"
#include "store/topology_reader.h"

namespace graphzero::sample {

// About 5 GB of working memory and results.
inline constexpr uint64_t kDefaultMaxEdges = uint64_t{1} << 28;

// Which edges a sample has.
enum class Subgraph {
  kDrawn,          // those that were drawn, hop by hop
  kBidirectional,  // those, and the reverse of each
  kInduced,        // all edges between the nodes that were found
};

struct SampleRequest {
  const store::Adjacency* adjacency = nullptr;  // of the reader that is sampled
  Expand expand = Expand::kTargets;
  std::span<const int64_t> seeds;
  std::span<const int64_t> fanout;  // one per hop: edges per node, -1 all, 0 none
  bool replace = false;
  bool weighted = false;
  bool disjoint = false;  // a tree for each seed that shares no node with the others
  Subgraph subgraph = Subgraph::kDrawn;
  // Edges between these pairs are not in the sample; as many sources as targets.
  std::span<const int64_t> exclude_sources;
  std::span<const int64_t> exclude_targets;
  uint64_t seed = 0;
  uint64_t max_edges = kDefaultMaxEdges;
  int threads = 0;  // at most; 0 is the whole budget of threads.h
  // For a topology that does not fit into memory; null reads through the mapping.
  std::shared_ptr<const DiskTopology> disk;
  // Tests force each way of keeping a set; the sample is the same.
  std::optional<SetKind> forced_set;
};

// Throws std::out_of_range for a seed outside the graph, std::invalid_argument for a wrong
// argument, InputError for a request that would draw more than max_edges, FormatError for a damaged
// file.
NeighbourSample SampleNeighbours(const store::TopologyReader& graph, const SampleRequest& request);

}  // namespace graphzero::sample
