// Properties and schema of a .gl file. See store/FORMAT.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "store/container/container_format.h"

namespace graphzero::store {

// Bits of FileHeader::optional_flags in a .gl file of one type, and of RelationRecord::flags.
inline constexpr uint32_t kSymmetric = 1u << 0;          // the reverse of every edge is stored too
inline constexpr uint32_t kSortedRows = 1u << 1;         // by (neighbour, edge id)
inline constexpr uint32_t kMultiEdgesDropped = 1u << 2;  // no (source, target, time) occurs twice
inline constexpr uint32_t kTimeOrdered = 1u << 3;        // by (slot time, edge id, neighbour)
inline constexpr uint32_t kTopologyFlags =
    kSymmetric | kSortedRows | kMultiEdgesDropped | kTimeOrdered;

struct TopologyProperties {
  uint64_t num_src;
  uint64_t num_dst;        // equal to num_src in a homogeneous graph
  uint64_t num_edges;      // slots of one adjacency; an undirected edge takes two
  uint64_t edge_id_bound;  // every edge id is below this: the number of input rows
  std::array<uint8_t, 96> reserved;
};
static_assert(sizeof(TopologyProperties) == sizeof(Properties));

// The schema section: a head, the types, the relations, the names.
struct SchemaHead {
  uint32_t num_types;
  uint32_t num_relations;  // stored ones
  uint32_t num_views;
  uint32_t names_bytes;
};
static_assert(sizeof(SchemaHead) == 16);

inline constexpr uint32_t kHasNodeTimes = 1u << 0;  // bits of TypeRecord::flags
inline constexpr uint32_t kTimesAscend = 1u << 1;

struct TypeRecord {
  uint64_t count;
  uint32_t name_offset;  // counted from the first name
  uint32_t name_bytes;
  uint32_t flags;
  std::array<uint8_t, 12> reserved;
};
static_assert(sizeof(TypeRecord) == 32);

inline constexpr uint32_t kNoRelation = UINT32_MAX;

struct RelationRecord {
  uint32_t source;
  uint32_t target;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint32_t flags;
  uint32_t base;
  uint64_t num_edges;
  uint64_t edge_id_bound;
  uint32_t inverse;  // kNoRelation: none is declared
  std::array<uint8_t, 20> reserved;
};
static_assert(sizeof(RelationRecord) == 64);

inline constexpr uint64_t kMaxWeightName = 64;

// Whether `name` may be the name of weights: ASCII letters, digits and underscores, as for columns.
bool IsWeightName(std::string_view name);

// Whether `unit` is a unit of times: D, s, ms, us or ns.
bool IsTimeUnit(std::string_view unit);

}  // namespace graphzero::store
