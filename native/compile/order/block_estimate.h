// What an order of nodes is worth: how many blocks of rows the batches of a trainer touch.
//
// A few batches are drawn from the graph as a sampler would, and the blocks of 8 rows counted that
// their nodes lie in: rows of 512 bytes, read in blocks of 4 KiB. Hot rows stay in the row cache
// where memory is scarce, so blocks of the other rows are counted too. Only the relation of two
// such numbers means something.
#pragma once

#include <cstdint>
#include <span>

#include "compile/order/union_rows.h"

namespace graphzero::compile {

struct BlockEstimate {
  uint64_t nodes = 0;        // of all batches
  uint64_t blocks = 0;       // that they lie in
  uint64_t cold_blocks = 0;  // that nodes lie in which are not hot
};

struct BlockEstimates {
  BlockEstimate before;
  BlockEstimate after;
};

// `places` are the new numbers of all nodes of the union; a node is hot if it is named more often
// than `cold_mentions`. The draws are always the same.
BlockEstimates EstimateBlocks(const UnionRows& rows, std::span<const uint32_t> places,
                              std::span<const uint32_t> mentions, uint32_t cold_mentions);

}  // namespace graphzero::compile
