// What the values of each kind of section must satisfy, block by block.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "store/topology_reader.h"
#include "store/verify_blocks.h"

namespace graphzero::store {

// Sum over all edges of one adjacency of a hash of the pair. Equal sets of edges have equal sums,
// in whatever order they are met, and other sets do by chance only.
using EdgeSum = std::atomic<uint64_t>;

struct RowRules {
  bool sorted = false;          // by (neighbour, edge id)
  bool no_repeats = false;      // no neighbour twice; needs sorted
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

// Padding of rows, and the values where not all bits are a value; empty if all is allowed.
BlockCheck CheckMatrix(const MatrixReader& matrix);

BlockCheck CheckZero();

}  // namespace graphzero::store
