// Properties of a .gd file. See store/FORMAT.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "store/container/container_format.h"

namespace graphzero::store {

// What a row of the matrix belongs to.
enum class Role : uint32_t {
  kNode = 0,        // row i describes node i
  kEdge = 1,        // row i describes the edge with id i
  kIds = 2,         // the values are node ids: a split such as "train"
  kCategories = 3,  // row i is what code i of another matrix stands for
};

// A longer description is refused.
inline constexpr uint64_t kMostDescriptionBytes = uint64_t{16} << 20;

struct MatrixProperties {
  uint64_t rows;
  uint64_t cols;        // 1 when ndim is 1
  uint64_t row_stride;  // bytes from row to row; a multiple of the item size
  uint32_t ndim;        // 1: shape (rows,); 2: (rows, cols), or what kRowShape says
  Role role;
  std::array<uint8_t, 96> reserved;
};
static_assert(sizeof(MatrixProperties) == sizeof(Properties));

// Most dimensions of a row. Array libraries take at most 32 dimensions, of which one is the rows.
inline constexpr uint64_t kMaxRowDimensions = 31;

// Whether `row_shape` divides rows of `cols` values into two dimensions or more.
bool IsRowShape(std::span<const uint64_t> row_shape, uint64_t cols);

}  // namespace graphzero::store
