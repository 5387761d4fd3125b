#include "store/topology/schema.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/text.h"
#include "store/topology/topology_format.h"

namespace graphzero::store {
namespace {

using base::Number;

// Python sees node ids and slots as signed 64-bit numbers.
constexpr uint64_t kMost = static_cast<uint64_t>(INT64_MAX);

// Returns the next code point and moves `at` behind it; nothing if the bytes are no UTF-8. Overlong
// forms, surrogates and numbers above 10ffff are no UTF-8.
std::optional<uint32_t> NextCodePoint(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(*at);
  size_t more;
  uint32_t smallest, value;
  if (lead < 0x80) {
    more = 0, smallest = 0, value = lead;
  } else if (lead >> 5 == 0x6) {
    more = 1, smallest = 0x80, value = lead & 0x1f;
  } else if (lead >> 4 == 0xe) {
    more = 2, smallest = 0x800, value = lead & 0x0f;
  } else if (lead >> 3 == 0x1e) {
    more = 3, smallest = 0x10000, value = lead & 0x07;
  } else {
    return std::nullopt;
  }
  if (text.size() - *at <= more) return std::nullopt;
  for (size_t i = 1; i <= more; ++i) {
    if (byte(*at + i) >> 6 != 0x2) return std::nullopt;
    value = value << 6 | (byte(*at + i) & 0x3f);
  }
  if (value < smallest || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
    return std::nullopt;
  }
  *at += more + 1;
  return value;
}

std::string TypePlace(size_t type) { return "type " + Number(type); }
std::string RelationPlace(size_t relation) { return "relation " + Number(relation); }

std::optional<SchemaFault> FindTypeFault(const Schema& schema) {
  std::map<std::string_view, size_t> seen;
  uint64_t nodes = 0;
  for (size_t t = 0; t < schema.types.size(); ++t) {
    const SchemaType& type = schema.types[t];
    if (!IsSchemaName(type.name)) {
      return SchemaFault{TypePlace(t), "a name of " + Number(type.name.size()) + " bytes",
                         "UTF-8 of 1 to 255 bytes without control characters"};
    }
    const auto [twin, is_new] = seen.emplace(type.name, t);
    if (!is_new) {
      return SchemaFault{
          TypePlace(t),
          "the name '" + type.name + "', which type " + Number(twin->second) + " has too",
          "another name for each type"};
    }
    if (type.count > kMost - nodes) {
      return SchemaFault{TypePlace(t), Number(type.count) + " nodes",
                         "at most " + Number(kMost) + " in all types together"};
    }
    nodes += type.count;
    if (type.times_ascend && !type.has_times) {
      return SchemaFault{TypePlace(t), "ascending times of a type without times", "times"};
    }
  }
  return std::nullopt;
}

// Rules that every relation must follow by itself, including views.
std::optional<SchemaFault> FindRelationFault(const Schema& schema, size_t r) {
  const SchemaRelation& relation = schema.relations[r];
  if (!IsSchemaName(relation.name)) {
    return SchemaFault{RelationPlace(r), "a name of " + Number(relation.name.size()) + " bytes",
                       "UTF-8 of 1 to 255 bytes without control characters"};
  }
  if (relation.source >= schema.types.size() || relation.target >= schema.types.size()) {
    return SchemaFault{RelationPlace(r),
                       "types " + Number(relation.source) + " and " + Number(relation.target),
                       "numbers below " + Number(schema.types.size())};
  }
  if ((relation.flags & kSymmetric) && relation.source != relation.target) {
    return SchemaFault{RelationPlace(r), "a symmetric relation between two types",
                       "one type at both ends"};
  }
  if ((relation.flags & ~kTopologyFlags) != 0) {
    return SchemaFault{RelationPlace(r), "flags " + Number(relation.flags),
                       "only those of this release; a newer one may read it"};
  }
  return std::nullopt;
}

std::optional<SchemaFault> FindStoredFault(const Schema& schema, size_t r) {
  const SchemaRelation& relation = schema.relations[r];
  if (relation.base != r) {
    return SchemaFault{RelationPlace(r), "base " + Number(relation.base),
                       "its own number, because it is stored"};
  }
  if (!relation.inverse) return std::nullopt;
  const uint32_t inverse = *relation.inverse;
  if (inverse >= schema.num_stored || inverse == r) {
    return SchemaFault{RelationPlace(r), "inverse " + Number(inverse),
                       "another stored relation, below " + Number(schema.num_stored)};
  }
  const SchemaRelation& other = schema.relations[inverse];
  if (other.source != relation.target || other.target != relation.source || other.inverse != r) {
    return SchemaFault{RelationPlace(r), "inverse " + Number(inverse),
                       "a relation between the same types the other way, whose inverse this is"};
  }
  return std::nullopt;
}

std::optional<SchemaFault> FindViewFault(const Schema& schema, size_t r) {
  const SchemaRelation& view = schema.relations[r];
  if (view.base >= schema.num_stored) {
    return SchemaFault{RelationPlace(r), "a view of relation " + Number(view.base),
                       "a stored relation, below " + Number(schema.num_stored)};
  }
  const SchemaRelation& base = schema.relations[view.base];
  if (view.source != base.target || view.target != base.source) {
    return SchemaFault{RelationPlace(r),
                       "types " + Number(view.source) + " and " + Number(view.target),
                       "those of relation " + Number(view.base) + " exchanged"};
  }
  if (view.flags != base.flags || view.num_edges != base.num_edges ||
      view.edge_id_bound != base.edge_id_bound || view.inverse) {
    return SchemaFault{
        RelationPlace(r), "a view with properties of its own",
        "flags, num_edges and edge_id_bound of relation " + Number(view.base) + " and no inverse"};
  }
  return std::nullopt;
}

std::optional<SchemaFault> FindRelationFault(const Schema& schema) {
  std::map<std::tuple<uint32_t, std::string_view, uint32_t>, size_t> seen;
  uint64_t edges = 0;
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    const SchemaRelation& relation = schema.relations[r];
    if (auto fault = FindRelationFault(schema, r)) return fault;
    const auto [twin, is_new] = seen.emplace(
        std::tuple(relation.source, std::string_view(relation.name), relation.target), r);
    if (!is_new) {
      return SchemaFault{RelationPlace(r),
                         schema.Title(r) + ", which relation " + Number(twin->second) + " is too",
                         "another name, or other types, for each relation"};
    }
    if (r >= schema.num_stored) continue;
    if (relation.num_edges > kMost - edges) {
      return SchemaFault{RelationPlace(r), Number(relation.num_edges) + " edges",
                         "at most " + Number(kMost) + " in all relations together"};
    }
    edges += relation.num_edges;
  }
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    auto fault = r < schema.num_stored ? FindStoredFault(schema, r) : FindViewFault(schema, r);
    if (fault) return fault;
  }
  return std::nullopt;
}

