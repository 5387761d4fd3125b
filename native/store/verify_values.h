// What the values of each kind of section must satisfy, block by block.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "store/topology_reader.h"
#include "store/verify_blocks.h"

namespace graphzero::store {

// Sum over all edges of one adjacency of a hash of the pair, and of the edge's time if it has one.
// Equal sets of edges have equal sums, in whatever order they are met, and other sets do by chance
// only.
using EdgeSum = std::atomic<uint64_t>;

struct RowRules {
  bool sorted = false;          // by (neighbour, edge id)
  bool time_ordered = false;    // by (slot time, edge id, neighbour)
  bool no_repeats = false;      // no neighbour twice, at the same time; needs one of the orders
  EdgeSum* from_row = nullptr;  // gets the sum over (row, neighbour), if given
  EdgeSum* to_row = nullptr;    // gets the sum over (neighbour, row), if given
};

// Each keeps a copy of the adjacency, whose mapping must outlive the check.
BlockCheck CheckIndptr(const Adjacency& adjacency);
// Neighbours below the bound.
BlockCheck CheckNeighbours(const Adjacency& adjacency);
// The same, and the rules of rows. Only for an indptr that CheckIndptr passed.
BlockCheck CheckRows(const Adjacency& adjacency, const RowRules& rules);
BlockCheck CheckEdgeIds(const Adjacency& adjacency, uint64_t bound);
BlockCheck CheckWeights();

// Times of edges: none is the smallest int64.
BlockCheck CheckTimes();
// Slot times, also where the edges' own serve as such: each is the later of the edge's and its
// neighbour's. `node_times` are of the neighbours, or null.
BlockCheck CheckSlotTimes(const Adjacency& adjacency, const int64_t* node_times);
// Times of nodes; ascending if the type says so.
BlockCheck CheckNodeTimes(const NodeType& type);
// Nodes in the order of (time, id), each once, with the times that lie beside them.
BlockCheck CheckNodesByTime(const NodeType& type);

// Padding of rows, and the values where not all bits are a value; empty if all is allowed.
BlockCheck CheckMatrix(const MatrixReader& matrix);
// Original ids must rise strictly in the order of `rows_by_id`.
BlockCheck CheckRowsById(const MatrixReader& ids);

BlockCheck CheckZero();

}  // namespace graphzero::store
