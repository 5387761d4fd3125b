#include "store/container/legacy_format.h"

#include <span>
#include <string>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/text.h"

namespace graphzero::store {
namespace {

struct RawTopologyHeader {
  Magic magic;
  uint64_t indptr_bytes;
  uint64_t indices_bytes;
  uint64_t indptr_offset;
  uint64_t indices_offset;
  uint64_t num_nodes;
  uint64_t num_edges;
  uint64_t flags;  // bit 0: float32 weights at the next 64-byte boundary after the indices
};
static_assert(sizeof(RawTopologyHeader) == 64);

struct RawMatrixHeader {
  Magic magic;
  uint32_t flags;
  int32_t dtype;
  uint64_t rows;
  uint64_t cols;
};
static_assert(sizeof(RawMatrixHeader) == 32);

using base::Number;

template <class Header>
Header ReadHeader(const MappedFile& file) {
  if (file.size() < sizeof(Header)) {
    throw FormatError(file.path(), "header (GraphZero 0.2)", Number(file.size()) + " bytes",
                      "at least " + Number(sizeof(Header)) + "; the file is cut short");
  }
  Header header;
  file.Read(0, std::as_writable_bytes(std::span(&header, 1)));
  return header;
}

// GraphZero 0.2 begins each array at the next multiple of this after the end of the array before
// it. Requiring this finds damage in headers, which have no checksum.
constexpr uint64_t kArrayAlign = 64;

// Checks that an array lies where it belongs; returns where it ends.
uint64_t CheckArray(const MappedFile& file, const char* what, uint64_t offset, uint64_t expected,
                    uint64_t count, uint64_t width) {
  if (offset != expected || !base::Fits(offset, count, width, file.size())) {
    throw FormatError(file.path(), std::string(what) + " (GraphZero 0.2)",
                      Number(count) + " items of " + Number(width) + " bytes at " + Number(offset),
                      "them at " + Number(expected) + " inside the file's " + Number(file.size()) +
                          " bytes; the file is cut short or damaged");
  }
  return offset + count * width;
}

void CheckEnd(const MappedFile& file, uint64_t end) {
  if (end != file.size()) {
    throw FormatError(file.path(), "file size (GraphZero 0.2)", Number(file.size()) + " bytes",
                      Number(end) + " bytes as the header says; the file is damaged");
  }
}

}  // namespace

LegacyTopology ReadLegacyTopology(const MappedFile& file) {
  const auto raw = ReadHeader<RawTopologyHeader>(file);
  if (raw.flags > 1) {
    throw FormatError(file.path(), "byte 56 (flags, GraphZero 0.2)", Number(raw.flags), "0 or 1");
  }
  // Compared by division, so that a hostile count cannot wrap.
  if (raw.indptr_bytes % 8 != 0 || raw.indptr_bytes / 8 == 0 ||
      raw.indptr_bytes / 8 - 1 != raw.num_nodes) {
    throw FormatError(file.path(), "byte 8 (indptr bytes, GraphZero 0.2)", Number(raw.indptr_bytes),
                      "8 for each of the " + Number(raw.num_nodes) + " nodes and 8 more");
  }
  if (raw.indices_bytes % 8 != 0 || raw.indices_bytes / 8 != raw.num_edges) {
    throw FormatError(file.path(), "byte 16 (indices bytes, GraphZero 0.2)",
                      Number(raw.indices_bytes),
                      "8 for each of " + Number(raw.num_edges) + " edges");
  }
  uint64_t end = CheckArray(file, "indptr", raw.indptr_offset, sizeof(RawTopologyHeader),
                            raw.num_nodes + 1, 8);
  end = CheckArray(file, "indices", raw.indices_offset, base::AlignUp(end, kArrayAlign),
                   raw.num_edges, 8);
  LegacyTopology result{raw.num_nodes, raw.num_edges, raw.indptr_offset, raw.indices_offset, 0};
  if (raw.flags & 1) {
    result.weights_offset = base::AlignUp(end, kArrayAlign);
    end =
        CheckArray(file, "weights", result.weights_offset, result.weights_offset, raw.num_edges, 4);
  }
  CheckEnd(file, end);
  return result;
}

LegacyMatrix ReadLegacyMatrix(const MappedFile& file) {
  const auto raw = ReadHeader<RawMatrixHeader>(file);
  constexpr DType kTypes[] = {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64};
  if (raw.dtype < 0 || raw.dtype > 3) {
    throw FormatError(file.path(), "byte 12 (dtype, GraphZero 0.2)", std::to_string(raw.dtype),
                      "0 (int32), 1 (int64), 2 (float32) or 3 (float64)");
  }
  if (raw.flags != 0) {
    throw FormatError(file.path(), "byte 8 (flags, GraphZero 0.2)", Number(raw.flags), "0");
  }
  const DType dtype = kTypes[raw.dtype];
  const uint64_t data = sizeof(RawMatrixHeader);
  const bool row_fits = raw.cols != 0 && base::Fits(data, raw.cols, ItemSize(dtype), file.size());
  if (!row_fits || !base::Fits(data, raw.rows, raw.cols * ItemSize(dtype), file.size())) {
    throw FormatError(file.path(), "data (GraphZero 0.2)",
                      Number(raw.rows) + " rows of " + Number(raw.cols) + " values",
                      "as many as fit into " + Number(file.size() - data) +
                          " bytes; the file is cut short or damaged");
  }
  CheckEnd(file, data + raw.rows * raw.cols * ItemSize(dtype));
  return {raw.rows, raw.cols, dtype, data};
}

}  // namespace graphzero::store
