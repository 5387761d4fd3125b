// The types and relations of a typed graph: the `schema` section of store/FORMAT.md, its rules, its
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphzero::store {

inline constexpr size_t kMaxTypes = 1024;
inline constexpr size_t kMaxRelations = 1024;  // stored ones; and as many views
inline constexpr size_t kMaxName = 255;        // bytes of UTF-8

// A type of nodes. Its nodes are numbered from 0.
struct SchemaType {
  std::string name;
  uint64_t count = 0;
  bool has_times = false;
  bool times_ascend = false;  // with the node's number; needs has_times
};

// Edges from nodes of one type to nodes of another, or of the same.
struct SchemaRelation {
  std::string name;
  uint32_t source = 0;  // number of a type
  uint32_t target = 0;
  uint32_t flags = 0;  // kSymmetric, kSortedRows, kMultiEdgesDropped, kTimeOrdered
  uint32_t base = 0;   // its own number if it is stored, else that of the one it is a view of
  uint64_t num_edges = 0;
  uint64_t edge_id_bound = 0;
  std::optional<uint32_t> inverse;  // the stored relation that holds the reverse of its edges
};

struct Schema {
  std::vector<SchemaType> types;
  std::vector<SchemaRelation> relations;  // stored ones first, then views
  size_t num_stored = 0;

  // What the header of the file must say. Needs a schema without fault.
  uint64_t num_nodes() const;
  uint64_t num_edges() const;
  uint64_t edge_id_bound() const;
  // "(user, rates, movie)", for messages.
  std::string Title(size_t relation) const;
};

// The first rule that a schema breaks.
struct SchemaFault {
  std::string place;  // "relation 3"
  std::string found;
  std::string expected;
};

// Checks everything that store/FORMAT.md says about a schema by itself. The reader checks whether
// the sections of the file agree with it. Both the reader and the compiler call this.
std::optional<SchemaFault> FindFault(const Schema& schema);

// Whether a type or relation may have this name: UTF-8 of 1 to 255 bytes without control
// characters.
bool IsSchemaName(std::string_view name);

// The section's bytes. Needs a schema without fault.
std::string SchemaBytes(const Schema& schema);

// Reads the section of `file`. Trusts none of its bytes: checks all of them and throws FormatError.
Schema ReadSchema(const std::string& file, std::span<const std::byte> bytes);

}  // namespace graphzero::store
