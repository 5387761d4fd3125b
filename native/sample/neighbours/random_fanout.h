// A fixed number of neighbours per node, as GraphZero 0.2 gives them.
#pragma once

#include <cstdint>
#include <span>

#include "sample/rows/disk_topology.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

struct FanoutRequest {
  const store::Adjacency* adjacency = nullptr;
  std::span<const int64_t> nodes;
  uint64_t count = 0;  // neighbours of each
  uint64_t seed = 0;
  int threads = 0;  // at most; 0 is the whole budget of threads.h
  // For a topology that does not fit into memory; null reads through the mapping.
  const DiskTopology* disk = nullptr;
};

// Row i of `neighbours` has `count` ids: different edges of the node; if it has fewer, all of them
// and then further uniform draws with replacement; if it has none, the node itself. counts[i] is
// min(count, degree). Equal nodes at different places draw independently. The caller owns both
// arrays. Throws like SampleNeighbours().
void RandomFanout(const store::TopologyReader& graph, const FanoutRequest& request,
                  int64_t* neighbours, int64_t* counts);

}  // namespace graphzero::sample
