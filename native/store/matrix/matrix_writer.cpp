#include "store/matrix/matrix_writer.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <vector>

namespace graphzero::store {
namespace {

// Files are addressed with signed 64-bit offsets; this leaves room for everything else in them.
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;

// Copies of a row are appended in pieces of about this size.
constexpr uint64_t kCopiesBytes = uint64_t{64} << 10;

// The rows come last, because they may be a section whose size is not known yet.
std::vector<SectionSpec> SectionsOf(const MatrixShape& shape) {
  CheckShape(shape);
  std::vector<SectionSpec> sections;
  if (const uint64_t count = shape.row_shape.size()) {
    sections.push_back({SectionKind::kRowShape, DType::kUInt64, count, count * sizeof(uint64_t),
                        /*optional=*/true});
  }
  if (const uint64_t count = shape.description.size()) {
    sections.push_back({SectionKind::kDescription, DType::kUInt8, count, count, /*optional=*/true});
  }
  if (shape.quantisation) {
    const uint64_t bytes = QuantisationBytes(shape.cols);
    sections.push_back({SectionKind::kQuantisation, DType::kUInt8, bytes, bytes});
  }
  if (shape.rows) {
    sections.push_back(
        {SectionKind::kRows, shape.dtype, *shape.rows, *shape.rows * shape.row_stride});
  } else {
    sections.push_back({SectionKind::kRows, shape.dtype, 0, kGrowing});
  }
  return sections;
}

void CheckQuantised(const MatrixShape& shape) {
  const Quantisation& quantisation = *shape.quantisation;
  const bool role = shape.role == Role::kNode || shape.role == Role::kEdge;
  if (shape.dtype != DType::kUInt8 || !role || shape.cols > kMostQuantisedCols ||
      quantisation.scales.size() != shape.cols || quantisation.offsets.size() != shape.cols) {
    throw std::invalid_argument("found a quantised matrix of " + std::string(Name(shape.dtype)) +
                                " with " + std::to_string(shape.cols) + " columns and " +
                                std::to_string(quantisation.scales.size()) +
                                " scales, expected uint8 of nodes or edges, a "
                                "scale and an offset for each column, and at most " +
                                std::to_string(kMostQuantisedCols));
  }
  const QuantisationProblem problem =
      FindProblem(quantisation, shape.rows.value_or(UINT64_MAX), shape.cols);
  if (!problem.found.empty()) {
    throw std::invalid_argument("found " + problem.found + ", expected " + problem.expected);
  }
}

}  // namespace

void CheckShape(const MatrixShape& shape) {
  if (!IsMatrixType(shape.dtype)) throw std::invalid_argument("not a type of a matrix");
  if (shape.ndim < 1 || shape.ndim > 2) {
    throw std::invalid_argument("found " + std::to_string(shape.ndim) +
                                " dimensions, expected 1 or 2");
  }
  if (shape.cols == 0 || (shape.ndim == 1 && shape.cols != 1)) {
    throw std::invalid_argument("found " + std::to_string(shape.cols) +
                                " columns, expected at least 1 (exactly 1 in one dimension)");
  }
  if (!shape.row_shape.empty() && (shape.ndim != 2 || !IsRowShape(shape.row_shape, shape.cols))) {
    throw std::invalid_argument("found " + std::to_string(shape.row_shape.size()) +
                                " dimensions of a row, expected 2 to " +
                                std::to_string(kMaxRowDimensions) + " whose product is " +
                                std::to_string(shape.cols) + ", the number of columns");
  }
  if (shape.description.size() > kMostDescriptionBytes) {
    throw std::invalid_argument(
        "found a description of " + std::to_string(shape.description.size()) +
        " bytes, expected at most " + std::to_string(kMostDescriptionBytes));
  }
  if (shape.quantisation) CheckQuantised(shape);
  const uint64_t item = ItemSize(shape.dtype);
  if (shape.cols > shape.row_stride / item || shape.row_stride % item != 0) {
    throw std::invalid_argument("found a row stride of " + std::to_string(shape.row_stride) +
                                " bytes, expected a multiple of " + std::to_string(item) +
                                " that holds " + std::to_string(shape.cols) + " values");
  }
  if (shape.rows && *shape.rows > kMaxBytes / shape.row_stride) {
    throw std::invalid_argument(std::to_string(*shape.rows) + " rows of " +
                                std::to_string(shape.row_stride) + " bytes exceed any file");
  }
}

MatrixWriter::MatrixWriter(const std::string& path, const MatrixShape& shape)
    : shape_(shape), container_(path, kMatrixMagic, SectionsOf(shape)) {
  size_t section = 0;
  if (!shape_.row_shape.empty()) {
    container_.stream(section++).Append(std::as_bytes(std::span(shape_.row_shape)));
  }
  if (!shape_.description.empty()) {
    container_.stream(section).Append(std::as_bytes(std::span(shape_.description)));
  }
}

void MatrixWriter::Append(std::span<const std::byte> rows) {
  const uint64_t row_bytes = shape_.row_bytes();
  if (rows.size() % row_bytes != 0) {
    throw std::invalid_argument("found " + std::to_string(rows.size()) +
                                " bytes, expected a multiple of " + std::to_string(row_bytes));
  }
  const uint64_t count = rows.size() / row_bytes;
  if (shape_.rows && count > *shape_.rows - rows_written_) {
    throw std::invalid_argument("found more than the declared " + std::to_string(*shape_.rows) +
                                " rows");
  }
  rows_written_ += count;
  SectionStream& stream = Rows();
  if (shape_.row_stride == row_bytes) {
    stream.Append(rows);
    return;
  }
  for (; !rows.empty(); rows = rows.subspan(row_bytes)) {
    stream.Append(rows.first(row_bytes));
    stream.AppendZeros(shape_.row_stride - row_bytes);
  }
}

void MatrixWriter::AppendCopies(std::span<const std::byte> row, uint64_t count) {
  if (count == 0) return;
  const uint64_t at_once = std::min(count, std::max<uint64_t>(kCopiesBytes / row.size(), 1));
  std::vector<std::byte> copies;
  for (uint64_t i = 0; i < at_once; ++i) copies.insert(copies.end(), row.begin(), row.end());
  while (count > 0) {
    const uint64_t now = std::min(count, at_once);
    Append(std::span(copies).first(now * row.size()));
    count -= now;
  }
}

void MatrixWriter::ReserveRows(uint64_t rows) {
  MatrixShape whole = shape_;
  whole.rows = rows;
  CheckShape(whole);
  container_.ReserveGrowing(rows * shape_.row_stride);
}

void MatrixWriter::SetErrors(double largest, double mean, uint64_t clipped) {
  if (!shape_.quantisation) throw std::logic_error("the matrix is not quantised");
  shape_.quantisation->largest_error = largest;
  shape_.quantisation->mean_error = mean;
  shape_.quantisation->clipped = clipped;
}

Fingerprint MatrixWriter::Finish() {
  if (shape_.quantisation) {
    CheckQuantised(shape_);
    container_.stream(QuantisationPlace()).Append(ToSection(*shape_.quantisation));
  }
  if (!shape_.rows) {
    shape_.rows = rows_written_;
    container_.EndGrowing(rows_written_);
  }
  MatrixProperties properties{};
  properties.rows = *shape_.rows;
  properties.cols = shape_.cols;
  properties.row_stride = shape_.row_stride;
  properties.ndim = shape_.ndim;
  properties.role = shape_.role;
  return container_.Finish(std::bit_cast<Properties>(properties), 0);
}

}  // namespace graphzero::store
