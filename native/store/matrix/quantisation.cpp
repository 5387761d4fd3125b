#include "store/matrix/quantisation.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/half.h"
#include "base/text.h"

namespace graphzero::store {
namespace {

using base::Number;

// Begins the section; scales and offsets follow.
struct SectionHead {
  DType delivered;
  uint16_t reserved[3];
  double largest_error;
  double mean_error;
  uint64_t clipped;
};
static_assert(sizeof(SectionHead) == 32);

// std::isfinite calls no function of libm; it tests bits.
bool IsFinite(DType dtype, float value) {
  if (!std::isfinite(value)) return false;
  const uint16_t half = base::NarrowFloat<base::Half>(value).bits;
  return dtype != DType::kFloat16 || (half & 0x7c00) != 0x7c00;
}

std::string Text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

float DeliveredValue(const Quantisation& quantisation, size_t col, uint8_t code) {
  const float value = Dequantise(code, quantisation.scales[col], quantisation.offsets[col]);
  if (quantisation.delivered != DType::kFloat16) return value;
  return base::WidenFloat(base::Half{base::NarrowToHalf(value)});
}

QuantisationProblem FindProblem(const Quantisation& quantisation, uint64_t rows, uint64_t cols) {
  const DType delivered = quantisation.delivered;
  if (delivered != DType::kFloat32 && delivered != DType::kFloat16) {
    return {"dtype " + Number(static_cast<uint16_t>(delivered)) + " to deliver",
            "1 (float32) or 3 (float16)"};
  }
  for (size_t col = 0; col < cols; ++col) {
    const float scale = quantisation.scales[col];
    const float offset = quantisation.offsets[col];
    const float last = Dequantise(kHighestCode, scale, offset);
    if (scale >= 0 && IsFinite(delivered, offset) && IsFinite(delivered, last)) continue;
    return {"scale " + Text(scale) + " and offset " + Text(offset) + " of feature " + Number(col),
            "a scale of 0 or more, and values from code 0 to 255 that are finite as " +
                std::string(Name(delivered))};
  }
  const double largest = quantisation.largest_error;
  const double mean = quantisation.mean_error;
  if (!(largest >= 0 && std::isfinite(largest) && mean >= 0 && mean <= largest)) {
    return {"a largest error of " + Text(largest) + " and a mean of " + Text(mean),
            "finite errors, the mean from 0 to the largest"};
  }
  if (base::DivideUp(quantisation.clipped, cols) > rows) {
    return {Number(quantisation.clipped) + " clipped values",
            "at most " + Number(rows) + " rows of " + Number(cols)};
  }
  return {};
}

uint64_t QuantisationBytes(uint64_t cols) { return sizeof(SectionHead) + 2 * cols * sizeof(float); }

std::vector<std::byte> ToSection(const Quantisation& quantisation) {
  const SectionHead head{quantisation.delivered,
                         {},
                         quantisation.largest_error,
                         quantisation.mean_error,
                         quantisation.clipped};
  std::vector<std::byte> section(QuantisationBytes(quantisation.scales.size()));
  const size_t bytes = quantisation.scales.size() * sizeof(float);
  std::memcpy(section.data(), &head, sizeof head);
  std::memcpy(section.data() + sizeof head, quantisation.scales.data(), bytes);
  std::memcpy(section.data() + sizeof head + bytes, quantisation.offsets.data(), bytes);
  return section;
}

bool FromSection(std::span<const std::byte> section, uint64_t cols, Quantisation* quantisation) {
  SectionHead head;
  std::memcpy(&head, section.data(), sizeof head);
  quantisation->delivered = head.delivered;
  quantisation->largest_error = head.largest_error;
  quantisation->mean_error = head.mean_error;
  quantisation->clipped = head.clipped;
  quantisation->scales.resize(cols);
  quantisation->offsets.resize(cols);
  const size_t bytes = cols * sizeof(float);
  std::memcpy(quantisation->scales.data(), section.data() + sizeof head, bytes);
  std::memcpy(quantisation->offsets.data(), section.data() + sizeof head + bytes, bytes);
  return (head.reserved[0] | head.reserved[1] | head.reserved[2]) == 0;
}

namespace {

// The loops are plain so that the compiler vectorises them, for the instructions of the function
// that they are inlined into. They use memcpy, which costs nothing here, because `out` need not be
// aligned.

[[gnu::always_inline]] inline void ToFloats(const uint8_t* __restrict codes,
                                            const float* __restrict scales,
                                            const float* __restrict offsets, size_t count,
                                            std::byte* __restrict out) {
  for (size_t i = 0; i < count; ++i) {
    const float value = Dequantise(codes[i], scales[i], offsets[i]);
    std::memcpy(out + i * sizeof value, &value, sizeof value);
  }
}

[[gnu::always_inline]] inline void ToHalves(const uint8_t* __restrict codes,
                                            const float* __restrict scales,
                                            const float* __restrict offsets, size_t count,
                                            std::byte* __restrict out) {
  for (size_t i = 0; i < count; ++i) {
    const uint16_t value = base::NarrowToHalf(Dequantise(codes[i], scales[i], offsets[i]));
    std::memcpy(out + i * sizeof value, &value, sizeof value);
  }
}

void BaselineFloats(const uint8_t* codes, const float* scales, const float* offsets, size_t count,
                    std::byte* out) {
  ToFloats(codes, scales, offsets, count, out);
}

void BaselineHalves(const uint8_t* codes, const float* scales, const float* offsets, size_t count,
                    std::byte* out) {
  ToHalves(codes, scales, offsets, count, out);
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void Avx2Floats(const uint8_t* codes, const float* scales,
                                        const float* offsets, size_t count, std::byte* out) {
  ToFloats(codes, scales, offsets, count, out);
}

[[gnu::target("avx2")]] void Avx2Halves(const uint8_t* codes, const float* scales,
                                        const float* offsets, size_t count, std::byte* out) {
  ToHalves(codes, scales, offsets, count, out);
}
#else
constexpr auto Avx2Floats = BaselineFloats;
constexpr auto Avx2Halves = BaselineHalves;
#endif

const base::Instructions best = base::BestInstructions();

}  // namespace

base::Instructions RowDecoder::Best() { return best; }

RowDecoder::RowDecoder(const Quantisation& quantisation, base::Instructions instructions)
    : scales_(quantisation.scales.data()),
      offsets_(quantisation.offsets.data()),
      cols_(quantisation.scales.size()) {
  const bool wide = instructions >= base::Instructions::kAvx2;
  if (quantisation.delivered == DType::kFloat16) {
    kernel_ = wide ? Avx2Halves : BaselineHalves;
  } else {
    kernel_ = wide ? Avx2Floats : BaselineFloats;
  }
}

}  // namespace graphzero::store
