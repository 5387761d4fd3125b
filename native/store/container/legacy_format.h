// Files written by GraphZero 0.2. They have no checksums, and the size of the file only follows
// from its header. A topology always has the out-adjacency alone, with 64-bit ids and rows in input
// order.
#pragma once

#include <cstdint>

#include "store/container/container_format.h"
#include "store/files/mapped_file.h"

namespace graphzero::store {

inline constexpr Magic kLegacyTopologyMagic{'g', 'r', 'a', 'p', 'h', 'l', 'i', 't'};
inline constexpr Magic kLegacyMatrixMagic{'G', 'Z', 'D', 'A', 'T', 'A', '2', '6'};

// Offsets proved to lie inside the file and to be aligned for their type.
struct LegacyTopology {
  uint64_t num_nodes;
  uint64_t num_edges;
  uint64_t indptr_offset;
  uint64_t indices_offset;
  uint64_t weights_offset;  // 0 when the file has none
};

struct LegacyMatrix {
  uint64_t rows;
  uint64_t cols;
  DType dtype;
  uint64_t data_offset;
};

LegacyTopology ReadLegacyTopology(const MappedFile& file);  // throws FormatError
LegacyMatrix ReadLegacyMatrix(const MappedFile& file);      // throws FormatError

}  // namespace graphzero::store
