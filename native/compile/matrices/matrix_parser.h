// Lines of a feature table -> rows of binary values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/text/table_dialect.h"
#include "compile/text/text_source.h"
#include "store/container/dtype.h"

namespace graphzero::compile {

// A line that is no row. The message lacks file and line number, which only a scan of the file can
// tell: see Describe().
struct BadLine {
  uint64_t offset;  // of the line in the file
  std::string message;
};

// "x.csv line 18: expected 129 columns, found 3: ..."
std::string Describe(const TextSource& source, const BadLine& bad);

// How the lines of a table become rows.
struct RowFormat {
  store::DType dtype;
  uint64_t cols;       // values of a row
  uint64_t row_bytes;  // without padding
  std::optional<uint64_t> num_rows;
  bool
      has_ids;  // the first column is the row's id; else rows are in order, and batches have no ids
  bool skip_bad_lines;
  std::string nan_value;  // bytes of one value that stands for NaN in an integer column, or empty
};

// The rows of one chunk, in file order. Reused from chunk to chunk.
class RowBatch {
 public:
  // Bad lines beyond this many per batch are only counted.
  static constexpr size_t kMaxMessages = 8;

  size_t size() const { return offsets.size(); }
  std::byte* data() { return data_.get(); }
  std::span<const std::byte> Rows(size_t first, size_t count, uint64_t row_bytes) const {
    return {data_.get() + first * row_bytes, count * row_bytes};
  }
  // Empties the batch and makes room for `bytes` of values.
  void Reset(uint64_t bytes);

  std::vector<uint64_t> ids;
  std::vector<uint64_t> offsets;  // of each row's line in the file
  uint64_t nan_count = 0;         // NaN values that nan_value replaced
  uint64_t missing_count = 0;     // values that are NaN, or that nan_value replaced
  uint64_t bad_count = 0;
  std::vector<BadLine> bad;

 private:
  std::unique_ptr<std::byte[]> data_;
  uint64_t capacity_ = 0;
};

// Turns a chunk's lines into `*batch`. A bad line ends the batch (it is then the only one in `bad`)
// or, with skip_bad_lines, is left out and counted.
using RowParser = void (*)(const TextChunk& chunk, const TableDialect& dialect,
                           const RowFormat& format, RowBatch* batch);
RowParser ParserFor(store::DType dtype);

// Bytes of a single value given as text, such as a fill value. Throws InputError naming `what`.
std::string ParseValue(store::DType dtype, const std::string& text, const std::string& what);

}  // namespace graphzero::compile
