// Writes a matrix file (.gd), rows in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/container/container_writer.h"
#include "store/matrix/matrix_format.h"
#include "store/matrix/quantisation.h"

namespace graphzero::store {

struct MatrixShape {
  std::optional<uint64_t> rows;  // if absent, as many as are appended
  uint64_t cols;                 // at least 1; 1 when ndim is 1
  uint32_t ndim;
  DType dtype;
  Role role;
  uint64_t row_stride;  // bytes; at least a row, a multiple of the item size
  // The dimensions of a row that has several; their product is cols, and ndim is 2.
  std::vector<uint64_t> row_shape = {};
  std::string description = {};  // JSON about the values, see store/FORMAT.md; empty for none
  // For a quantised matrix, whose dtype is uint8 and whose rows are codes.
  std::optional<Quantisation> quantisation = {};

  uint64_t row_bytes() const { return cols * ItemSize(dtype); }
};

// Throws std::invalid_argument if a file cannot have this shape.
void CheckShape(const MatrixShape& shape);

// Usage: append every row, Finish(). A file that was not finished is unreadable. One thread at a
// time.
class MatrixWriter {
 public:
  // Creates `path`, which must not exist. Throws IoError, std::invalid_argument.
  MatrixWriter(const std::string& path, const MatrixShape& shape);

  // Appends whole rows of row_bytes() each, without padding between them.
  void Append(std::span<const std::byte> rows);
  // Appends `count` copies of one row.
  void AppendCopies(std::span<const std::byte> row, uint64_t count);

  // If the number of rows was not given: reserves disk space for this many rows in all. Throws
  // IoError, std::invalid_argument.
  void ReserveRows(uint64_t rows);

  // Sets the errors of quantising, once they are known. Only for a quantised matrix.
  void SetErrors(double largest, double mean, uint64_t clipped);

  // Makes the file durable. Throws std::logic_error if rows are missing.
  Fingerprint Finish();

  const MatrixShape& shape() const { return shape_; }
  uint64_t rows_written() const { return rows_written_; }

 private:
  // The rows are the last section; the quantisation, if there is one, comes before them.
  size_t QuantisationPlace() const {
    return (shape_.row_shape.empty() ? 0u : 1u) + (shape_.description.empty() ? 0u : 1u);
  }
  SectionStream& Rows() {
    return container_.stream(QuantisationPlace() + (shape_.quantisation ? 1u : 0u));
  }

  MatrixShape shape_;
  ContainerWriter container_;
  uint64_t rows_written_ = 0;
};

}  // namespace graphzero::store
