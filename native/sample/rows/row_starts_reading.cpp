#include "sample/rows/row_starts_reading.h"

#include <utility>

namespace graphzero::sample {

std::vector<const store::Adjacency*> StoredAdjacencies(const store::TopologyReader& graph) {
  std::vector<const store::Adjacency*> found;
  for (const bool in : {true, false}) {
    for (const store::Relation& relation : graph.relations()) {
      const store::Adjacency* const adjacency = in ? relation.in : relation.out;
      if (!relation.is_view && adjacency != nullptr) found.push_back(adjacency);
    }
  }
  return found;
}

uint64_t MostRowStartsBytes(const store::TopologyReader& graph) {
  uint64_t bytes = 0;
  for (const store::Adjacency* adjacency : StoredAdjacencies(graph)) {
    bytes += RowStarts::MostBytes(adjacency->rows, adjacency->edges);
  }
  return bytes;
}

RowStartsReading::RowStartsReading(store::TopologyReader graph,
                                   std::shared_ptr<const DiskTopology> disk)
    : graph_(std::move(graph)), disk_(std::move(disk)), adjacencies_(StoredAdjacencies(graph_)) {}

bool RowStartsReading::Step() {
  if (!read_ && !BeginNext()) return false;
  Take(read_->Next());
  return read_.has_value() || next_ < adjacencies_.size();
}

bool RowStartsReading::BeginNext() {
  while (next_ < adjacencies_.size() && disk_->Starts(*adjacencies_[next_]) != nullptr) ++next_;
  if (next_ == adjacencies_.size()) return false;
  const store::Adjacency& adjacency = *adjacencies_[next_++];
  builder_.emplace(adjacency.rows, adjacency.edges);
  read_.emplace(graph_.file(), disk_->OffsetOf(adjacency.indptr),
                (adjacency.rows + 1) * sizeof(uint64_t));
  return true;
}

void RowStartsReading::Take(std::span<const std::byte> bytes) {
  const store::Adjacency& adjacency = *adjacencies_[next_ - 1];
  const std::span values(reinterpret_cast<const uint64_t*>(bytes.data()),
                         bytes.size() / sizeof(uint64_t));
  const bool sound = builder_->Add(values);
  if (!sound && damage_.empty()) {
    damage_ = graph_.SectionTitle(
        adjacency.is_in ? store::SectionKind::kInIndptr : store::SectionKind::kOutIndptr,
        adjacency.relation);
  }
  if (sound && !builder_->complete()) return;
  if (sound) disk_->Keep(adjacency, builder_->Finish());
  builder_.reset();
  read_.reset();
}

}  // namespace graphzero::sample
