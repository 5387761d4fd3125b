#include "compile/edges/node_times.h"

#include <algorithm>
#include <span>

#include "base/errors.h"
#include "compile/edges/edge_partition.h"
#include "compile/edges/edge_source.h"
#include "compile/edges/memory_plan.h"
#include "compile/edges/row_sorter.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kNodesAtOnce = uint64_t{1} << 16;

// A node as a record: its row is its time, counted from the earliest time, and its neighbour is the
// node itself. So a sorted row lists the nodes of one time in order.
using NodeRecord = PlainRecord<uint64_t>;
using NodeOrder = ByNeighbour<NodeRecord>;

bool WideIds(const NodeTimes& times) { return times.count > uint64_t{1} << 32; }

void WriteSorted(const NodeTimes& times, const Resources& resources, ExtentStore* extents,
                 store::SectionStream* nodes, store::SectionStream* sorted, Progress* progress) {
  const MemoryPlan plan =
      PlanMemory(resources, times.count, sizeof(NodeRecord), 1, extents->extent_bytes());
  const uint64_t last = times.max_key - times.min_key;
  // Two at least, because a range of all 64 bits cannot be one bucket.
  EdgePartition<NodeRecord> partition(extents, last, std::max<size_t>(plan.buckets, 2), 1);
  for (uint64_t node = 0; node < times.count; ++node) {
    if (node % kNodesAtOnce == 0) progress->ThrowIfCancelled();
    const uint64_t row = TimeKey(times.values[node]) - times.min_key;
    partition.Push(partition.writer(0), NodeRecord::Make(row, node, {}));
  }
  partition.Close({.max_row = last, .max_neighbour = times.count - 1});

  RowSorter<NodeOrder> sorter{NodeOrder{}};
  std::vector<uint32_t> narrow;
  std::vector<int64_t> leaf_times;
  for (size_t bucket = 0; bucket < partition.buckets(); ++bucket) {
    partition.ForEachLeaf(
        bucket, NodeOrder{}, plan.leaf,
        [&](const Leaf<NodeRecord>& leaf) {
          progress->ThrowIfCancelled();
          sorter.Sort(leaf);
          const std::span<const NodeRecord::Slot> slots = sorter.slots();
          if (WideIds(times)) {
            nodes->Append(std::as_bytes(slots));
          } else {
            narrow.clear();
            for (const NodeRecord::Slot& slot : slots) {
              narrow.push_back(static_cast<uint32_t>(slot.neighbour));
            }
            nodes->Append(std::as_bytes(std::span(narrow)));
          }
          leaf_times.clear();
          for (const RowCount& row : sorter.rows()) {
            leaf_times.insert(leaf_times.end(), row.count, TimeOfKey(row.row + times.min_key));
          }
          sorted->Append(std::as_bytes(std::span(leaf_times)));
          progress->Add(slots.size());
        },
        [](const NodeRecord&, uint64_t) {});  // no node occurs twice
  }
}

}  // namespace

NodeTimes NodeTimes::Examine(const int64_t* values, uint64_t count, const std::string& name) {
  NodeTimes times{.values = values, .count = count};
  int64_t before = INT64_MIN;
  for (uint64_t node = 0; node < count; ++node) {
    const int64_t time = values[node];
    if (time == kNoTime) {
      throw InputError("times of " + (name.empty() ? "nodes" : "type " + name) + ": node " +
                       std::to_string(node) + ": found no time (NaT), expected one for every node");
    }
    times.ascend &= before <= time;
    before = time;
    times.min_key = std::min(times.min_key, TimeKey(time));
    times.max_key = std::max(times.max_key, TimeKey(time));
  }
  return times;
}

std::vector<store::SectionSpec> SectionsOf(const NodeTimes& times, uint32_t type) {
  using store::DType;
  using store::SectionKind;
  std::vector<store::SectionSpec> sections;
  if (!times.present()) return sections;
  const uint64_t n = times.count;
  sections.push_back({SectionKind::kNodeTimes, DType::kInt64, n, n * 8});
  if (!times.ascend) {
    const bool wide = WideIds(times);
    sections.push_back(
        {SectionKind::kNodesByTime, wide ? DType::kUInt64 : DType::kUInt32, n, n * (wide ? 8 : 4)});
    sections.push_back({SectionKind::kTimesByTime, DType::kInt64, n, n * 8});
  }
  for (store::SectionSpec& section : sections) section.relation = type;
  return sections;
}

void WriteNodeTimes(const NodeTimes& times, size_t first_section, const Resources& resources,
                    ExtentStore* extents, store::ContainerWriter* file, Progress* progress) {
  if (!times.present()) return;
  progress->Start("writing node times", times.ascend ? 0 : times.count);
  file->stream(first_section).Append(std::as_bytes(std::span(times.values, times.count)));
  if (times.ascend) return;
  WriteSorted(times, resources, extents, &file->stream(first_section + 1),
              &file->stream(first_section + 2), progress);
}

}  // namespace graphzero::compile
