// Element types as files number them. The numbers are part of the format (store/FORMAT.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace graphzero::store {

enum class DType : uint16_t {
  kFloat32 = 1,
  kFloat64 = 2,
  kFloat16 = 3,
  kBFloat16 = 4,
  kInt8 = 5,
  kUInt8 = 6,
  kInt16 = 7,
  kInt32 = 8,
  kInt64 = 9,
  kBool = 10,
  // Structural only (indptr, indices, edge ids, checksums): never the type of a matrix.
  kUInt32 = 12,
  kUInt64 = 13,
};

// Bytes of one element, or 0 for a number this reader does not know.
uint64_t ItemSize(DType dtype);

// NumPy-style name ("float32", "bfloat16"), or "" for a number this reader does not know.
std::string_view Name(DType dtype);

std::optional<DType> DTypeFromName(std::string_view name);

// True for the types that a .gd matrix may have.
bool IsMatrixType(DType dtype);

}  // namespace graphzero::store
