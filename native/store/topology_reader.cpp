#include "store/topology_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/text.h"
#include "store/legacy_format.h"
#include "store/spread_looks.h"
#include "store/topology_format.h"

namespace graphzero::store {
namespace {

using base::Number;

SectionKind Sibling(SectionKind indptr, uint32_t step) {
  return static_cast<SectionKind>(static_cast<uint32_t>(indptr) + step);
}

}  // namespace

bool IsWeightName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxWeightName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

TopologyReader TopologyReader::Open(const std::string& path) {
  return OpenMapped(MappedFile::Open(path));
}

TopologyReader TopologyReader::OpenMapped(std::shared_ptr<const MappedFile> file) {
  TopologyReader reader;
  reader.file_ = std::move(file);
  if (ReadMagic(*reader.file_) == kLegacyTopologyMagic) {
    reader.OpenLegacy();
  } else {
    reader.OpenVersion1();
  }
  return reader;
}

void TopologyReader::OpenVersion1() {
  container_ = std::make_shared<const Container>(Container::Open(file_, kTopologyMagic));
  const FileHeader& header = container_->header();
  const auto properties = std::bit_cast<TopologyProperties>(header.properties);
  for (uint8_t byte : properties.reserved) {
    if (byte != 0) throw FormatError(file_->path(), "graph properties", "a reserved value", "zero");
  }
  num_src_ = properties.num_src;
  num_dst_ = properties.num_dst;
  num_edges_ = properties.num_edges;
  edge_id_bound_ = properties.edge_id_bound;
  flags_ = header.optional_flags;
  if (symmetric() && num_src_ != num_dst_) {
    throw FormatError(
        file_->path(), "graph properties",
        "a symmetric graph of " + Number(num_src_) + " x " + Number(num_dst_) + " nodes",
        "as many sources as targets");
  }
  out_ = ReadAdjacency(SectionKind::kOutIndptr, num_src_, num_dst_);
  in_ = ReadAdjacency(SectionKind::kInIndptr, num_dst_, num_src_);
  if (!out_ && !in_) {
    throw FormatError(file_->path(), "section table", "no adjacency", "out.indptr or in.indptr");
  }
  if (out_ && in_ &&
      ((out_->weights == nullptr) != (in_->weights == nullptr) ||
       out_->edge_ids.present() != in_->edge_ids.present() ||
       (out_->times == nullptr) != (in_->times == nullptr))) {
    throw FormatError(file_->path(), "section table",
                      "weights, edge ids or times of one direction only", "both or neither");
  }
  if (const SectionEntry* name = container_->Find(SectionKind::kWeightName)) ReadWeightName(*name);
}

void TopologyReader::ReadWeightName(const SectionEntry& entry) {
  const bool fits = entry.dtype == DType::kUInt8 && entry.count >= 1 &&
                    entry.count <= kMaxWeightName && has_weights();
  if (fits) {
    weight_name_.resize(entry.count);
    file_->Read(entry.offset, std::as_writable_bytes(std::span(weight_name_)));
  }
  if (!fits || !IsWeightName(weight_name_)) {
    throw FormatError(file_->path(), "weight_name",
                      Number(entry.count) + " " + std::string(Name(entry.dtype)),
                      "1 to " + Number(kMaxWeightName) +
                          " uint8, letters, digits and underscores, in a graph with weights");
  }
}

std::optional<Adjacency> TopologyReader::ReadAdjacency(SectionKind indptr_kind, uint64_t rows,
                                                       uint64_t neighbour_bound) const {
  const SectionEntry* indptr = container_->Find(indptr_kind);
  if (indptr == nullptr) return std::nullopt;
  const std::string& path = file_->path();
  // Counts are compared by subtraction: rows + 1 could wrap.
  if (indptr->dtype != DType::kUInt64 || indptr->count == 0 || indptr->count - 1 != rows) {
    throw FormatError(path, SectionName(indptr_kind),
                      Number(indptr->count) + " " + std::string(Name(indptr->dtype)),
                      "one uint64 more than the " + Number(rows) + " rows");
  }
  const auto read = [&](uint32_t step, auto allowed, const char* types) -> const SectionEntry* {
    const SectionEntry* entry = container_->Find(Sibling(indptr_kind, step));
    if (entry == nullptr) return nullptr;
    if (!allowed(entry->dtype) || entry->count != num_edges_) {
      throw FormatError(path, SectionName(entry->kind),
                        Number(entry->count) + " " + std::string(Name(entry->dtype)),
                        Number(num_edges_) + " " + types);
    }
    return entry;
  };
  const auto integer = [](DType d) { return d == DType::kUInt32 || d == DType::kUInt64; };
  const SectionEntry* indices = read(1, integer, "uint32 or uint64");
  if (indices == nullptr) {
    throw FormatError(path, "section table", "no " + SectionName(Sibling(indptr_kind, 1)),
                      "one beside " + SectionName(indptr_kind));
  }
  const SectionEntry* weights = read(2, [](DType d) { return d == DType::kFloat32; }, "float32");
  const SectionEntry* edge_ids = read(3, integer, "uint32 or uint64");
  const SectionEntry* times = read(4, [](DType d) { return d == DType::kInt64; }, "int64");
  const auto array = [&](const SectionEntry* entry) {
    return IntegerArray{container_->Bytes(*entry).data(),
                        static_cast<uint32_t>(ItemSize(entry->dtype))};
  };
  Adjacency adjacency;
  adjacency.indptr = reinterpret_cast<const uint64_t*>(container_->Bytes(*indptr).data());
  adjacency.neighbours = array(indices);
  if (weights) {
    adjacency.weights = reinterpret_cast<const float*>(container_->Bytes(*weights).data());
  }
  if (edge_ids) adjacency.edge_ids = array(edge_ids);
  if (times) {
    adjacency.times = reinterpret_cast<const int64_t*>(container_->Bytes(*times).data());
  }
  adjacency.rows = rows;
  adjacency.edges = num_edges_;
  adjacency.neighbour_bound = neighbour_bound;
  return adjacency;
}

void TopologyReader::OpenLegacy() {
  const LegacyTopology legacy = ReadLegacyTopology(*file_);
  num_src_ = num_dst_ = legacy.num_nodes;
  num_edges_ = legacy.num_edges;
  const std::byte* base = file_->bytes().data();
  Adjacency adjacency;
  adjacency.indptr = reinterpret_cast<const uint64_t*>(base + legacy.indptr_offset);
  adjacency.neighbours = {base + legacy.indices_offset, 8};
  if (legacy.weights_offset != 0) {
    adjacency.weights = reinterpret_cast<const float*>(base + legacy.weights_offset);
  }
  adjacency.rows = legacy.num_nodes;
  adjacency.edges = legacy.num_edges;
  adjacency.neighbour_bound = legacy.num_nodes;
  out_ = adjacency;
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
        (&adjacency == in() ? "in.indices" : "out.indices") + std::string(" slot ") + Number(slot),
        "node " + Number(id),
        "below " + Number(adjacency.neighbour_bound) +
            "; the file is damaged, run graphzero verify");
  }
}

Fingerprint TopologyReader::fingerprint() const {
  return container_ ? container_->header().fingerprint : Fingerprint{};
}

}  // namespace graphzero::store
