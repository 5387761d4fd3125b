// Matrix files (.gd), version 1 and GraphZero 0.2, opened read-only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/container_reader.h"
#include "store/mapped_file.h"
#include "store/matrix_format.h"

namespace graphzero::store {

// Thread-safe: nothing changes after Open(). Copies share one mapping; data() stays valid while any
// copy or the file() pointer lives.
class MatrixReader {
 public:
  static MatrixReader Open(const std::string& path);  // throws FormatError, IoError
  static MatrixReader OpenMapped(std::shared_ptr<const MappedFile> file);

  int version() const { return container_ ? kVersionMajor : 0; }
  uint64_t rows() const { return rows_; }
  uint64_t cols() const { return cols_; }
  uint32_t ndim() const { return ndim_; }
  // The dimensions of one row: none if ndim is 1, else one or more, whose product is cols.
  std::span<const uint64_t> row_shape() const { return row_shape_; }
  uint64_t row_stride() const { return row_stride_; }
  uint64_t row_bytes() const { return cols_ * ItemSize(dtype_); }
  DType dtype() const { return dtype_; }
  Role role() const { return role_; }

  // Row 0, writable without reaching the file (see MappedFile).
  std::byte* data() const { return data_; }
  // Where row 0 lies in the file.
  uint64_t data_offset() const { return static_cast<uint64_t>(data_ - file_->bytes().data()); }

  // Copies the rows from `first` on, as many as `out` has room for, without their padding. Reads
  // the file and not the mapping: what was written to views is not seen, and a file that is cut
  // short meanwhile is an error. Throws IoError, std::out_of_range.
  void ReadRows(uint64_t first, std::span<std::byte> out) const;

  // JSON that says what the values mean, see FORMAT.md; empty if there is none. Throws FormatError
  // for one that is too long, IoError.
  std::string description() const;

  Fingerprint fingerprint() const;
  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  const Container* container() const { return container_.get(); }

 private:
  void OpenVersion1();
  void OpenLegacy();
  void ReadRowShape(const SectionEntry& entry);

  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const Container> container_;
  uint64_t rows_ = 0;
  uint64_t cols_ = 0;
  uint64_t row_stride_ = 0;
  uint32_t ndim_ = 2;
  std::vector<uint64_t> row_shape_;
  DType dtype_ = DType::kFloat32;
  Role role_ = Role::kNode;
  std::byte* data_ = nullptr;
};

}  // namespace graphzero::store
