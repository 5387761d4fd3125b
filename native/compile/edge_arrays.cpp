#include "compile/edge_arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "store/errors.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kBatch = uint64_t{1} << 14;
constexpr uint64_t kSamples = 4096;

template <class T>
T LoadAt(const std::byte* data, int64_t stride, uint64_t i) {
  T value;
  std::memcpy(&value, data + static_cast<int64_t>(i) * stride, sizeof value);
  return value;
}

// Calls visit(T{}) with the element type of the view.
template <class Visit>
void WithType(const IntegerView& view, Visit&& visit) {
  switch (view.item_bytes) {
    case 1:
      return view.is_signed ? visit(int8_t{}) : visit(uint8_t{});
    case 2:
      return view.is_signed ? visit(int16_t{}) : visit(uint16_t{});
    case 4:
      return view.is_signed ? visit(int32_t{}) : visit(uint32_t{});
    default:
      return view.is_signed ? visit(int64_t{}) : visit(uint64_t{});
  }
}

// Sign-extends, so that a negative id of any width lands at or above kIdLimit.
void Convert(const IntegerView& view, uint64_t begin, uint64_t end, uint64_t* out) {
  WithType(view, [&](auto type) {
    using T = decltype(type);
    for (uint64_t i = begin; i < end; ++i) {
      out[i - begin] =
          static_cast<uint64_t>(static_cast<int64_t>(LoadAt<T>(view.data, view.stride_bytes, i)));
    }
  });
}

}  // namespace

ArrayEdgeSource::ArrayEdgeSource(std::string name, IntegerView src, IntegerView dst, uint64_t count,
                                 const float* weights, int64_t weight_stride, uint64_t id_limit)
    : name_(std::move(name)),
      src_(src),
      dst_(dst),
      count_(count),
      weights_(weights),
      weight_stride_(weight_stride),
      id_limit_(id_limit) {}

EdgeEstimate ArrayEdgeSource::Estimate() const {
  EdgeEstimate estimate{count_, 0, count_};
  uint64_t id;
  const uint64_t step = std::max<uint64_t>(1, count_ / kSamples);
  for (const IntegerView& view : {src_, dst_}) {
    for (uint64_t i = 0; i < count_; i += step) {
      Convert(view, i, i + 1, &id);
      if (id < kIdLimit) estimate.max_id = std::max(estimate.max_id, id);
    }
  }
  return estimate;
}

bool ArrayEdgeSource::Next(EdgeBatch* batch) {
  if (error_.any()) return false;
  const uint64_t begin = next_.fetch_add(kBatch);
  if (begin >= count_) return false;
  try {
    Fill(begin, std::min(begin + kBatch, count_), batch);
  } catch (...) {
    error_.Report(begin, std::current_exception());
  }
  return !error_.any();
}

void ArrayEdgeSource::Fill(uint64_t begin, uint64_t end, EdgeBatch* batch) const {
  batch->Reset(end - begin, weighted(), false);
  batch->size = end - begin;
  batch->first_row = begin;
  batch->input_units = end - begin;
  Convert(src_, begin, end, batch->src.data());
  Convert(dst_, begin, end, batch->dst.data());
  for (size_t i = 0; i < end - begin; ++i) {
    const bool bad_source = batch->src[i] >= id_limit_;
    if (!bad_source && batch->dst[i] < id_limit_) continue;
    const IntegerView& view = bad_source ? src_ : dst_;
    const uint64_t found = bad_source ? batch->src[i] : batch->dst[i];
    throw InputError(
        name_ + " row " + std::to_string(begin + i) + ": found " +
        (bad_source ? "source " : "target ") +
        (view.is_signed ? std::to_string(static_cast<int64_t>(found)) : std::to_string(found)) +
        ", expected " + IdRange(id_limit_));
  }
  if (weights_ == nullptr) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(weights_);
  for (uint64_t i = begin; i < end; ++i) {
    const auto weight = LoadAt<float>(bytes, weight_stride_, i);
    if (!std::isfinite(weight) || weight < 0) {
      throw InputError(name_ + " row " + std::to_string(i) + ": found weight " +
                       std::to_string(weight) + ", expected a finite value >= 0");
    }
    batch->weight[i - begin] = weight;
  }
}

}  // namespace graphzero::compile
