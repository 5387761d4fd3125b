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
  uint64_t extents_budget;  // bytes of extents kept in memory; further extents go to the disk
  LeafLimits leaf;
};

// Plans for about `edges` records in each of `partitions` partitions, which are written at the same
// time. An `extent_bytes` other than 0 prescribes the extent size, for partitions that share an
// ExtentStore with others.
MemoryPlan PlanMemory(const Resources& resources, uint64_t edges, size_t record_bytes,
                      uint64_t partitions, uint64_t extent_bytes = 0);

// The extent size of an ExtentStore that partitions of any size share.
uint64_t SharedExtentBytes(const Resources& resources);

}  // namespace graphzero::compile
