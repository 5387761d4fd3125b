// Matrix files (.gd), version 1 and GraphZero 0.2, opened read-only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/container/container_reader.h"
#include "store/files/integer_array.h"
#include "store/files/mapped_file.h"
#include "store/matrix/matrix_format.h"
#include "store/matrix/quantisation.h"
#include "store/matrix/shard.h"

namespace graphzero::store {

// A quantised matrix is stored as bytes and delivered as floats: dtype() and row_bytes() are about
// the delivered values, stored_dtype(), stored_row_bytes(), row_stride() and data() about the
// stored bytes. In other matrices the two are the same.
//
// Thread-safe: nothing changes after Open(). Copies share one mapping; data() stays valid while any
// copy or the file() pointer lives.
class MatrixReader {
 public:
  static MatrixReader Open(const std::string& path);  // throws FormatError, IoError
  static MatrixReader OpenMapped(std::shared_ptr<const MappedFile> file);

  int version() const { return container_ ? kVersionMajor : 0; }
  // Rows of this file. Of a part, shard() tells which rows of the whole matrix these are.
  uint64_t rows() const { return rows_; }
  const Shard* shard() const { return shard_ ? &*shard_ : nullptr; }
  uint64_t cols() const { return cols_; }
  uint32_t ndim() const { return ndim_; }
  // The dimensions of one row: none if ndim is 1, else one or more, whose product is cols.
  std::span<const uint64_t> row_shape() const { return row_shape_; }
  uint64_t row_stride() const { return row_stride_; }
  uint64_t row_bytes() const { return cols_ * ItemSize(dtype_); }
  DType dtype() const { return dtype_; }
  uint64_t stored_row_bytes() const { return cols_ * ItemSize(stored_dtype_); }
  DType stored_dtype() const { return stored_dtype_; }
  // Null unless the matrix is quantised; lives as long as any copy of this reader.
  const Quantisation* quantisation() const { return quantisation_.get(); }
  Role role() const { return role_; }

  // Row 0. What is written here does not reach the file (see MappedFile).
  std::byte* data() const { return data_; }
  // Where row 0 lies in the file.
  uint64_t data_offset() const { return static_cast<uint64_t>(data_ - file_->bytes().data()); }

  // Delivers the rows from `first` on, as many as `out` has room for, without their padding. Reads
  // the file and not the mapping: writes to views are not seen, and a file that was cut short
  // meanwhile is an error. Throws IoError, std::out_of_range.
  void ReadRows(uint64_t first, std::span<std::byte> out) const;

  // For original ids that do not ascend: the rows in the order of their ids. Absent if they ascend,
  // and in every other matrix. Values are not checked: compare each with rows().
  const IntegerArray& rows_by_id() const { return rows_by_id_; }

  // JSON that says what the values mean, see store/FORMAT.md; empty if there is none. Throws
  // FormatError for one that is too long, IoError.
  std::string description() const;

  Fingerprint fingerprint() const;
  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  const Container* container() const { return container_.get(); }

 private:
  void OpenVersion1();
  void OpenLegacy();
  void ReadRowShape(const SectionEntry& entry);
  void OpenRowsById(const SectionEntry& entry);
  void ReadQuantisation(const SectionEntry& entry);
  void ReadShard();

  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const Container> container_;
  uint64_t rows_ = 0;
  uint64_t cols_ = 0;
  uint64_t row_stride_ = 0;
  uint32_t ndim_ = 2;
  std::vector<uint64_t> row_shape_;
  IntegerArray rows_by_id_;
  std::optional<Shard> shard_;
  DType dtype_ = DType::kFloat32;
  DType stored_dtype_ = DType::kFloat32;
  std::shared_ptr<const Quantisation> quantisation_;
  Role role_ = Role::kNode;
  std::byte* data_ = nullptr;
};

}  // namespace graphzero::store
