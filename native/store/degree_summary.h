// The degree distribution of a graph in a few numbers.
#pragma once

#include <cstdint>

#include "store/topology_reader.h"

namespace graphzero::store {

// Of all rows of one adjacency. Quantiles are exact: the smallest degree that at least that share
// of the rows does not exceed.
struct DegreeSummary {
  uint64_t min = 0;
  uint64_t median = 0;
  uint64_t p99 = 0;
  uint64_t max = 0;
  double mean = 0;
  uint64_t empty_rows = 0;
};

// Reads indptr once, in order; needs memory for one counter per degree up to 65535 and one number
// per row beyond, of which there are at most edges / 65536. Throws FormatError at a damaged pair.
DegreeSummary SummarizeDegrees(const TopologyReader& graph, const Adjacency& adjacency);

// Nodes without any stored edge, in either direction. Throws FormatError at a damaged pair.
uint64_t CountIsolated(const TopologyReader& graph);

}  // namespace graphzero::store
