// The rows of an adjacency that may be damaged, and the checks of what is read from it, in memory
// or from disk.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/prefetch.h"
#include "sample/rows/disk_topology.h"
#include "store/files/mapped_file.h"
#include "store/topology/topology_reader.h"

namespace graphzero::sample {

// An adjacency, the file that it lies in, and how the file is read. Does not own the mapping.
struct Rows {
  const store::Adjacency& adjacency;
  const store::MappedFile& file;
  bool sorted;  // by neighbour, each row; the file says so
  // For a topology that does not fit into memory. Null: it is read through the mapping, with the
  // functions below.
  const DiskTopology* disk;
  std::string relation = {};  // its name, for messages; empty in a graph without types

  static Rows Of(const store::TopologyReader& graph, const store::Adjacency& adjacency,
                 const DiskTopology* disk, std::string relation = {}) {
    return {adjacency, *graph.file(), adjacency.sorted, disk, std::move(relation)};
  }

  const std::string& path() const { return file.path(); }

  // The checked slots of a row. Needs node < adjacency.rows. Throws FormatError.
  store::SlotRange Row(uint64_t node) const {
    store::SlotRange row;
    if (!adjacency.CheckedRow(node, &row)) [[unlikely]]
      ThrowDamagedRow(node, row);
    return row;
  }

  // A checked neighbour: below the bound, so that it may be a row number. Throws FormatError.
  template <class Id>
  uint64_t Neighbour(uint64_t node, uint64_t slot) const {
    const uint64_t id = store::ReadOnce(static_cast<const Id*>(adjacency.neighbours.data) + slot);
    CheckNeighbour(node, slot, id);
    return id;
  }

  // Where the neighbours and the weights of a row lie in the mapping.
  template <class Id>
  std::span<const Id> Ids(const store::SlotRange& row) const {
    return {static_cast<const Id*>(adjacency.neighbours.data) + row.begin, row.size()};
  }
  std::span<const float> Weights(const store::SlotRange& row) const {
    return {adjacency.weights + row.begin, row.size()};
  }

  void PrefetchRow(uint64_t node) const {
    // Prefetches both bounds: one pair in eight straddles two cache lines, and a miss on the second
    // costs as much as one on the first.
    base::Prefetch(adjacency.indptr + node);
    base::Prefetch(adjacency.indptr + node + 1);
  }
  template <class Id>
  void PrefetchSlot(uint64_t slot) const {
    base::Prefetch(static_cast<const Id*>(adjacency.neighbours.data) + slot);
  }

  void CheckRow(uint64_t node, const store::SlotRange& row) const {
    if (row.begin > row.end || row.end > adjacency.edges) ThrowDamagedRow(node, row);
  }
  void CheckNeighbour(uint64_t node, uint64_t slot, uint64_t id) const {
    if (id >= adjacency.neighbour_bound) [[unlikely]]
      ThrowDamagedNeighbour(node, slot, id);
  }
  [[noreturn]] void ThrowDamagedRow(uint64_t node, const store::SlotRange& row) const;
  [[noreturn]] void ThrowDamagedNeighbour(uint64_t node, uint64_t slot, uint64_t id) const;
  // For a row that claims to be in the order of its slot times.
  [[noreturn]] void ThrowUnorderedTimes(uint64_t node) const;
  // For nodes that claim to be in the order of their times, and for a place in that order that has
  // no valid node.
  [[noreturn]] void ThrowUnorderedNodes() const;
  [[noreturn]] void ThrowDamagedOrder(uint64_t place, uint64_t node, uint64_t bound) const;
  // For a weight that weighted draws cannot use: the user's data is at fault, not the file.
  [[noreturn]] void ThrowBadWeight(uint64_t node, uint64_t slot, float weight) const;
  // " of relation NAME", or nothing in a graph without types.
  std::string OfRelation() const;
};

// Calls read(), which may touch the mapping unless the rows come from disk. Throws IoError if the
// mapped file turns out to be unreadable.
template <class Read>
auto ReadRows(const store::MappedFile& file, const DiskTopology* disk, const Read& read) {
  return disk != nullptr ? read() : store::ReadGuarded(file, read);
}
template <class Read>
auto ReadRows(const Rows& rows, const Read& read) {
  return ReadRows(rows.file, rows.disk, read);
}

// Throws std::out_of_range naming the first id that is not below `bound`, the number of nodes that
// the file at `path` has, or of rows that the adjacency has. Callers check before they do anything
// else.
void CheckNodeIds(std::span<const int64_t> ids, uint64_t bound, const std::string& what,
                  const std::string& path);
void CheckNodeIds(const Rows& rows, std::span<const int64_t> ids, const char* what);

// Multi-step sampling goes from a neighbour's id to its row, and so needs one set of nodes; throws
// std::invalid_argument for a graph with different sources and targets.
void CheckOneNodeSet(const Rows& rows);

// Throws std::invalid_argument if `weighted` is asked of a file without weights.
void CheckHasWeights(const Rows& rows, bool weighted);

// Calls body(data) with a pointer to the type that the file stores these integers in.
template <class Body>
auto WithType(const store::IntegerArray& integers, Body&& body) {
  return integers.width == 4 ? body(static_cast<const uint32_t*>(integers.data))
                             : body(static_cast<const uint64_t*>(integers.data));
}

// Calls body.operator()<Id>() with the type that the file stores neighbours in.
template <class Body>
auto WithIdType(const store::Adjacency& adjacency, Body&& body) {
  return WithType(adjacency.neighbours,
                  [&]<class Id>(const Id*) { return body.template operator()<Id>(); });
}

}  // namespace graphzero::sample
