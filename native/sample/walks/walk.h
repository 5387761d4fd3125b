// Random walks: uniform, weighted, with restart, and node2vec. See sample/README.md, "Walks".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sample/rows/disk_topology.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

struct WalkRequest {
  const store::Adjacency* adjacency = nullptr;  // whose rows are followed
  std::span<const int64_t> starts;
  uint64_t length = 0;  // steps
  double p = 1;         // node2vec: return parameter
  double q = 1;         // node2vec: in-out parameter
  double restart = 0;   // probability of going back to the start, at each step
  bool weighted = false;
  uint64_t seed = 0;
  int threads = 0;  // at most; 0 is the whole budget of threads.h
  // For a topology that does not fit into memory; null reads through the mapping.
  const DiskTopology* disk = nullptr;
};

// Where walks go. The caller owns both arrays.
struct WalkDestination {
  int64_t* nodes = nullptr;    // starts.size() rows of length + 1 ids, start included
  int64_t* lengths = nullptr;  // steps really taken, or null

  int64_t* Walk(size_t walker, uint64_t length) const { return nodes + walker * (length + 1); }

  // Ends a walk of at most `length` steps after `steps`: its last node fills the rest of its row.
  void Finish(size_t walker, uint64_t steps, uint64_t length) const {
    int64_t* const walk = Walk(walker, length);
    std::fill(walk + steps + 1, walk + length + 1, walk[steps]);
    if (lengths != nullptr) lengths[walker] = static_cast<int64_t>(steps);
  }
};

// Throws std::out_of_range for a start outside the graph, std::invalid_argument for a wrong
// argument, FormatError for a damaged file; the destination then holds anything.
void RandomWalk(const store::TopologyReader& graph, const WalkRequest& request,
                const WalkDestination& destination);

}  // namespace graphzero::sample
