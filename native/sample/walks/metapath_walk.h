// Random walks that take every step together: along a metapath, where each step follows the
// relation whose turn it is, and uniform walks from disk. See sample/README.md, "Walks".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/rows/disk_topology.h"
#include "sample/rows/rows.h"
#include "sample/walks/walk.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

struct MetapathRequest {
  // Numbers of relations, followed from source to target; the first one follows the last one again.
  // Each starts at the type where the one before ended.
  std::vector<size_t> relations;
  std::span<const int64_t> starts;  // of the first relation's source type
  uint64_t length = 0;              // steps
  bool weighted = false;
  uint64_t seed = 0;
  int threads = 0;  // at most; 0 is the whole budget of threads.h
  // For a topology that does not fit into memory; null reads through the mapping.
  const DiskTopology* disk = nullptr;
};

// Throws like RandomWalk(), also std::invalid_argument for relations that do not follow each other
// or whose out-edges are not stored.
void MetapathWalk(const store::TopologyReader& graph, const MetapathRequest& request,
                  const WalkDestination& destination);

// The same after everything was checked. Step i goes along rows[i % rows.size()].
void WalkTogether(std::span<const Rows> rows, const MetapathRequest& request,
                  const WalkDestination& destination);

}  // namespace graphzero::sample
