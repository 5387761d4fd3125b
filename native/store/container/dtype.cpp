#include "store/container/dtype.h"

#include <array>

namespace graphzero::store {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  uint64_t size;
  bool matrix;
};

constexpr std::array kRows{
    Row{DType::kFloat32, "float32", 4, true}, Row{DType::kFloat64, "float64", 8, true},
    Row{DType::kFloat16, "float16", 2, true}, Row{DType::kBFloat16, "bfloat16", 2, true},
    Row{DType::kInt8, "int8", 1, true},       Row{DType::kUInt8, "uint8", 1, true},
    Row{DType::kInt16, "int16", 2, true},     Row{DType::kInt32, "int32", 4, true},
    Row{DType::kInt64, "int64", 8, true},     Row{DType::kBool, "bool", 1, true},
    Row{DType::kUInt32, "uint32", 4, false},  Row{DType::kUInt64, "uint64", 8, false},
};

const Row* FindRow(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

}  // namespace

uint64_t ItemSize(DType dtype) {
  const Row* row = FindRow(dtype);
  return row ? row->size : 0;
}

std::string_view Name(DType dtype) {
  const Row* row = FindRow(dtype);
  return row ? row->name : std::string_view();
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

bool IsMatrixType(DType dtype) {
  const Row* row = FindRow(dtype);
  return row && row->matrix;
}

}  // namespace graphzero::store