// Copies a record out of bytes that may lie anywhere.
template <class Record>
Record RecordAt(std::span<const std::byte> bytes, uint64_t at) {
  Record record;
  std::memcpy(&record, bytes.data() + at, sizeof record);
  return record;
}

// Reads the names, which must lie one after the other.
class NameReader {
 public:
  NameReader(const std::string& file, std::span<const std::byte> names)
      : file_(file), names_(names) {}

  std::string Next(const std::string& place, uint32_t offset, uint32_t size) {
    if (offset != next_ || !base::Fits(offset, size, 1, names_.size())) {
      throw FormatError(
          file_, "schema " + place, "a name of " + Number(size) + " bytes at " + Number(offset),
          "one at " + Number(next_) + ", inside the " + Number(names_.size()) + " bytes of names");
    }
    next_ = uint64_t{offset} + size;
    return {reinterpret_cast<const char*>(names_.data()) + offset, size};
  }

  void End() const {
    if (next_ == names_.size()) return;
    throw FormatError(file_, "schema", Number(names_.size()) + " bytes of names",
                      Number(next_) + ", the sum of their lengths");
  }

 private:
  const std::string& file_;
  std::span<const std::byte> names_;
  uint64_t next_ = 0;
};

template <class Record>
void Put(std::string* bytes, const Record& record) {
  bytes->append(reinterpret_cast<const char*>(&record), sizeof record);
}

}  // namespace

bool IsSchemaName(std::string_view name) {
  if (name.empty() || name.size() > kMaxName) return false;
  for (size_t at = 0; at < name.size();) {
    const std::optional<uint32_t> c = NextCodePoint(name, &at);
    if (!c || *c < 0x20 || (*c >= 0x7f && *c < 0xa0)) return false;
  }
  return true;
}

uint64_t Schema::num_nodes() const {
  uint64_t sum = 0;
  for (const SchemaType& type : types) sum += type.count;
  return sum;
}

uint64_t Schema::num_edges() const {
  uint64_t sum = 0;
  for (size_t r = 0; r < num_stored; ++r) sum += relations[r].num_edges;
  return sum;
}

uint64_t Schema::edge_id_bound() const {
  uint64_t largest = 0;
  for (const SchemaRelation& relation : relations) {
    largest = std::max(largest, relation.edge_id_bound);
  }
  return largest;
}

std::string Schema::Title(size_t relation) const {
  const SchemaRelation& r = relations[relation];
  return "(" + types[r.source].name + ", " + r.name + ", " + types[r.target].name + ")";
}

std::optional<SchemaFault> FindFault(const Schema& schema) {
  const size_t views = schema.relations.size() - schema.num_stored;
  if (schema.types.empty() || schema.types.size() > kMaxTypes) {
    return SchemaFault{"types", Number(schema.types.size()), "1 to " + Number(kMaxTypes)};
  }
  if (schema.num_stored == 0 || schema.num_stored > kMaxRelations) {
    return SchemaFault{"relations", Number(schema.num_stored), "1 to " + Number(kMaxRelations)};
  }
  if (views > kMaxRelations) {
    return SchemaFault{"views", Number(views), "at most " + Number(kMaxRelations)};
  }
  if (auto fault = FindTypeFault(schema)) return fault;
  return FindRelationFault(schema);
}

