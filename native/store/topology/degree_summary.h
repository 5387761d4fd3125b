// The degrees and times of a graph in a few numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "store/topology/topology_reader.h"

namespace graphzero::store {

// The degrees of all rows of one adjacency. Quantiles are exact: the smallest degree that at least
// that share of the rows does not exceed.
struct DegreeSummary {
  uint64_t min = 0;
  uint64_t median = 0;
  uint64_t p99 = 0;
  uint64_t max = 0;
  double mean = 0;
  uint64_t empty_rows = 0;
  // Numbers of rows by degree, up to the largest degree: entry 0 counts rows of degree 0, entry k
  // rows of degrees from 2^(k-1) to 2^k - 1.
  std::vector<uint64_t> histogram;
};

// Reads indptr once, in order. Needs memory for one counter per degree up to 65535 and one number
// per row of a larger degree, of which there are at most edges / 65536. Throws FormatError at a
// damaged pair.
DegreeSummary SummarizeDegrees(const TopologyReader& graph, const Adjacency& adjacency);

// Nodes without any stored edge, in either direction, of a graph without types. Throws FormatError
// at a damaged pair.
uint64_t CountIsolated(const TopologyReader& graph);

struct TimeRange {
  int64_t first;
  int64_t last;
};

// The earliest and the latest of times in the mapping; nothing if there are none. Reads all of
// them, and throws IoError if they cannot be read.
std::optional<TimeRange> FindTimeRange(const TopologyReader& graph, const int64_t* times,
                                       uint64_t count);

}  // namespace graphzero::store
