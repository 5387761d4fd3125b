#include "store/topology/topology_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/text.h"
#include "store/container/legacy_format.h"
#include "store/files/mapped_file.h"
#include "store/topology/topology_format.h"

namespace graphzero::store {
namespace {

using base::Number;

SectionKind Sibling(SectionKind indptr, uint32_t step) {
  return static_cast<SectionKind>(static_cast<uint32_t>(indptr) + step);
}

// Whether the `relation` of such a section is the number of a type, or of a relation.
bool IsOfType(SectionKind kind) {
  return kind == SectionKind::kNodeTimes || kind == SectionKind::kNodesByTime ||
         kind == SectionKind::kTimesByTime;
}

bool IsOfRelation(SectionKind kind) {
  return (kind >= SectionKind::kOutIndptr && kind <= SectionKind::kInSlotTimes) ||
         kind == SectionKind::kWeightName;
}

// Larger than any schema without fault.
constexpr uint64_t kMaxSchemaBytes = sizeof(SchemaHead) +
                                     kMaxTypes * (sizeof(TypeRecord) + kMaxName) +
                                     2 * kMaxRelations * (sizeof(RelationRecord) + kMaxName);

}  // namespace

bool IsWeightName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxWeightName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

bool IsTimeUnit(std::string_view unit) {
  constexpr std::array<std::string_view, 5> kUnits{"D", "s", "ms", "us", "ns"};
  return std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end();
}

// Reads header, schema and table of a file and checks that they agree.
class TopologyOpener {
 public:
  using Contents = TopologyReader::Contents;

  TopologyOpener(const MappedFile& file, const Container* container)
      : file_(file), container_(container) {}

  Contents Version1();
  Contents Legacy();

 private:
  [[noreturn]] void Fail(const std::string& place, const std::string& found,
                         const std::string& expected) const {
    throw FormatError(file_.path(), place, found, expected);
  }

  std::string Title(SectionKind kind, uint32_t relation) const;
  template <class T>
  const T* Data(const SectionEntry& entry) const {
    return reinterpret_cast<const T*>(container_->Bytes(entry).data());
  }
  IntegerArray Integers(const SectionEntry& entry) const {
    return {container_->Bytes(entry).data(), static_cast<uint32_t>(ItemSize(entry.dtype))};
  }
  std::string Text(const SectionEntry& entry) const;

  Schema ReadTypedSchema(const SectionEntry& entry, const TopologyProperties& properties) const;
  Schema FlatSchema(const TopologyProperties& properties) const;
  void CheckRelations() const;
  const SectionEntry* Section(SectionKind kind, uint32_t relation, uint64_t count,
                              std::initializer_list<DType> dtypes, const char* types) const;
  NodeType ReadType(uint32_t type) const;
  void ReadRelation(uint32_t relation, uint64_t num_src, uint64_t num_dst);
  const Adjacency* ReadAdjacency(uint32_t relation, bool is_in, uint64_t rows,
                                 uint64_t neighbour_bound);
  const int64_t* ReadSlotTimes(SectionKind kind, uint32_t relation, bool is_in,
                               const int64_t* times) const;
  void CheckFlags(uint32_t relation) const;
  void ReadWeightName(const SectionEntry& entry, Relation* relation) const;
  void ReadTimeUnit(const SectionEntry& entry);

