// Feature table in text -> matrix file (.gd), in bounded memory.
//
// Threads parse chunks of lines. As long as the ids come as 0, 1, 2, ... rows go straight to the
// file; from the first one that does not, they go to a MatrixSorter and are appended afterwards.
// The output does not depend on threads or memory, nor does the error that is reported: the first
// one by position in the input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/job.h"
#include "compile/text/text_source.h"
#include "store/container/dtype.h"
#include "store/matrix/matrix_format.h"

namespace graphzero::compile {

struct MatrixTextJob {
  std::string target;       // must not exist
  std::string description;  // of the values, see store/FORMAT.md; empty for none
  store::DType dtype;
  store::Role role;
  std::optional<uint64_t> num_rows;  // absent: the largest id + 1
  bool has_ids;                      // lines begin with the row's id; else line i is row i
  bool always_2d;                    // else one value per line makes a one-dimensional matrix
  uint64_t row_align;                // bytes that the row stride is a multiple of; 0: no padding
  std::optional<std::string> nan;    // value that stands for NaN in an integer column
  std::optional<std::string> fill;   // value of the rows that the input does not have
  bool skip_bad_lines;               // needs ids: without them, later rows would move up
  Resources resources;
};

struct MatrixTextReport {
  uint64_t rows = 0;
  uint64_t cols = 0;
  uint32_t ndim = 0;
  uint64_t filled = 0;                // rows that the input did not have
  uint64_t nans = 0;                  // NaN values that `nan` replaced
  uint64_t missing = 0;               // values that are NaN, or that `nan` replaced
  uint64_t skipped = 0;               // lines left out
  std::vector<std::string> messages;  // what was wrong with the first of them
  uint64_t spilled_bytes = 0;         // bytes that went to a temporary file
};

// Throws InputError, IoError, Cancelled; the caller then removes the unfinished target.
MatrixTextReport CompileMatrixText(std::unique_ptr<TextSource> source, const MatrixTextJob& job,
                                   Progress* progress);

}  // namespace graphzero::compile
