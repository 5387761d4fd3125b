// A matrix of floating values -> a quantised one (store/matrix/quantisation.h), in bounded memory.
//
// Unless the ranges are stated, a first pass finds the exact minimum and maximum of each feature;
// the second pass makes codes and measures their errors. Errors are summed within blocks of a fixed
// number of rows, and the sums are added in order, so the file does not depend on memory or
// threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile/job.h"
#include "store/matrix/matrix_reader.h"
#include "store/matrix/quantisation.h"

namespace graphzero::compile {

struct QuantiseJob {
  std::string target;  // must not exist
  store::DType delivered = store::DType::kFloat32;
  // One range for all features, or one for each; empty: the ranges are measured. Values outside are
  // clipped.
  std::vector<float> low = {};
  std::vector<float> high = {};
  // Instead of ranges: the scales and offsets of an earlier file, with the errors that were
  // measured then. For values that were decoded with these scales and offsets, which become the
  // same codes again.
  std::optional<store::Quantisation> kept = {};
  uint64_t row_align = 0;  // bytes that the row stride is a multiple of; 0: no padding
  Resources resources;
};

// A value that no code can stand for: NaN, infinite, or a double that float32 has no room for.
struct BadValue {
  uint64_t row;
  uint64_t col;
};

struct QuantiseReport {
  store::Quantisation quantisation;
  // If set, the target is not finished. This is the first such value of the input.
  std::optional<BadValue> not_finite;
  // If set, the target is not finished. This is the first feature whose range does not fit the
  // delivered type.
  std::optional<uint64_t> too_wide;
  double low = 0;  // of that feature
  double high = 0;
  // The target is not finished, because a value was not decoded with the scales that were kept:
  // the errors that were measured with them would not be true.
  bool kept_lost = false;
};

// Role, shape and description are those of the source. Throws IoError, Cancelled, and
// std::invalid_argument for a source that is not floating or for invalid ranges.
QuantiseReport QuantiseMatrix(const store::MatrixReader& source, const QuantiseJob& job,
                              Progress* progress);

}  // namespace graphzero::compile
