// The sections of one adjacency, filled row by row in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compile/edges/row_sorter.h"
#include "store/container/container_writer.h"

namespace graphzero::compile {

// Which sections an adjacency has and how wide their items are.
struct AdjacencyLayout {
  uint64_t rows;
  uint64_t edges;
  bool wide_neighbours;  // 8 bytes instead of 4
  bool weights;
  bool edge_ids;
  bool wide_edge_ids;
  bool times = false;       // of the edges
  bool slot_times = false;  // of the slots, where these differ from the edge times
};

// The sections, for ContainerWriter; `indptr` is kOutIndptr or kInIndptr.
std::vector<store::SectionSpec> SectionsOf(const AdjacencyLayout& layout, store::SectionKind indptr,
                                           uint32_t relation);

// One thread at a time.
class AdjacencyWriter {
 public:
  // The adjacency's sections are the writer's streams from `first_section` on.
  AdjacencyWriter(const AdjacencyLayout& layout, store::ContainerWriter* file,
                  size_t first_section);

  // Rows must come in rising order; a row may come again if it was the last one.
  void StartRows(std::span<const RowCount> rows);

  // Append the slots of the started rows, in order. Each needs one value for every slot, and must
  // not be called if the layout lacks its section.
  void AppendNeighbours(std::span<const uint32_t> ids) { Narrow(neighbours_, ids); }
  void AppendNeighbours(std::span<const uint64_t> ids) { Wide(neighbours_, ids); }
  void AppendWeights(std::span<const float> weights);
  void AppendEdgeIds(std::span<const uint64_t> ids);
  void AppendTimes(std::span<const int64_t> times);
  void AppendSlotTimes(std::span<const int64_t> times);

  // Completes indptr. Throws std::logic_error if the number of slots is not that of the layout.
  void Finish();

 private:
  void Narrow(store::SectionStream* stream, std::span<const uint32_t> values);
  void Wide(store::SectionStream* stream, std::span<const uint64_t> values);
  void EmitStartsBelow(uint64_t row);
  void FlushStarts();

  AdjacencyLayout layout_;
  store::SectionStream* indptr_;
  store::SectionStream* neighbours_;
  store::SectionStream* weights_ = nullptr;
  store::SectionStream* edge_ids_ = nullptr;
  store::SectionStream* times_ = nullptr;
  store::SectionStream* slot_times_ = nullptr;
  std::vector<uint64_t> starts_;  // row starts not yet in the stream
  std::vector<uint32_t> narrow_;
  uint64_t next_row_ = 0;
  uint64_t slots_ = 0;
};

}  // namespace graphzero::compile
