// Pairs of nodes for a model to tell from edges. The contract is in README.md.
#pragma once

#include <cstdint>
#include <span>

#include "sample/disk_topology.h"
#include "store/topology_reader.h"

namespace graphzero::sample {

// How likely a node is to be an end of a negative.
enum class NegativeWeights {
  kUniform,
  kDegree,  // as a source in proportion to its out-degree, as a target to its in-degree
};

struct NegativeRequest {
  const store::Adjacency* adjacency = nullptr;  // of the reader
  bool rows_are_sources = true;                 // of that adjacency: out-edges
  // A negative for each of these, from this source; or empty: sources are drawn too.
  std::span<const int64_t> sources;
  // Targets, and sources that are drawn, come from these lists, where a node that occurs twice is
  // twice as likely; empty: from all nodes. Such draws are uniform.
  std::span<const int64_t> target_candidates;
  std::span<const int64_t> source_candidates;
  NegativeWeights weights = NegativeWeights::kUniform;
  bool reject = false;  // no edge of the graph, and no node with itself
  uint64_t seed = 0;
  int threads = 0;
  // For a topology that does not fit into memory; null reads through the mapping.
  const DiskTopology* disk = nullptr;
};

// Fills `sources` and `targets`, of one length, which is that of request.sources if those are
// given. Throws std::out_of_range for a source or candidate outside the graph,
// std::invalid_argument for a graph that has no nodes to draw and for candidates with weights,
// InputError if there is no negative, FormatError for a damaged file.
void DrawNegatives(const store::TopologyReader& graph, const NegativeRequest& request,
                   std::span<int64_t> sources, std::span<int64_t> targets);

}  // namespace graphzero::sample
