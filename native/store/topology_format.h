// Properties of a .gl file. See FORMAT.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "store/container_format.h"

namespace graphzero::store {

// Bits of FileHeader::optional_flags in a .gl file.
inline constexpr uint32_t kSymmetric = 1u << 0;          // the reverse of every edge is stored too
inline constexpr uint32_t kSortedRows = 1u << 1;         // by (neighbour, edge id)
inline constexpr uint32_t kMultiEdgesDropped = 1u << 2;  // no (source, target) pair occurs twice

struct TopologyProperties {
  uint64_t num_src;
  uint64_t num_dst;        // equal to num_src in a homogeneous graph
  uint64_t num_edges;      // slots of one adjacency; an undirected edge takes two
  uint64_t edge_id_bound;  // every edge id is below this: the number of input rows
  std::array<uint8_t, 96> reserved;
};
static_assert(sizeof(TopologyProperties) == sizeof(Properties));

inline constexpr uint64_t kMaxWeightName = 64;

// Whether weights can be called so: ASCII letters, digits and underscores, as columns are.
bool IsWeightName(std::string_view name);

}  // namespace graphzero::store
