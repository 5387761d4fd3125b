#include "compile/edges/edge_arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/errors.h"

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

uint64_t EdgeViews::EstimateMaxId() const {
  uint64_t max_id = 0;
  uint64_t id;
  const uint64_t step = std::max<uint64_t>(1, count / kSamples);
  for (const IntegerView& view : {src, dst}) {
    for (uint64_t i = 0; i < count; i += step) {
      Convert(view, i, i + 1, &id);
      if (id < kIdLimit) max_id = std::max(max_id, id);
    }
  }
  return max_id;
}

ArrayEdgeSource::ArrayEdgeSource(std::string name, const EdgeViews& edges, IdLimits limits)
    : places_{std::move(name)}, edges_(edges), limits_(std::move(limits)) {}

EdgeEstimate ArrayEdgeSource::Estimate() const {
  return {edges_.count, edges_.EstimateMaxId(), edges_.count};
}

bool ArrayEdgeSource::Next(EdgeBatch* batch) {
  if (error_.any()) return false;
  const uint64_t begin = next_.fetch_add(kBatch);
  if (begin >= edges_.count) return false;
  try {
    edges_.Fill(begin, std::min(begin + kBatch, edges_.count), 0, places_, limits_, batch);
  } catch (...) {
    error_.Report(begin, std::current_exception());
  }
  return !error_.any();
}

void EdgeViews::Fill(uint64_t begin, uint64_t end, uint64_t first_row, const RowPlaces& places,
                     const IdLimits& limits, EdgeBatch* batch) const {
  batch->Reset(end - begin,
               {.weights = weights != nullptr, .times = times != nullptr, .rows = rows != nullptr});
  batch->size = end - begin;
  batch->first_row = first_row + begin;
  batch->input_units = end - begin;
  if (rows != nullptr) std::copy(rows + begin, rows + end, batch->rows.begin());
  Convert(src, begin, end, batch->src.data());
  Convert(dst, begin, end, batch->dst.data());
  CheckIds(places, limits, *batch);
  if (weights != nullptr) FillWeights(begin, places, batch);
  if (times != nullptr) FillTimes(begin, places, batch);
}

void EdgeViews::CheckIds(const RowPlaces& places, const IdLimits& limits,
                         const EdgeBatch& batch) const {
  for (size_t i = 0; i < batch.size; ++i) {
    const bool bad_source = batch.src[i] >= limits.source;
    if (!bad_source && batch.dst[i] < limits.target) continue;
    const IntegerView& view = bad_source ? src : dst;
    const uint64_t found = bad_source ? batch.src[i] : batch.dst[i];
    throw InputError(
        places.At(batch.Row(i)) + ": found " + (bad_source ? "source " : "target ") +
        (view.is_signed ? std::to_string(static_cast<int64_t>(found)) : std::to_string(found)) +
        ", expected " + (bad_source ? limits.SourceRange() : limits.TargetRange()));
  }
}

void EdgeViews::FillWeights(uint64_t begin, const RowPlaces& places, EdgeBatch* batch) const {
  const auto* bytes = reinterpret_cast<const std::byte*>(weights);
  for (size_t i = 0; i < batch->size; ++i) {
    const auto weight = LoadAt<float>(bytes, weight_stride, begin + i);
    if (!std::isfinite(weight) || weight < 0) {
      throw InputError(places.At(batch->Row(i)) + ": found weight " + std::to_string(weight) +
                       ", expected a finite value >= 0");
    }
    batch->weight[i] = weight;
  }
}

void EdgeViews::FillTimes(uint64_t begin, const RowPlaces& places, EdgeBatch* batch) const {
  const auto* bytes = reinterpret_cast<const std::byte*>(times);
  for (size_t i = 0; i < batch->size; ++i) {
    const auto time = LoadAt<int64_t>(bytes, time_stride, begin + i);
    if (time == kNoTime) throw InputError(places.At(batch->Row(i)) + ": " + kNoTimeFound);
    batch->time[i] = time;
  }
}

}  // namespace graphzero::compile
