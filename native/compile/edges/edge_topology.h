// Edges of a graph that is already compiled: for upgrading and rewriting .gl files.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/team.h"
#include "compile/edges/edge_source.h"
#include "compile/job.h"
#include "store/topology/topology_reader.h"

namespace graphzero::compile {

// Walks the rows of the stored adjacency of a relation (out-edges, or in-edges turned round). The
// input row number of an edge is its stored edge id, or its slot when the file has none. A file
// that is cut short or changes meanwhile is an error: IoError or FormatError.
class TopologyEdgeSource final : public EdgeSource {
 public:
  // Throws std::out_of_range if there is no such relation, InputError if it has more nodes than the
  // limits allow.
  TopologyEdgeSource(store::TopologyReader graph, uint32_t relation, const IdLimits& limits = {});

  const std::string& name() const override { return graph_.file()->path(); }
  bool weighted() const override { return adjacency_->weights != nullptr; }
  bool timed() const override { return adjacency_->times != nullptr; }
  EdgeEstimate Estimate() const override;
  void Rewind() override { next_ = 0; }
  bool Next(EdgeBatch* batch) override;
  void ThrowIfFailed() const override { error_.RethrowIfAny(); }
  uint64_t input_rows() const override;

 private:
  void Fill(uint64_t first, uint64_t last, EdgeBatch* batch) const;
  [[noreturn]] void ThrowNoRow(uint64_t slot) const;

  store::TopologyReader graph_;
  const store::Relation& relation_;
  const store::Adjacency* adjacency_;
  bool turned_;  // rows are targets
  std::atomic<uint64_t> next_{0};
  base::FirstError error_;
};

}  // namespace graphzero::compile
