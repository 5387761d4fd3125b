// How the memory of a compilation is divided.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compile/edges/edge_partition.h"
#include "compile/job.h"

namespace graphzero::compile {

// Only speed depends on it.
struct MemoryPlan {
  size_t buckets;           // of each partition
  uint64_t extent_bytes;    // a partition writes in pieces of this size
  uint64_t extents_budget;  // that wait in memory; the rest goes to the disk
  LeafLimits leaf;
};

// For about `edges` records in each of `partitions` partitions, which are written side by side.
// With `extent_bytes` it is given how large pieces are, because other partitions share them.
MemoryPlan PlanMemory(const Resources& resources, uint64_t edges, size_t record_bytes,
                      uint64_t partitions, uint64_t extent_bytes = 0);

// How large pieces are that partitions of any size share.
uint64_t SharedExtentBytes(const Resources& resources);

}  // namespace graphzero::compile
