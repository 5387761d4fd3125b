#include "compile/edges/edge_topology.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "store/files/mapped_file.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kBatch = uint64_t{1} << 14;

// Slots are found by bisection below, which needs rising row starts.
void CheckIndptr(const store::TopologyReader& graph, const store::Adjacency& a) {
  for (uint64_t row = 0; row < a.rows; ++row) graph.Row(a, row);
  if (a.indptr[0] != 0 || a.indptr[a.rows] != a.edges) {
    throw FormatError(graph.file()->path(), "indptr",
                      std::to_string(a.indptr[0]) + " to " + std::to_string(a.indptr[a.rows]),
                      "0 to " + std::to_string(a.edges));
  }
}

}  // namespace

TopologyEdgeSource::TopologyEdgeSource(store::TopologyReader graph, uint32_t relation,
                                       const IdLimits& limits)
    : graph_(std::move(graph)),
      relation_(graph_.relations().at(relation)),
      adjacency_(&relation_.any()),
      turned_(relation_.out == nullptr) {
  const uint64_t sources = turned_ ? adjacency_->neighbour_bound : adjacency_->rows;
  const uint64_t targets = turned_ ? adjacency_->rows : adjacency_->neighbour_bound;
  if (sources > limits.source) {
    throw InputError(name() + ": found " + std::to_string(sources) + " sources, expected " +
                     limits.SourceRange());
  }
  if (targets > limits.target) {
    throw InputError(name() + ": found " + std::to_string(targets) + " targets, expected " +
                     limits.TargetRange());
  }
  store::ReadGuarded(*graph_.file(), [this] { CheckIndptr(graph_, *adjacency_); });
}

EdgeEstimate TopologyEdgeSource::Estimate() const {
  const uint64_t nodes = std::max({adjacency_->rows, adjacency_->neighbour_bound, uint64_t{1}});
  return {adjacency_->edges, nodes - 1, adjacency_->edges};
}

uint64_t TopologyEdgeSource::input_rows() const {
  return adjacency_->edge_ids.present() ? relation_.edge_id_bound : adjacency_->edges;
}

bool TopologyEdgeSource::Next(EdgeBatch* batch) {
  if (error_.any()) return false;
  const uint64_t first = next_.fetch_add(kBatch);
  if (first >= adjacency_->edges) return false;
  try {
    store::ReadGuarded(*graph_.file(),
                       [&] { Fill(first, std::min(first + kBatch, adjacency_->edges), batch); });
  } catch (...) {
    error_.Report(first, std::current_exception());
  }
  return !error_.any();
}

void TopologyEdgeSource::Fill(uint64_t first, uint64_t last, EdgeBatch* batch) const {
  const store::Adjacency& a = *adjacency_;
  batch->Reset(last - first, {.weights = weighted(), .times = timed(), .rows = true});
  batch->input_units = last - first;
  // The first row that ends after the slot. Row starts were rising when they were checked; the file
  // may have changed or been cut since.
  uint64_t row = static_cast<uint64_t>(
      std::upper_bound(a.indptr + 1, a.indptr + a.rows + 1, first) - (a.indptr + 1));
  uint64_t row_end = row < a.rows ? store::ReadOnce(a.indptr + row + 1) : 0;
  for (uint64_t slot = first; slot < last; ++slot) {
    while (slot >= row_end) {
      if (row + 1 >= a.rows) ThrowNoRow(slot);
      ++row;
      row_end = store::ReadOnce(a.indptr + row + 1);
    }
    const uint64_t neighbour = a.neighbours[slot];
    const float weight = a.weights ? store::ReadOnce(a.weights + slot) : 0.0f;
    const uint64_t edge = a.edge_ids.present() ? a.edge_ids[slot] : slot;
    if (neighbour >= a.neighbour_bound || !std::isfinite(weight) || weight < 0) {
      throw FormatError(
          graph_.file()->path(), "edge slot " + std::to_string(slot),
          "neighbour " + std::to_string(neighbour) + ", weight " + std::to_string(weight),
          "an id below " + std::to_string(a.neighbour_bound) + " and a finite weight >= 0");
    }
    if (edge >= input_rows()) {
      throw FormatError(graph_.file()->path(), "edge slot " + std::to_string(slot),
                        "edge id " + std::to_string(edge),
                        "an id below " + std::to_string(input_rows()));
    }
    const int64_t time = a.times ? store::ReadOnce(a.times + slot) : 0;
    if (time == kNoTime) {
      throw FormatError(graph_.file()->path(), "edge slot " + std::to_string(slot),
                        "the smallest int64", "a time");
    }
    const size_t i = batch->size++;
    batch->src[i] = turned_ ? neighbour : row;
    batch->dst[i] = turned_ ? row : neighbour;
    if (a.weights) batch->weight[i] = weight;
    if (a.times) batch->time[i] = time;
    batch->rows[i] = edge;
  }
}

void TopologyEdgeSource::ThrowNoRow(uint64_t slot) const {
  throw FormatError(graph_.file()->path(), "indptr",
                    "no row that edge slot " + std::to_string(slot) + " belongs to",
                    "rising row starts up to " + std::to_string(adjacency_->edges) +
                        ", as a moment before; the file was changed while it was read");
}

}  // namespace graphzero::compile
