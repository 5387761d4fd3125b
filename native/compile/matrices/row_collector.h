// Rows with their ids, in any order -> matrix file (.gd), in bounded memory.
//
// As long as the ids come as 0, 1, 2, ... rows go straight to the file; from the first one that
// does not, they go to a MatrixSorter and are appended at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/job.h"
#include "compile/matrices/matrix_sorter.h"
#include "store/matrix/matrix_writer.h"

namespace graphzero::compile {

// Used by one thread.
class RowCollector {
 public:
  // Returns what messages call a node. Without it, messages use the id.
  using NameNode = std::function<std::string(uint64_t id)>;

  // Creates `path`, which must not exist. Without shape.rows the largest id decides how many rows
  // there are; `expected_rows` is then a guess that saves work. With `skip_repeated`, the first of
  // the rows with the same id is kept and the others are counted. Uses only one thread of the
  // resources.
  RowCollector(const std::string& path, const store::MatrixShape& shape, RowPlaces places,
               NameNode name_node, uint64_t expected_rows, bool skip_repeated,
               const Resources& resources);

  // Adds rows of row_bytes() each. `numbers` are their row numbers in the input, ascending; if
  // empty, the rows directly follow the previous ones. Throws InputError for an id outside the
  // matrix.
  void Add(std::span<const int64_t> ids, std::span<const std::byte> rows,
           std::span<const int64_t> numbers);

  struct Report {
    uint64_t rows;
    uint64_t filled;      // missing rows that `fill` replaced
    uint64_t repeated;    // repeated rows that were skipped
    std::string message;  // about the first repeated row
  };
  // Writes the remaining rows. `fill` is the row for missing ids. Throws InputError if an id is
  // missing and `fill` is empty, or if an id came twice without skip_repeated.
  Report Finish(std::span<const std::byte> fill, Progress* progress);

 private:
  void Check(std::span<const int64_t> ids, std::span<const int64_t> numbers) const;
  std::string Repeated(const DuplicateRow& row) const;

  std::string NodeName(uint64_t id) const;

  const RowPlaces places_;
  const std::string column_;  // its file name without the extension
  const NameNode name_node_;
  const uint64_t expected_rows_;
  const Resources resources_;
  store::MatrixWriter out_;
  const bool skip_repeated_;
  uint64_t rows_seen_ = 0;
  SortedRows early_;  // rows whose id was written before
  std::unique_ptr<MatrixSorter> sorter_;
};

}  // namespace graphzero::compile