  const MappedFile& file_;
  const Container* container_;
  Schema schema_;
  Contents contents_;
};

std::string TopologyOpener::Title(SectionKind kind, uint32_t relation) const {
  const std::string name = SectionName(kind);
  if (!contents_.typed) return name;
  return IsOfType(kind) ? name + " of " + schema_.types[relation].name
                        : name + " of " + schema_.Title(relation);
}

std::string TopologyOpener::Text(const SectionEntry& entry) const {
  std::string text(entry.count, '\0');
  file_.Read(entry.offset, std::as_writable_bytes(std::span(text)));
  return text;
}

TopologyReader::Contents TopologyOpener::Version1() {
  const FileHeader& header = container_->header();
  const auto properties = std::bit_cast<TopologyProperties>(header.properties);
  for (uint8_t byte : properties.reserved) {
    if (byte != 0) Fail("graph properties", "a reserved value", "zero");
  }
  contents_.num_src = properties.num_src;
  contents_.num_dst = properties.num_dst;
  contents_.num_edges = properties.num_edges;
  contents_.edge_id_bound = properties.edge_id_bound;
  const SectionEntry* schema = container_->Find(SectionKind::kSchema);
  contents_.typed = schema != nullptr;
  schema_ = schema ? ReadTypedSchema(*schema, properties) : FlatSchema(properties);
  if (schema) CheckRelations();
  for (uint32_t t = 0; t < schema_.types.size(); ++t) contents_.types.push_back(ReadType(t));
  for (uint32_t r = 0; r < schema_.num_stored; ++r) {
    const SchemaRelation& relation = schema_.relations[r];
    ReadRelation(r, schema ? schema_.types[relation.source].count : properties.num_src,
                 schema ? schema_.types[relation.target].count : properties.num_dst);
  }
  for (size_t r = schema_.num_stored; r < schema_.relations.size(); ++r) {
    const SchemaRelation& view = schema_.relations[r];
    Relation relation = contents_.relations[view.base];
    relation.name = view.name;
    relation.source = view.source;
    relation.target = view.target;
    relation.inverse.reset();
    relation.is_view = true;
    std::swap(relation.out, relation.in);
    contents_.relations.push_back(std::move(relation));
  }
  if (const SectionEntry* unit = container_->Find(SectionKind::kTimeUnit)) ReadTimeUnit(*unit);
  return std::move(contents_);
}

Schema TopologyOpener::ReadTypedSchema(const SectionEntry& entry,
                                       const TopologyProperties& properties) const {
  if (entry.dtype != DType::kUInt8 || entry.count > kMaxSchemaBytes) {
    Fail("schema", Number(entry.count) + " " + std::string(Name(entry.dtype)),
         "at most " + Number(kMaxSchemaBytes) + " uint8");
  }
  // A copy: the file may change while it is read.
  const std::string bytes = Text(entry);
  Schema schema = ReadSchema(file_.path(), std::as_bytes(std::span(bytes)));
  const auto agree = [&](const char* what, uint64_t header, uint64_t sum) {
    if (header != sum) {
      Fail("graph properties", Number(header) + " " + what, Number(sum) + ", as the schema says");
    }
  };
  agree("sources", properties.num_src, schema.num_nodes());
  agree("targets", properties.num_dst, schema.num_nodes());
  agree("edges", properties.num_edges, schema.num_edges());
  agree("as edge_id_bound", properties.edge_id_bound, schema.edge_id_bound());
  if (container_->header().optional_flags & kTopologyFlags) {
    Fail("byte 44 (optional flags)", Number(container_->header().optional_flags),
         "no flag of a topology, because the schema has those of each relation");
  }
  return schema;
}

// The schema that a graph without types would have.
Schema TopologyOpener::FlatSchema(const TopologyProperties& properties) const {
  const uint32_t flags = container_->header().optional_flags & kTopologyFlags;
  if ((flags & kSymmetric) && properties.num_src != properties.num_dst) {
    Fail("graph properties",
         "a symmetric graph of " + Number(properties.num_src) + " x " + Number(properties.num_dst) +
             " nodes",
         "as many sources as targets");
  }
  Schema schema;
  const bool has_times = container_->Find(SectionKind::kNodeTimes) != nullptr;
  schema.types.push_back(
      {.name = "",
       .count = std::max(properties.num_src, properties.num_dst),
       .has_times = has_times,
       .times_ascend = has_times && container_->Find(SectionKind::kNodesByTime) == nullptr});
  schema.relations.push_back({.name = "",
                              .flags = flags,
                              .num_edges = properties.num_edges,
                              .edge_id_bound = properties.edge_id_bound,
                              .inverse = {}});
  schema.num_stored = 1;
  return schema;
}

// Every section that must be understood belongs to a relation or type that the schema has.
void TopologyOpener::CheckRelations() const {
  for (const SectionEntry& s : container_->sections()) {
    if (!(s.flags & kMustUnderstand)) continue;
    const bool is_single = s.kind == SectionKind::kChecksums || s.kind == SectionKind::kSchema ||
                           s.kind == SectionKind::kTimeUnit;
    const bool of_type = IsOfType(s.kind);
    const size_t bound = is_single ? 1 : of_type ? schema_.types.size() : schema_.num_stored;
    if (s.relation < bound) continue;
    Fail("section table",
         SectionName(s.kind) + (of_type ? " of type " : " of relation ") + Number(s.relation),
         "a number below " + Number(bound) + ", as the schema says");
  }
}

// Finds a section, or null, and checks its type and the number of its items.
const SectionEntry* TopologyOpener::Section(SectionKind kind, uint32_t relation, uint64_t count,
                                            std::initializer_list<DType> dtypes,
                                            const char* types) const {
  const SectionEntry* entry = container_->Find(kind, relation);
  if (entry == nullptr) return nullptr;
  if (std::find(dtypes.begin(), dtypes.end(), entry->dtype) == dtypes.end() ||
      entry->count != count) {
    Fail(Title(kind, relation), Number(entry->count) + " " + std::string(Name(entry->dtype)),
         Number(count) + " " + types);
  }
  return entry;
}

NodeType TopologyOpener::ReadType(uint32_t t) const {
  const SchemaType& type = schema_.types[t];
  NodeType result;
  result.name = type.name;
  result.count = type.count;
  result.times_ascend = type.times_ascend;
  const SectionEntry* times =
      Section(SectionKind::kNodeTimes, t, type.count, {DType::kInt64}, "int64");
  const SectionEntry* by_time = Section(SectionKind::kNodesByTime, t, type.count,
                                        {DType::kUInt32, DType::kUInt64}, "uint32 or uint64");
  const SectionEntry* sorted =
      Section(SectionKind::kTimesByTime, t, type.count, {DType::kInt64}, "int64");
  const bool by_time_expected = type.has_times && !type.times_ascend;
  const auto expect = [&](const SectionEntry* found, SectionKind kind, bool expected) {
    if ((found != nullptr) == expected) return;
    Fail("section table", (found ? "a section " : "no section ") + Title(kind, t),
         std::string(expected ? "one" : "none") +
             ": nodes have times, and are sorted by them where the times do not ascend");
  };
  expect(times, SectionKind::kNodeTimes, type.has_times);
  expect(by_time, SectionKind::kNodesByTime, by_time_expected);
  expect(sorted, SectionKind::kTimesByTime, by_time_expected);
  if (times) result.times = result.sorted_times = Data<int64_t>(*times);
  if (by_time) result.by_time = Integers(*by_time);
  if (sorted) result.sorted_times = Data<int64_t>(*sorted);
  return result;
}

void TopologyOpener::ReadRelation(uint32_t r, uint64_t num_src, uint64_t num_dst) {
  const SchemaRelation& stored = schema_.relations[r];
  Relation relation;
  relation.name = stored.name;
  relation.source = stored.source;
  relation.target = stored.target;
  relation.base = stored.base;
  relation.inverse = stored.inverse;
  relation.num_edges = stored.num_edges;
  relation.edge_id_bound = stored.edge_id_bound;
  relation.symmetric = stored.flags & kSymmetric;
  relation.multi_edges_dropped = stored.flags & kMultiEdgesDropped;
  relation.out = ReadAdjacency(r, /*is_in=*/false, num_src, num_dst);
  relation.in = ReadAdjacency(r, /*is_in=*/true, num_dst, num_src);
  const Adjacency* out = relation.out;
  const Adjacency* in = relation.in;
  if (!out && !in) {
    Fail("section table",
         "no adjacency" + (contents_.typed ? " of " + schema_.Title(r) : std::string()),
         "out.indptr or in.indptr");
  }
  if (out && in &&
      ((out->weights == nullptr) != (in->weights == nullptr) ||
       out->edge_ids.present() != in->edge_ids.present() ||
       (out->times == nullptr) != (in->times == nullptr))) {
    Fail("section table",
         "weights, edge ids or times of one direction only" +
             (contents_.typed ? " of " + schema_.Title(r) : std::string()),
         "both or neither");
  }
  if (const SectionEntry* name = container_->Find(SectionKind::kWeightName, r)) {
    ReadWeightName(*name, &relation);
  }
  contents_.relations.push_back(std::move(relation));
  CheckFlags(r);
}

// Refuses flags that claim an order which no adjacency can have.
void TopologyOpener::CheckFlags(uint32_t r) const {
  const uint32_t flags = schema_.relations[r].flags;
  if (!(flags & kTimeOrdered)) return;
  const Relation& relation = contents_.relations[r];
  bool ordered = false, other = false;
  for (const Adjacency* a : {relation.out, relation.in}) {
    if (a != nullptr) (a->time_ordered ? ordered : other) = true;
  }
  const std::string place =
      contents_.typed ? "schema relation " + Number(r) : "byte 44 (optional flags)";
  if (!ordered) Fail(place, "the flag time-ordered", "slot times to order rows by");
  if ((flags & kSortedRows) && !other) {
    Fail(place, "the flags sorted and time-ordered",
         "time-ordered alone, because all rows have slot times");
  }
}

const Adjacency* TopologyOpener::ReadAdjacency(uint32_t r, bool is_in, uint64_t rows,
                                               uint64_t neighbour_bound) {
  const SectionKind first = is_in ? SectionKind::kInIndptr : SectionKind::kOutIndptr;
  const SectionEntry* indptr = container_->Find(first, r);
  if (indptr == nullptr) return nullptr;
  // Counts are compared by subtraction: rows + 1 could wrap.
  if (indptr->dtype != DType::kUInt64 || indptr->count == 0 || indptr->count - 1 != rows) {
    Fail(Title(first, r), Number(indptr->count) + " " + std::string(Name(indptr->dtype)),
         "one uint64 more than the " + Number(rows) + " rows");
  }
  const SchemaRelation& relation = schema_.relations[r];
  const auto read = [&](uint32_t step, std::initializer_list<DType> dtypes, const char* types) {
    return Section(Sibling(first, step), r, relation.num_edges, dtypes, types);
  };
  const SectionEntry* indices = read(1, {DType::kUInt32, DType::kUInt64}, "uint32 or uint64");
  if (indices == nullptr) {
    Fail("section table", "no " + Title(Sibling(first, 1), r), "one beside " + SectionName(first));
  }
  const SectionEntry* weights = read(2, {DType::kFloat32}, "float32");
  const SectionEntry* edge_ids = read(3, {DType::kUInt32, DType::kUInt64}, "uint32 or uint64");
  const SectionEntry* times = read(4, {DType::kInt64}, "int64");
  Adjacency adjacency;
  adjacency.indptr = Data<uint64_t>(*indptr);
  adjacency.neighbours = Integers(*indices);
  if (weights) adjacency.weights = Data<float>(*weights);
  if (edge_ids) adjacency.edge_ids = Integers(*edge_ids);
  if (times) adjacency.times = Data<int64_t>(*times);
  adjacency.slot_times = ReadSlotTimes(Sibling(first, 5), r, is_in, adjacency.times);
  adjacency.rows = rows;
  adjacency.edges = relation.num_edges;
  adjacency.neighbour_bound = neighbour_bound;
  adjacency.time_ordered = (relation.flags & kTimeOrdered) && adjacency.slot_times != nullptr;
  adjacency.sorted = (relation.flags & kSortedRows) && !adjacency.time_ordered;
  adjacency.is_in = is_in;
  adjacency.relation = r;
  return &contents_.adjacencies.emplace_back(adjacency);
}

// A slot has a time if its edge or its neighbour has one. A slot without a time is taken for one
// that has always existed, so a sample would see the future if a file left slot times out. Such a
// file is refused.
const int64_t* TopologyOpener::ReadSlotTimes(SectionKind kind, uint32_t r, bool is_in,
                                             const int64_t* times) const {
  const SchemaRelation& relation = schema_.relations[r];
  const SectionEntry* entry = Section(kind, r, relation.num_edges, {DType::kInt64}, "int64");
  const SchemaType& neighbours = schema_.types[is_in ? relation.source : relation.target];
  if (entry != nullptr && !neighbours.has_times) {
    Fail("section table", "a section " + Title(kind, r),
         "none, because its neighbours have no times");
  }
  if (entry == nullptr && times == nullptr && neighbours.has_times) {
    Fail("section table", "no section " + Title(kind, r), "one, because its neighbours have times");
  }
  return entry ? Data<int64_t>(*entry) : times;
}

void TopologyOpener::ReadWeightName(const SectionEntry& entry, Relation* relation) const {
  const bool fits = entry.dtype == DType::kUInt8 && entry.count >= 1 &&
                    entry.count <= kMaxWeightName && relation->any().weights != nullptr;
  if (fits) relation->weight_name = Text(entry);
  if (!fits || !IsWeightName(relation->weight_name)) {
    Fail(Title(entry.kind, entry.relation),
         Number(entry.count) + " " + std::string(Name(entry.dtype)),
         "1 to " + Number(kMaxWeightName) +
             " uint8, letters, digits and underscores, in a graph with weights");
  }
}

void TopologyOpener::ReadTimeUnit(const SectionEntry& entry) {
  const bool fits = entry.dtype == DType::kUInt8 && entry.count >= 1 && entry.count <= 2;
  if (fits) contents_.time_unit = Text(entry);
  if (!fits || !IsTimeUnit(contents_.time_unit)) {
    Fail("time_unit", Number(entry.count) + " " + std::string(Name(entry.dtype)),
         "D, s, ms, us or ns as uint8");
  }
}

TopologyReader::Contents TopologyOpener::Legacy() {
  const LegacyTopology legacy = ReadLegacyTopology(file_);
  contents_.num_src = contents_.num_dst = legacy.num_nodes;
  contents_.num_edges = legacy.num_edges;
  const std::byte* base = file_.bytes().data();
  Adjacency& adjacency = contents_.adjacencies.emplace_back();
  adjacency.indptr = reinterpret_cast<const uint64_t*>(base + legacy.indptr_offset);
  adjacency.neighbours = {base + legacy.indices_offset, 8};
  if (legacy.weights_offset != 0) {
    adjacency.weights = reinterpret_cast<const float*>(base + legacy.weights_offset);
  }
  adjacency.rows = legacy.num_nodes;
  adjacency.edges = legacy.num_edges;
  adjacency.neighbour_bound = legacy.num_nodes;
  contents_.types.emplace_back().count = legacy.num_nodes;
  Relation& relation = contents_.relations.emplace_back();
  relation.num_edges = legacy.num_edges;
  relation.out = &adjacency;
  return std::move(contents_);
}

TopologyReader TopologyReader::Open(const std::string& path) {
  return OpenMapped(MappedFile::Open(path));
}

TopologyReader TopologyReader::OpenMapped(std::shared_ptr<const MappedFile> file) {
  TopologyReader reader;
  reader.file_ = std::move(file);
  const bool legacy = ReadMagic(*reader.file_) == kLegacyTopologyMagic;
  if (!legacy) {
    reader.container_ =
        std::make_shared<const Container>(Container::Open(reader.file_, kTopologyMagic));
  }
  TopologyOpener opener(*reader.file_, reader.container_.get());
  // Moving the contents keeps pointers to adjacencies valid: a moved deque keeps its elements in
  // place.
  reader.contents_ = std::make_shared<const Contents>(legacy ? opener.Legacy() : opener.Version1());
  return reader;
}

std::string TopologyReader::Title(uint32_t relation) const {
  if (!typed()) return "";
  const Relation& r = relations()[relation];
  return "(" + types()[r.source].name + ", " + r.name + ", " + types()[r.target].name + ")";
}

std::string TopologyReader::SectionTitle(SectionKind kind, uint32_t relation) const {
  const std::string name = SectionName(kind);
  if (!typed()) return name;
  if (IsOfType(kind) && relation < types().size()) return name + " of " + types()[relation].name;
  if (IsOfRelation(kind) && relation < relations().size()) return name + " of " + Title(relation);
  return name;
}

namespace {

template <class Predicate>
bool AnyRelation(const TopologyReader& graph, Predicate predicate) {
  return std::any_of(graph.relations().begin(), graph.relations().end(), predicate);
}

}  // namespace

bool TopologyReader::symmetric() const {
  return AnyRelation(*this, [](const Relation& r) { return r.symmetric; });
}
bool TopologyReader::sorted() const {
  return AnyRelation(*this, [](const Relation& r) { return r.any().sorted; });
}
bool TopologyReader::multi_edges_dropped() const {
  return AnyRelation(*this, [](const Relation& r) { return r.multi_edges_dropped; });
}
bool TopologyReader::has_weights() const {
  return AnyRelation(*this, [](const Relation& r) { return r.any().weights != nullptr; });
}
bool TopologyReader::has_edge_ids() const {
  return AnyRelation(*this, [](const Relation& r) { return r.any().edge_ids.present(); });
}
bool TopologyReader::has_times() const {
  return AnyRelation(*this, [](const Relation& r) { return r.any().times != nullptr; });
}

SlotRange TopologyReader::Row(const Adjacency& adjacency, uint64_t node) const {
  if (node >= adjacency.rows) {
    throw std::out_of_range("node id " + Number(node) +
                            " is outside this graph: valid ids are 0 to " + Number(adjacency.rows) +
                            " (exclusive) in " + file_->path());
  }
  SlotRange range;
  if (!adjacency.CheckedRow(node, &range)) {
    throw FormatError(file_->path(), "indptr of node " + Number(node),
                      Number(range.begin) + " to " + Number(range.end),
                      "a rising pair up to " + Number(adjacency.edges) +
                          "; the file is damaged, run graphzero verify");
  }
  return range;
}

bool TopologyReader::RowsInMemory(const Adjacency& adjacency,
                                  std::span<const int64_t> nodes) const {
  constexpr size_t kLooks = 8;
  const auto offset_of = [&](const void* at) {
    return static_cast<uint64_t>(static_cast<const std::byte*>(at) - file_->bytes().data());
  };
  const uint64_t indptr = offset_of(adjacency.indptr);
  const uint64_t neighbours = offset_of(adjacency.neighbours.data);
  return SpreadLooks(nodes.size(), kLooks, [&](size_t i) {
    const auto node = static_cast<uint64_t>(nodes[i]);
    if (node >= adjacency.rows) return true;
    std::array<uint64_t, 2> row{};
    const auto bytes = std::as_writable_bytes(std::span(row));
    if (!file_->TryRead(indptr + node * sizeof(uint64_t), bytes)) return false;
    if (row[0] >= row[1] || row[1] > adjacency.edges) return true;
    std::byte byte;
    return file_->TryRead(neighbours + row[0] * adjacency.neighbours.width, {&byte, 1});
  });
}

void TopologyReader::CheckNeighbours(const Adjacency& adjacency, const SlotRange& range) const {
  for (uint64_t slot = range.begin; slot < range.end; ++slot) {
    const uint64_t id = adjacency.neighbours[slot];
    if (id < adjacency.neighbour_bound) continue;
    throw FormatError(
        file_->path(),
        SectionTitle(adjacency.is_in ? SectionKind::kInIndices : SectionKind::kOutIndices,
                     adjacency.relation) +
            " slot " + Number(slot),
        "node " + Number(id),
        "below " + Number(adjacency.neighbour_bound) +
            "; the file is damaged, run graphzero verify");
  }
}

Fingerprint TopologyReader::fingerprint() const {
  return container_ ? container_->header().fingerprint : Fingerprint{};
}

}  // namespace graphzero::store
