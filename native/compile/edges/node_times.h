// The times of a type's nodes: checked, and written with the nodes sorted by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compile/job.h"
#include "compile/spill/extent_store.h"
#include "store/container/container_writer.h"

namespace graphzero::compile {

// Does not own the times.
struct NodeTimes {
  const int64_t* values = nullptr;  // null: the nodes have no times
  uint64_t count = 0;
  bool ascend = true;  // no node is earlier than the one before it
  // Smallest and largest time as TimeKey() of edge_record.h; meaningless if there is no node.
  uint64_t min_key = UINT64_MAX;
  uint64_t max_key = 0;

  bool present() const { return values != nullptr; }

  // Reads all times. `name` is what messages call the type. Throws InputError for a missing time.
  static NodeTimes Examine(const int64_t* values, uint64_t count, const std::string& name);
};

// The sections of the times, for ContainerWriter; none if the nodes have no times.
std::vector<store::SectionSpec> SectionsOf(const NodeTimes& times, uint32_t type);

// Fills the sections, which are the writer's streams from `first_section` on. Sorts in bounded
// memory, with buckets in `extents`.
void WriteNodeTimes(const NodeTimes& times, size_t first_section, const Resources& resources,
                    ExtentStore* extents, store::ContainerWriter* file, Progress* progress);

}  // namespace graphzero::compile
