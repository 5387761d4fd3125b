// Edges from arrays in memory or in a mapped .npy file, of any integer type and stride.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/team.h"
#include "compile/edges/edge_source.h"
#include "compile/job.h"

namespace graphzero::compile {

// A strided view of integers. Does not own them.
struct IntegerView {
  const std::byte* data;
  uint32_t item_bytes;  // 1, 2, 4 or 8
  bool is_signed;
  int64_t stride_bytes;
};

// The ends of consecutive edges, and their weights and times if there are any. Does not own them.
struct EdgeViews {
  IntegerView src;
  IntegerView dst;
  uint64_t count = 0;
  const float* weights = nullptr;
  int64_t weight_stride = 0;  // bytes
  const int64_t* times = nullptr;
  int64_t time_stride = 0;        // bytes
  const int64_t* rows = nullptr;  // row numbers of the edges, if not consecutive

  // Copies the edges [begin, end) into `batch`. Their input rows begin at first_row + begin, unless
  // `rows` gives row numbers. Throws InputError for an id outside the limits, for a weight that is
  // negative or not finite, and for a missing time (kNoTime).
  void Fill(uint64_t begin, uint64_t end, uint64_t first_row, const RowPlaces& places,
            const IdLimits& limits, EdgeBatch* batch) const;
  // The largest of a few thousand sampled ids.
  uint64_t EstimateMaxId() const;

 private:
  void CheckIds(const RowPlaces& places, const IdLimits& limits, const EdgeBatch& batch) const;
  void FillWeights(uint64_t begin, const RowPlaces& places, EdgeBatch* batch) const;
  void FillTimes(uint64_t begin, const RowPlaces& places, EdgeBatch* batch) const;
};

class ArrayEdgeSource final : public EdgeSource {
 public:
  // `name` is what messages call the input. The arrays must outlive the source.
  ArrayEdgeSource(std::string name, const EdgeViews& edges, IdLimits limits);

  const std::string& name() const override { return places_.name; }
  bool weighted() const override { return edges_.weights != nullptr; }
  bool timed() const override { return edges_.times != nullptr; }
  EdgeEstimate Estimate() const override;
  void Rewind() override { next_ = 0; }
  bool Next(EdgeBatch* batch) override;
  void ThrowIfFailed() const override { error_.RethrowIfAny(); }
  uint64_t input_rows() const override { return edges_.count; }

 private:
  const RowPlaces places_;
  EdgeViews edges_;
  IdLimits limits_;
  std::atomic<uint64_t> next_{0};
  base::FirstError error_;
};

}  // namespace graphzero::compile
