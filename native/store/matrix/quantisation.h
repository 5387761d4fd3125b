// Quantised matrices: one byte is stored for each value, and a float is computed from it.
//
// The stored matrix is uint8, codes 0 to 255. A code q of feature j stands for
//
//     offset[j] + scale[j] * q
//
// in float32: one product, rounded, and one sum, rounded, never fused. If the matrix delivers
// float16, that value is rounded to the nearest float16, ties to even. So every machine gives the
// same bytes. store/FORMAT.md describes the section of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/instructions.h"
#include "store/container/dtype.h"

namespace graphzero::store {

inline constexpr int kHighestCode = 255;
// A row with more values cannot be quantised, because scales and offsets are kept in memory.
inline constexpr uint64_t kMostQuantisedCols = uint64_t{1} << 22;

struct Quantisation {
  DType delivered = DType::kFloat32;  // or kFloat16
  std::vector<float> scales;          // one for each value of a row
  std::vector<float> offsets;
  // The errors against the values of the source, measured when the codes were made.
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

// What is wrong with a quantisation of a matrix of `rows` rows: what was found and what is
// expected. Both are empty if nothing is wrong.
struct QuantisationProblem {
  std::string found;
  std::string expected;
};
QuantisationProblem FindProblem(const Quantisation& quantisation, uint64_t rows, uint64_t cols);

// The section of a file.
uint64_t QuantisationBytes(uint64_t cols);
std::vector<std::byte> ToSection(const Quantisation& quantisation);
// `section` has QuantisationBytes(cols) bytes. Checks reserved bytes only: returns false if one of
// them is not zero.
bool FromSection(std::span<const std::byte> section, uint64_t cols, Quantisation* quantisation);

// Computes values from codes, row by row. Thread-safe. Refers to the quantisation, which must
// outlive it.
class RowDecoder {
 public:
  static base::Instructions Best();  // base::BestInstructions(), asked for once

  // All instructions give the same bytes.
  RowDecoder(const Quantisation& quantisation, base::Instructions instructions);

  // Decodes one row of codes to `out`, which must not overlap the codes and may be unaligned.
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