std::string SchemaBytes(const Schema& schema) {
  std::string bytes;
  std::string names;
  const auto add_name = [&](const std::string& name) {
    names += name;
    return static_cast<uint32_t>(names.size() - name.size());
  };
  SchemaHead head{};
  head.num_types = static_cast<uint32_t>(schema.types.size());
  head.num_relations = static_cast<uint32_t>(schema.num_stored);
  head.num_views = static_cast<uint32_t>(schema.relations.size() - schema.num_stored);
  for (const SchemaType& type : schema.types) {
    head.names_bytes += static_cast<uint32_t>(type.name.size());
  }
  for (const SchemaRelation& relation : schema.relations) {
    head.names_bytes += static_cast<uint32_t>(relation.name.size());
  }
  Put(&bytes, head);
  for (const SchemaType& type : schema.types) {
    TypeRecord record{};
    record.count = type.count;
    record.name_offset = add_name(type.name);
    record.name_bytes = static_cast<uint32_t>(type.name.size());
    record.flags = (type.has_times ? kHasNodeTimes : 0) | (type.times_ascend ? kTimesAscend : 0);
    Put(&bytes, record);
  }
  for (const SchemaRelation& relation : schema.relations) {
    RelationRecord record{};
    record.source = relation.source;
    record.target = relation.target;
    record.name_offset = add_name(relation.name);
    record.name_bytes = static_cast<uint32_t>(relation.name.size());
    record.flags = relation.flags;
    record.base = relation.base;
    record.num_edges = relation.num_edges;
    record.edge_id_bound = relation.edge_id_bound;
    record.inverse = relation.inverse.value_or(kNoRelation);
    Put(&bytes, record);
  }
  return bytes + names;
}

Schema ReadSchema(const std::string& file, std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(SchemaHead)) {
    throw FormatError(file, "schema", Number(bytes.size()) + " bytes",
                      "at least " + Number(sizeof(SchemaHead)));
  }
  const auto head = RecordAt<SchemaHead>(bytes, 0);
  // Counts are compared before anything is multiplied by them or allocated for them.
  if (head.num_types > kMaxTypes || head.num_relations > kMaxRelations ||
      head.num_views > kMaxRelations) {
    throw FormatError(file, "schema",
                      Number(head.num_types) + " types, " + Number(head.num_relations) +
                          " relations and " + Number(head.num_views) + " views",
                      "at most " + Number(kMaxRelations) + " of each");
  }
  const size_t relations = size_t{head.num_relations} + head.num_views;
  const uint64_t types_at = sizeof(SchemaHead);
  const uint64_t relations_at = types_at + head.num_types * sizeof(TypeRecord);
  const uint64_t names_at = relations_at + relations * sizeof(RelationRecord);
  if (bytes.size() != names_at + head.names_bytes) {
    throw FormatError(file, "schema", Number(bytes.size()) + " bytes",
                      Number(names_at + head.names_bytes) + " for " + Number(head.num_types) +
                          " types, " + Number(relations) + " relations and their names");
  }
  NameReader names(file, bytes.subspan(names_at));
  Schema schema;
  schema.num_stored = head.num_relations;
  for (size_t t = 0; t < head.num_types; ++t) {
    const auto record = RecordAt<TypeRecord>(bytes, types_at + t * sizeof(TypeRecord));
    if ((record.flags & ~(kHasNodeTimes | kTimesAscend)) != 0 ||
        record.reserved != TypeRecord{}.reserved) {
      throw FormatError(file, "schema " + TypePlace(t), "a reserved value", "zero");
    }
    schema.types.push_back({names.Next(TypePlace(t), record.name_offset, record.name_bytes),
                            record.count, (record.flags & kHasNodeTimes) != 0,
                            (record.flags & kTimesAscend) != 0});
  }
  for (size_t r = 0; r < relations; ++r) {
    const auto record = RecordAt<RelationRecord>(bytes, relations_at + r * sizeof(RelationRecord));
    if (record.reserved != RelationRecord{}.reserved) {
      throw FormatError(file, "schema " + RelationPlace(r), "a reserved value", "zero");
    }
    SchemaRelation relation{
        .name = names.Next(RelationPlace(r), record.name_offset, record.name_bytes),
        .source = record.source,
        .target = record.target,
        .flags = record.flags,
        .base = record.base,
        .num_edges = record.num_edges,
        .edge_id_bound = record.edge_id_bound,
        .inverse = {},
    };
    if (record.inverse != kNoRelation) relation.inverse = record.inverse;
    schema.relations.push_back(std::move(relation));
  }
  names.End();
  if (auto fault = FindFault(schema)) {
    throw FormatError(file, "schema " + fault->place, fault->found, fault->expected);
  }
  return schema;
}

}  // namespace graphzero::store
