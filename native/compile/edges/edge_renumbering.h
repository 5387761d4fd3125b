// Edges of another source with new numbers for their ends.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/prefetch.h"
#include "compile/edges/edge_source.h"

namespace graphzero::compile {

// The new number of each source and of each target, indexed by the old number. `owner` keeps the
// arrays alive.
struct NewNumbers {
  uint64_t edge_id_bound;  // of the relation; kept even if the relation stores no edge ids
  std::span<const uint32_t> sources;
  std::span<const uint32_t> targets;
  std::shared_ptr<const void> owner;
};

class RenumberedEdgeSource final : public EdgeSource {
 public:
  // Every id of `edges` must have a new number.
  RenumberedEdgeSource(std::shared_ptr<EdgeSource> edges, NewNumbers numbers)
      : edges_(std::move(edges)), numbers_(std::move(numbers)) {}

  const std::string& name() const override { return edges_->name(); }
  bool weighted() const override { return edges_->weighted(); }
  bool timed() const override { return edges_->timed(); }
  EdgeEstimate Estimate() const override { return edges_->Estimate(); }
  void Rewind() override { edges_->Rewind(); }
  bool Next(EdgeBatch* batch) override {
    if (!edges_->Next(batch)) return false;
    // The new numbers are scattered over large arrays, so those of the whole batch are prefetched
    // first.
    for (size_t i = 0; i < batch->size; ++i) {
      base::Prefetch(&numbers_.sources[batch->src[i]]);
      base::Prefetch(&numbers_.targets[batch->dst[i]]);
    }
    for (size_t i = 0; i < batch->size; ++i) {
      batch->src[i] = numbers_.sources[batch->src[i]];
      batch->dst[i] = numbers_.targets[batch->dst[i]];
    }
    return true;
  }
  void ThrowIfFailed() const override { edges_->ThrowIfFailed(); }
  uint64_t input_rows() const override { return numbers_.edge_id_bound; }

 private:
  const std::shared_ptr<EdgeSource> edges_;
  const NewNumbers numbers_;
};

}  // namespace graphzero::compile
