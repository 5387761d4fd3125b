// Edges from arrays in memory or in a mapped .npy file, of any integer type and stride.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "compile/edge_source.h"
#include "compile/job.h"

namespace graphzero::compile {

// A strided view of integers. Does not own them.
struct IntegerView {
  const std::byte* data;
  uint32_t item_bytes;  // 1, 2, 4 or 8
  bool is_signed;
  int64_t stride_bytes;
};

class ArrayEdgeSource final : public EdgeSource {
 public:
  // `name` is what messages call the input. `weights` is null or has `count` values,
  // `weight_stride` bytes apart. The arrays must outlive the source.
  ArrayEdgeSource(std::string name, IntegerView src, IntegerView dst, uint64_t count,
                  const float* weights, int64_t weight_stride, uint64_t id_limit);

  bool weighted() const override { return weights_ != nullptr; }
  EdgeEstimate Estimate() const override;
  void Rewind() override { next_ = 0; }
  bool Next(EdgeBatch* batch) override;
  void ThrowIfFailed() const override { error_.RethrowIfAny(); }
  uint64_t input_rows() const override { return count_; }

 private:
  void Fill(uint64_t begin, uint64_t end, EdgeBatch* batch) const;

  std::string name_;
  IntegerView src_;
  IntegerView dst_;
  uint64_t count_;
  const float* weights_;
  int64_t weight_stride_;
  uint64_t id_limit_;
  std::atomic<uint64_t> next_{0};
  FirstError error_;
};

}  // namespace graphzero::compile
