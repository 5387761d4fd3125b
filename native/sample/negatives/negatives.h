// Pairs of nodes for a model to tell from edges. The contract is in sample/README.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sample/rows/disk_topology.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

// How likely a node is to be an end of a negative.
enum class NegativeWeights {
  kUniform,
  kDegree,  // as a source in proportion to its out-degree, as a target to its in-degree
};

struct NegativeRequest {
  const store::Adjacency* adjacency = nullptr;  // of the reader
  bool rows_are_sources = true;                 // its rows are those of sources: out-edges
  // The same edges in the rows of their other ends, or null.
  const store::Adjacency* other = nullptr;
  // Types of the ends, owned by the reader. If they are the same, a node with itself is no
  // negative.
  const store::NodeType* source_type = nullptr;
  const store::NodeType* target_type = nullptr;
  uint64_t relation = 0;  // its number, which the keys of draws contain
  std::string name = {};  // of the relation, for messages; empty in a graph without types
  // One negative is drawn for each of these sources. If empty, sources are drawn too.
  std::span<const int64_t> sources = {};
  // Targets, and sources that are drawn, come from these lists; if a list is empty, from all nodes.
  // A node that occurs twice in a list is twice as likely. Lists need uniform weights.
  std::span<const int64_t> target_candidates = {};
  std::span<const int64_t> source_candidates = {};
  // One time for each negative: its drawn ends exist at that time, and only edges that exist then
  // count as edges. If empty, all nodes and edges count.
  std::span<const int64_t> times = {};
  // How many links the negatives belong to, for messages: if sources are given, as many negatives
  // follow each other for each link; else negative i is that of link i modulo links. 0: of none.
  uint64_t links = 0;
  NegativeWeights weights = NegativeWeights::kUniform;
  bool reject = false;  // reject edges of the graph and nodes with themselves
  uint64_t seed = 0;
  int threads = 0;
  // For a topology that does not fit into memory; null reads through the mapping.
  const DiskTopology* disk = nullptr;

  // A request for one relation, without sources, times and the like. By `symmetric` the caller
  // asserts that a relation within one type has the reverse of every edge, even if the file does
  // not say so.
  static NegativeRequest Of(const store::TopologyReader& graph, size_t relation, bool symmetric);
};

// Fills `sources` and `targets`, which have the same length: that of request.sources, if these are
// given. Throws std::out_of_range for a source or candidate outside the graph,
// std::invalid_argument for a graph that has no nodes to draw, for candidates with weights, and for
// times with weights, InputError if there is no negative, FormatError for a damaged file.
void DrawNegatives(const store::TopologyReader& graph, const NegativeRequest& request,
                   std::span<int64_t> sources, std::span<int64_t> targets);

}  // namespace graphzero::sample
