// All nodes of a graph as one range of numbers, type after type, with their neighbours in every
// stored relation: to order nodes, it does not matter which relation an edge belongs to. A graph
// without types is one type with one relation.
#pragma once

#include <cstdint>
#include <vector>

#include "store/topology/topology_reader.h"

namespace graphzero::compile {

// Thread-safe: nothing changes after construction. Reads the mapping: call it under ReadGuarded.
class UnionRows {
 public:
  // One direction of one relation.
  struct Part {
    const store::Adjacency* adjacency;
    uint64_t first_row;        // the number of the node that row 0 belongs to
    uint64_t first_neighbour;  // the number of the node that is neighbour 0
  };

  // Throws InputError for a graph with more nodes than 32 bits number.
  explicit UnionRows(const store::TopologyReader& graph);

  const store::TopologyReader& graph() const { return graph_; }
  uint32_t num_nodes() const { return static_cast<uint32_t>(type_begins_.back()); }
  // The number of the first node of each type, then the number of nodes.
  const std::vector<uint64_t>& type_begins() const { return type_begins_; }
  uint32_t TypeOf(uint32_t node) const;

  // Throws FormatError for a neighbour that is no node.
  uint32_t Neighbour(const Part& part, uint64_t slot) const;

  // Appends the neighbours of a node. Of a row with more than `most` slots it takes every k-th
  // slot, so that it appends at most `most`; `draw`, any number, decides with which slot it begins.
  void AppendNeighbours(uint32_t node, uint64_t most, uint64_t draw,
                        std::vector<uint32_t>* out) const;

 private:
  const store::TopologyReader graph_;
  std::vector<uint64_t> type_begins_{0};
  std::vector<std::vector<Part>> parts_;  // by the type whose nodes have rows there
};

}  // namespace graphzero::compile
