// What the values of each kind of section must satisfy, block by block.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "store/topology_reader.h"
#include "store/verify_blocks.h"

namespace graphzero::store {

// Sums over all edges (row, neighbour) of one adjacency. Equal sets of edges have equal sums, in
// whatever order they are met, and other sets do by chance only.
struct EdgeSums {
  std::atomic<uint64_t> forward{0};   // of hash(row, neighbour)
  std::atomic<uint64_t> backward{0};  // of hash(neighbour, row)
};

struct RowRules {
  bool sorted = false;       // by (neighbour, edge id)
  bool no_repeats = false;   // no neighbour twice; needs sorted
  EdgeSums* sums = nullptr;  // filled if given
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
