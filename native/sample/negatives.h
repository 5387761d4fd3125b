// Pairs of nodes for a model to tell from edges. The contract is in README.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

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
  // The same edges in the rows of their other ends, or null.
  const store::Adjacency* other = nullptr;
  // Types of the ends, of the reader; the same if a node with itself is no negative.
  const store::NodeType* source_type = nullptr;
  const store::NodeType* target_type = nullptr;
  uint64_t relation = 0;  // its number, in the keys of draws
  std::string name = {};  // of the relation, for messages; empty in a graph without types
  // A negative for each of these, from this source; or empty: sources are drawn too.
  std::span<const int64_t> sources = {};
  // Targets, and sources that are drawn, come from these lists, where a node that occurs twice is
  // twice as likely; empty: from all nodes. Such draws are uniform.
  std::span<const int64_t> target_candidates = {};
  std::span<const int64_t> source_candidates = {};
  // One for each negative: its ends exist at that time, and edges count only if they do. Empty: all
  // nodes and edges.
  std::span<const int64_t> times = {};
  NegativeWeights weights = NegativeWeights::kUniform;
  bool reject = false;  // no edge of the graph, and no node with itself
  uint64_t seed = 0;
  int threads = 0;
  // For a topology that does not fit into memory; null reads through the mapping.
  const DiskTopology* disk = nullptr;

  // Of a relation, without what is to be drawn. `symmetric` says that a relation within one type
  // has the reverse of every edge too, where the file does not.
  static NegativeRequest Of(const store::TopologyReader& graph, size_t relation, bool symmetric);
};

// Fills `sources` and `targets`, of one length, which is that of request.sources if those are
// given. Throws std::out_of_range for a source or candidate outside the graph,
// std::invalid_argument for a graph that has no nodes to draw, for candidates with weights, and for
// times with weights, InputError if there is no negative, FormatError for a damaged file.
void DrawNegatives(const store::TopologyReader& graph, const NegativeRequest& request,
                   std::span<int64_t> sources, std::span<int64_t> targets);

}  // namespace graphzero::sample
