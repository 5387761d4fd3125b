// Topology files (.gl), version 1 and GraphZero 0.2, opened read-only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "store/container_format.h"
#include "store/container_reader.h"
#include "store/mapped_file.h"

namespace graphzero::store {

// Reads a value of a mapping exactly once. Someone may write to the file meanwhile: without this
// the compiler is free to read a value again after it was checked, and to use another one.
template <class T>
T ReadOnce(const T* at) {
  return *static_cast<const volatile T*>(at);
}

// Unsigned integers of 4 or 8 bytes, as the file stores them.
struct IntegerArray {
  const void* data = nullptr;
  uint32_t width = 0;  // 4 or 8; 0 when absent

  bool present() const { return width != 0; }
  uint64_t operator[](uint64_t i) const {
    return width == 4 ? ReadOnce(static_cast<const uint32_t*>(data) + i)
                      : ReadOnce(static_cast<const uint64_t*>(data) + i);
  }
};

// Edge slots [begin, end) of one row.
struct SlotRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
};

// One direction of a graph, in the mapping. Nothing in it is trusted: indptr pairs go through
// CheckedRow(), and whoever reads a neighbour compares it with neighbour_bound.
struct Adjacency {
  const uint64_t* indptr = nullptr;  // rows + 1 values
  IntegerArray neighbours;           // edges values
  const float* weights = nullptr;    // edges values, or null
  IntegerArray edge_ids;             // edges values, or absent
  const int64_t* times = nullptr;    // edges values, or null
  uint64_t rows = 0;
  uint64_t edges = 0;
  uint64_t neighbour_bound = 0;

  // Needs node < rows. False if the pair is damaged (lo > hi or hi > edges).
  bool CheckedRow(uint64_t node, SlotRange* range) const {
    range->begin = ReadOnce(indptr + node);
    range->end = ReadOnce(indptr + node + 1);
    return range->begin <= range->end && range->end <= edges;
  }
};

// Thread-safe: nothing changes after Open(). Copies share one mapping; pointers in an Adjacency
// stay valid while any copy or the file() pointer lives.
class TopologyReader {
 public:
  static TopologyReader Open(const std::string& path);  // throws FormatError, IoError
  static TopologyReader OpenMapped(std::shared_ptr<const MappedFile> file);

  // 1, or 0 for a file of GraphZero 0.2.
  int version() const { return container_ ? kVersionMajor : 0; }
  uint64_t num_src() const { return num_src_; }
  uint64_t num_dst() const { return num_dst_; }
  uint64_t num_nodes() const { return num_src_ > num_dst_ ? num_src_ : num_dst_; }
  uint64_t num_edges() const { return num_edges_; }
  uint64_t edge_id_bound() const { return edge_id_bound_; }
  bool symmetric() const { return flags_ & 1u; }
  bool sorted() const { return flags_ & 2u; }
  bool multi_edges_dropped() const { return flags_ & 4u; }
  bool has_weights() const { return any().weights != nullptr; }
  // What the weights are called where they come from; empty: they have no name.
  const std::string& weight_name() const { return weight_name_; }
  bool has_edge_ids() const { return any().edge_ids.present(); }
  bool has_times() const { return any().times != nullptr; }

  // The adjacency as stored, or null. A symmetric file stores only "out".
  const Adjacency* out() const { return out_ ? &*out_ : nullptr; }
  const Adjacency* in() const { return in_ ? &*in_ : nullptr; }
  // Whichever is stored, out first. Every file has one.
  const Adjacency& any() const { return out_ ? *out_ : *in_; }

  // The slots of a row; throws std::out_of_range for a node outside the graph and FormatError when
  // the file is damaged there.
  SlotRange Row(const Adjacency& adjacency, uint64_t node) const;

  // Whether a few of these rows, and so probably all, lie in memory with the first of their
  // neighbours. Does not wait for a disk. Nodes outside the graph are left out.
  bool RowsInMemory(const Adjacency& adjacency, std::span<const int64_t> nodes) const;

  // Throws FormatError at the first neighbour in those slots that is no node. Reads all of them.
  void CheckNeighbours(const Adjacency& adjacency, const SlotRange& range) const;

  // All zero for a GraphZero 0.2 file, which has none.
  Fingerprint fingerprint() const;

  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  // Null for a GraphZero 0.2 file.
  const Container* container() const { return container_.get(); }

 private:
  void OpenVersion1();
  void OpenLegacy();
  void ReadWeightName(const SectionEntry& entry);
  std::optional<Adjacency> ReadAdjacency(SectionKind indptr_kind, uint64_t rows,
                                         uint64_t neighbour_bound) const;

  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const Container> container_;
  uint64_t num_src_ = 0;
  uint64_t num_dst_ = 0;
  uint64_t num_edges_ = 0;
  uint64_t edge_id_bound_ = 0;
  std::string weight_name_;
  uint32_t flags_ = 0;  // optional_flags of topology_format.h
  std::optional<Adjacency> out_;
  std::optional<Adjacency> in_;
};

}  // namespace graphzero::store
