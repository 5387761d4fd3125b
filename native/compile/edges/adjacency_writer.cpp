#include "compile/edges/adjacency_writer.h"

#include <stdexcept>

namespace graphzero::compile {
namespace {

constexpr size_t kStartsBuffered = 8192;

store::SectionKind After(store::SectionKind indptr, uint32_t step) {
  return static_cast<store::SectionKind>(static_cast<uint32_t>(indptr) + step);
}

}  // namespace

std::vector<store::SectionSpec> SectionsOf(const AdjacencyLayout& layout, store::SectionKind indptr,
                                           uint32_t relation) {
  using store::DType;
  const uint64_t starts = layout.rows + 1;
  const auto integers = [&](bool wide, uint32_t step) {
    return store::SectionSpec{After(indptr, step), wide ? DType::kUInt64 : DType::kUInt32,
                              layout.edges, layout.edges * (wide ? 8 : 4)};
  };
  std::vector<store::SectionSpec> sections;
  sections.push_back({indptr, DType::kUInt64, starts, starts * 8});
  sections.push_back(integers(layout.wide_neighbours, 1));
  if (layout.weights) {
    sections.push_back({After(indptr, 2), DType::kFloat32, layout.edges, layout.edges * 4});
  }
  if (layout.edge_ids) sections.push_back(integers(layout.wide_edge_ids, 3));
  for (const uint32_t step : {layout.times ? 4u : 0u, layout.slot_times ? 5u : 0u}) {
    if (step == 0) continue;
    sections.push_back({After(indptr, step), DType::kInt64, layout.edges, layout.edges * 8});
  }
  for (store::SectionSpec& section : sections) section.relation = relation;
  return sections;
}

AdjacencyWriter::AdjacencyWriter(const AdjacencyLayout& layout, store::ContainerWriter* file,
                                 size_t first_section)
    : layout_(layout),
      indptr_(&file->stream(first_section)),
      neighbours_(&file->stream(first_section + 1)) {
  size_t next = first_section + 2;
  if (layout.weights) weights_ = &file->stream(next++);
  if (layout.edge_ids) edge_ids_ = &file->stream(next++);
  if (layout.times) times_ = &file->stream(next++);
  if (layout.slot_times) slot_times_ = &file->stream(next++);
}

// Writes the start of every row below `row` that has none yet.
void AdjacencyWriter::EmitStartsBelow(uint64_t row) {
  while (next_row_ < row) {
    starts_.push_back(slots_);
    ++next_row_;
    if (starts_.size() >= kStartsBuffered) FlushStarts();
  }
}

void AdjacencyWriter::FlushStarts() {
  indptr_->Append(std::as_bytes(std::span(starts_)));
  starts_.clear();
}

void AdjacencyWriter::StartRows(std::span<const RowCount> rows) {
  for (const RowCount& row : rows) {
    EmitStartsBelow(row.row + 1);
    slots_ += row.count;
  }
}

void AdjacencyWriter::AppendWeights(std::span<const float> weights) {
  weights_->Append(std::as_bytes(weights));
}

void AdjacencyWriter::AppendTimes(std::span<const int64_t> times) {
  times_->Append(std::as_bytes(times));
}

void AdjacencyWriter::AppendSlotTimes(std::span<const int64_t> times) {
  slot_times_->Append(std::as_bytes(times));
}

void AdjacencyWriter::AppendEdgeIds(std::span<const uint64_t> ids) {
  if (layout_.wide_edge_ids) return Wide(edge_ids_, ids);
  narrow_.assign(ids.begin(), ids.end());
  Narrow(edge_ids_, narrow_);
}

void AdjacencyWriter::Narrow(store::SectionStream* stream, std::span<const uint32_t> values) {
  stream->Append(std::as_bytes(values));
}

void AdjacencyWriter::Wide(store::SectionStream* stream, std::span<const uint64_t> values) {
  stream->Append(std::as_bytes(values));
}

void AdjacencyWriter::Finish() {
  EmitStartsBelow(layout_.rows + 1);
  FlushStarts();
  if (slots_ != layout_.edges) throw std::logic_error("adjacency has another number of slots");
}

}  // namespace graphzero::compile
