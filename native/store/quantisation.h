// Quantised matrices: one byte for each value, from which a value of a floating type is made.
//
// The stored matrix is uint8, codes 0 to 255. A code q of feature j stands for
//
//     offset[j] + scale[j] * q
//
// in float32: one product, rounded, and one sum, rounded, never fused. Where the matrix delivers
// float16, that value is narrowed, to nearest, ties to even. So every machine gives the same bytes.
// FORMAT.md has the section in which files say this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/dtype.h"

namespace graphzero::store {

inline constexpr int kHighestCode = 255;
// A row with more values cannot be quantised: scales and offsets are kept in memory.
inline constexpr uint64_t kMostQuantisedCols = uint64_t{1} << 22;

struct Quantisation {
  DType delivered = DType::kFloat32;  // or kFloat16
  std::vector<float> scales;          // one for each value of a row
  std::vector<float> offsets;
  // What was lost, measured when the codes were made, against the values as float32.
  double largest_error = 0;
  double mean_error = 0;
  uint64_t clipped = 0;  // values outside a stated range, which became its nearest end
};

// The value of one code as float32.
inline float Dequantise(uint8_t code, float scale, float offset) {
  return offset + scale * static_cast<float>(code);
}

// The value of one code as the matrix delivers it.
float DeliveredValue(const Quantisation& quantisation, size_t col, uint8_t code);

// What is wrong with it, for a matrix of `rows` rows, as found and expected; empty if nothing is.
struct QuantisationProblem {
  std::string found;
  std::string expected;
};
QuantisationProblem FindProblem(const Quantisation& quantisation, uint64_t rows, uint64_t cols);

// The section of a file.
uint64_t QuantisationBytes(uint64_t cols);
std::vector<std::byte> ToSection(const Quantisation& quantisation);
// `section` has QuantisationBytes(cols) bytes. Nothing is checked but reserved bytes: false if one
// of them is not zero.
bool FromSection(std::span<const std::byte> section, uint64_t cols, Quantisation* quantisation);

// Makes values of codes, row by row. Copies a row as it is if the matrix is not quantised.
// Thread-safe; refers to the quantisation, which outlives it.
class RowDecoder {
 public:
  // The instructions that a decoder uses; all give the same bytes.
  enum class Instructions { kBaseline, kAvx2 };
  static Instructions Best();  // of those that this processor has

  RowDecoder(const Quantisation& quantisation, Instructions instructions);

  // One row of codes to `out`, which does not overlap it and may be unaligned.
  void Decode(const std::byte* codes, std::byte* out) const {
    kernel_(reinterpret_cast<const uint8_t*>(codes), scales_, offsets_, cols_, out);
  }

 private:
  using Kernel = void (*)(const uint8_t* codes, const float* scales, const float* offsets,
                          size_t count, std::byte* out);

  const float* scales_;
  const float* offsets_;
  size_t cols_;
  Kernel kernel_;
};

}  // namespace graphzero::store
