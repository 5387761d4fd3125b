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
#include "store/matrix_writer.h"

namespace graphzero::compile {

// Used by one thread.
class RowCollector {
 public:
  // What messages call a node; without one, its id.
  using NameNode = std::function<std::string(uint64_t id)>;

  // Creates `path`, which must not exist. Without shape.rows the largest id decides;
  // `expected_rows` is then a guess that saves work. With `skip_repeated`, of rows with the same id
  // the first is taken and the others are counted. One thread of the resources is used.
  RowCollector(const std::string& path, const store::MatrixShape& shape, RowPlaces places,
               NameNode name_node, uint64_t expected_rows, bool skip_repeated,
               const Resources& resources);

  // Adds rows of row_bytes() each. `numbers` are theirs in the input, ascending; if it is empty,
  // they follow the rows before. Throws InputError for an id outside the matrix.
  void Add(std::span<const int64_t> ids, std::span<const std::byte> rows,
           std::span<const int64_t> numbers);

  struct Report {
    uint64_t rows;
    uint64_t filled;      // rows that did not come
    uint64_t repeated;    // rows that were skipped
    std::string message;  // about the first of these
  };
  // Writes what is left. `fill` is the row for ids that did not come; if it is empty and some did
  // not, and if an id came twice without skip_repeated, throws InputError.
  Report Finish(std::span<const std::byte> fill, Progress* progress);

 private:
  void Check(std::span<const int64_t> ids, std::span<const int64_t> numbers) const;
  std::string Repeated(const DuplicateRow& row) const;

  std::string NodeName(uint64_t id) const;

  const RowPlaces places_;
  const std::string column_;  // as its file is called
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
