// What an order of nodes is worth: how many blocks of rows the batches of a trainer touch.
//
// The estimate draws a few batches from the graph as a sampler would, and counts the blocks of 8
// rows that hold their nodes: rows of 512 bytes, read in blocks of 4 KiB. Where memory is scarce,
// hot rows stay in the row cache, so the blocks that hold other rows are also counted separately.
// Only the ratio of two such counts means something.
#pragma once

#include <cstdint>
#include <span>

#include "compile/order/union_rows.h"

namespace graphzero::compile {

struct BlockEstimate {
  uint64_t nodes = 0;        // of all batches
  uint64_t blocks = 0;       // that hold these nodes
  uint64_t cold_blocks = 0;  // that hold nodes which are not hot
};

struct BlockEstimates {
  BlockEstimate before;
  BlockEstimate after;
};

// `places` are the new numbers of all nodes of the union; a node is hot if rows name it more often
// than `cold_mentions`. The draws are always the same.
BlockEstimates EstimateBlocks(const UnionRows& rows, std::span<const uint32_t> places,
                              std::span<const uint32_t> mentions, uint32_t cold_mentions);

}  // namespace graphzero::compile
