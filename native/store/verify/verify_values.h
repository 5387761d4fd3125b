// What the values of each kind of section must satisfy, block by block.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "store/topology/topology_reader.h"
#include "store/verify/verify_blocks.h"

namespace graphzero::store {

// The sum, over all edges of one adjacency, of a hash of the pair and of the edge's time if it has
// one. Equal sets of edges have equal sums, in whatever order they are added; different sets have
// equal sums by chance only.
using EdgeSum = std::atomic<uint64_t>;

struct RowRules {
  bool sorted = false;          // by (neighbour, edge id)
  bool time_ordered = false;    // by (slot time, edge id, neighbour)
  bool no_repeats = false;      // no neighbour twice, at the same time; needs one of the orders
  EdgeSum* from_row = nullptr;  // gets the sum over (row, neighbour), if given
  EdgeSum* to_row = nullptr;    // gets the sum over (neighbour, row), if given
};

// Each check keeps a copy of the adjacency. The mapping must outlive the check.
BlockCheck CheckIndptr(const Adjacency& adjacency);
// Neighbours must be below the bound.
BlockCheck CheckNeighbours(const Adjacency& adjacency);
// CheckNeighbours(), and the rules of rows. Only if CheckIndptr() has found indptr sound.
BlockCheck CheckRows(const Adjacency& adjacency, const RowRules& rules);
BlockCheck CheckEdgeIds(const Adjacency& adjacency, uint64_t bound);
BlockCheck CheckWeights();

// Times of edges: none is the smallest int64.
BlockCheck CheckTimes();
// Slot times, which may be the times of the edges: each is the later of the edge's and its
// neighbour's time. `node_times` are those of the neighbours, or null.
BlockCheck CheckSlotTimes(const Adjacency& adjacency, const int64_t* node_times);
// Times of nodes; ascending if the type says so.
BlockCheck CheckNodeTimes(const NodeType& type);
// Nodes in the order of (time, id), each once, with their times in times_by_time.
BlockCheck CheckNodesByTime(const NodeType& type);

// Padding of rows, and values of types or roles that do not allow all values. Empty if there is
// nothing to check.
BlockCheck CheckMatrix(const MatrixReader& matrix);
// Original ids must rise strictly in the order of `rows_by_id`.
BlockCheck CheckRowsById(const MatrixReader& ids);

BlockCheck CheckZero();

}  // namespace graphzero::store
