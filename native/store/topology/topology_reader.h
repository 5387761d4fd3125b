// Topology files (.gl), version 1 and GraphZero 0.2, opened read-only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/container/container_format.h"
#include "store/container/container_reader.h"
#include "store/files/integer_array.h"
#include "store/files/mapped_file.h"
#include "store/topology/schema.h"

namespace graphzero::store {

// Edge slots [begin, end) of one row.
struct SlotRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
};

// One direction of a relation, in the mapping. Nothing in it is trusted: indptr pairs go through
// CheckedRow(), and whoever reads a neighbour compares it with neighbour_bound.
struct Adjacency {
  const uint64_t* indptr = nullptr;  // rows + 1 values
  IntegerArray neighbours;           // edges values
  const float* weights = nullptr;    // edges values, or null
  IntegerArray edge_ids;             // edges values, or absent
  const int64_t* times = nullptr;    // of the edges themselves: edges values, or null
  // The later of the edge's time and its neighbour's, for each slot; null if neither edges nor
  // neighbours have times.
  const int64_t* slot_times = nullptr;
  uint64_t rows = 0;
  uint64_t edges = 0;
  uint64_t neighbour_bound = 0;
  bool sorted = false;        // the file says: each row by (neighbour, edge id)
  bool time_ordered = false;  // the file says: each row by (slot time, edge id, neighbour)
  bool is_in = false;         // rows are targets
  uint32_t relation = 0;      // number of the stored relation

  // Needs node < rows. False if the pair is damaged (lo > hi or hi > edges).
  bool CheckedRow(uint64_t node, SlotRange* range) const {
    range->begin = ReadOnce(indptr + node);
    range->end = ReadOnce(indptr + node + 1);
    return range->begin <= range->end && range->end <= edges;
  }
};

// One kind of nodes. A graph of one type has one of these without a name.
struct NodeType {
  std::string name;
  uint64_t count = 0;
  const int64_t* times = nullptr;  // count values, or null
  bool times_ascend = false;       // the file says that they do, with the node's id
  // Nodes sorted by (time, id), and their times in that order, if the type has times. If times
  // ascend, every node is at its own place: by_time is then absent and sorted_times is times.
  IntegerArray by_time;
  const int64_t* sorted_times = nullptr;
};

// Edges between nodes of two types. A graph of one type has one of these without a name. A view is
// another relation with its ends exchanged: in and out are the base's out and in.
struct Relation {
  std::string name;
  uint32_t source = 0;  // number of a type
  uint32_t target = 0;
  uint32_t base = 0;                // its own number, or of the relation that this is a view of
  std::optional<uint32_t> inverse;  // the relation declared to hold the reverse of its edges
  bool is_view = false;
  uint64_t num_edges = 0;
  uint64_t edge_id_bound = 0;
  bool symmetric = false;  // the reverse of every edge is there too; only one adjacency is stored
  bool multi_edges_dropped = false;
  std::string weight_name;  // the name that the weights had in the input; may be empty
  // As stored, or null. Owned by the reader and all its copies.
  const Adjacency* out = nullptr;
  const Adjacency* in = nullptr;

  // `out` if it is stored, else `in`. Every relation has one of them.
  const Adjacency& any() const { return out ? *out : *in; }
};

// Thread-safe: nothing changes after Open(). Copies share one mapping; pointers to an Adjacency and
// pointers in one stay valid while any copy lives; pointers in one also while the file() pointer
// lives.
//
// Every graph has types and relations; a file of one type is presented as one of each, without
// names. Calls about the graph as a whole (out(), in(), ...) are about that one relation: a typed
// graph has no such adjacency.
class TopologyReader {
 public:
  static TopologyReader Open(const std::string& path);  // throws FormatError, IoError
  static TopologyReader OpenMapped(std::shared_ptr<const MappedFile> file);

  // 1, or 0 for a file of GraphZero 0.2.
  int version() const { return container_ ? kVersionMajor : 0; }

  // Whether the file has a schema.
  bool typed() const { return contents_->typed; }
  const std::vector<NodeType>& types() const { return contents_->types; }
  // Stored relations, then views.
  const std::vector<Relation>& relations() const { return contents_->relations; }
  // "(user, rates, movie)"; "" for the relation of a graph without types.
  std::string Title(uint32_t relation) const;
  // The unit of times: D, s, ms, us or ns; empty if the file does not say.
  const std::string& time_unit() const { return contents_->time_unit; }

  // In a typed graph, sums over types and over stored relations; edge_id_bound() is the largest.
  uint64_t num_src() const { return contents_->num_src; }
  uint64_t num_dst() const { return contents_->num_dst; }
  uint64_t num_nodes() const { return std::max(num_src(), num_dst()); }
  uint64_t num_edges() const { return contents_->num_edges; }
  uint64_t edge_id_bound() const { return contents_->edge_id_bound; }
  // In a typed graph: whether any relation is so, or has these.
  bool symmetric() const;
  bool sorted() const;
  bool multi_edges_dropped() const;
  bool has_weights() const;
  bool has_edge_ids() const;
  bool has_times() const;  // of edges
  // Of relation 0.
  const std::string& weight_name() const { return relations().front().weight_name; }

  // The adjacency as stored, or null. A symmetric file stores only "out". Null for a typed graph,
  // whose relations have the adjacencies.
  const Adjacency* out() const { return typed() ? nullptr : relations().front().out; }
  const Adjacency* in() const { return typed() ? nullptr : relations().front().in; }

  // The slots of a row; throws std::out_of_range for a node outside the graph and FormatError when
  // the file is damaged there.
  SlotRange Row(const Adjacency& adjacency, uint64_t node) const;

  // Looks at a few of these rows: whether these, and so probably all, lie in memory with their
  // first neighbours. Does not wait for a disk. Ignores nodes outside the graph.
  bool RowsInMemory(const Adjacency& adjacency, std::span<const int64_t> nodes) const;

  // Reads all neighbours in these slots and throws FormatError at the first that is no node.
  void CheckNeighbours(const Adjacency& adjacency, const SlotRange& range) const;

  // The name of a section in messages: "out.indices", "out.indices of (user, rates, movie)",
  // "node_times of user".
  std::string SectionTitle(SectionKind kind, uint32_t relation) const;

  // All zero for a GraphZero 0.2 file, which has none.
  Fingerprint fingerprint() const;

  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  // Null for a GraphZero 0.2 file.
  const Container* container() const { return container_.get(); }

 private:
  friend class TopologyOpener;  // in topology_reader.cpp; fills contents_

  // Shared by copies, because relations point to adjacencies.
  struct Contents {
    bool typed = false;
    uint64_t num_src = 0;
    uint64_t num_dst = 0;
    uint64_t num_edges = 0;
    uint64_t edge_id_bound = 0;
    std::string time_unit;
    std::vector<NodeType> types;
    std::vector<Relation> relations;
    std::deque<Adjacency> adjacencies;  // never move
  };

  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const Container> container_;
  std::shared_ptr<const Contents> contents_;
};

}  // namespace graphzero::store
