#include "compile/edges/memory_plan.h"

#include <algorithm>
#include <bit>

namespace graphzero::compile {
namespace {

// A bucket of this size is sorted inside a core's cache.
constexpr uint64_t kBucketBytes = uint64_t{2} << 20;
constexpr size_t kMaxBuckets = 512;
constexpr uint64_t kMinExtent = uint64_t{16} << 10;
constexpr uint64_t kMaxExtent = uint64_t{256} << 10;
constexpr uint64_t kMaxFanOut = 64;

}  // namespace

MemoryPlan PlanMemory(const Resources& resources, uint64_t edges, size_t record_bytes,
                      uint64_t partitions, uint64_t extent_bytes) {
  MemoryPlan plan{};
  const auto threads = static_cast<uint64_t>(resources.threads);
  // A quarter of the memory is for open buffers, half for sealed extents, three sixteenths for
  // sorting, and one sixteenth for dividing buckets again.
  const uint64_t open_budget = resources.memory / 4;
  const uint64_t smallest = extent_bytes != 0 ? extent_bytes : kMinExtent;
  const uint64_t most = std::max<uint64_t>(1, open_budget / (smallest * threads * partitions));
  const uint64_t wanted = edges * record_bytes / kBucketBytes + 1;
  plan.buckets = std::min({std::bit_ceil(wanted), uint64_t{kMaxBuckets}, std::bit_floor(most)});
  const uint64_t extent = open_budget / (plan.buckets * threads * partitions);
  // No larger than what an average bucket needs, or small inputs would pay for empty buffers.
  const uint64_t useful = std::bit_ceil(edges * record_bytes / plan.buckets / threads + 1);
  plan.extent_bytes = std::clamp(std::bit_floor(std::min(extent, std::max(useful, kMinExtent))),
                                 kMinExtent, kMaxExtent);
  if (extent_bytes != 0) plan.extent_bytes = extent_bytes;
  plan.extents_budget = resources.memory / 2;
  // A leaf is held as bytes, slots and output columns: about three times its size.
  const uint64_t sixteenth = resources.memory / (16 * threads);
  plan.leaf = {sixteenth, std::clamp<uint64_t>(sixteenth / plan.extent_bytes, 2, kMaxFanOut)};
  return plan;
}

uint64_t SharedExtentBytes(const Resources& resources) {
  // Two partitions with kMaxBuckets buckets each must fit into the quarter for open buffers.
  const uint64_t most_open = kMaxBuckets * static_cast<uint64_t>(resources.threads) * 2;
  return std::clamp(std::bit_floor(resources.memory / 4 / most_open), kMinExtent, kMaxExtent);
}

}  // namespace graphzero::compile
