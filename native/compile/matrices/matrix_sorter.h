// Puts rows that arrive in any order into the order of their ids, in bounded memory.
//
// Rows are divided over buckets by ranges of ids, in memory while it lasts and then on disk; later
// each bucket is assembled in memory and appended to the matrix. A bucket whose range is too large
// is divided again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/job.h"
#include "compile/spill/extent_store.h"
#include "compile/spill/partition.h"
#include "store/matrix/matrix_writer.h"

namespace graphzero::compile {

// How a sorter may spend its memory.
struct SorterLimits {
  size_t buckets;           // of one division
  uint64_t kept_bytes;      // rows kept in memory between the passes
  uint64_t assembly_bytes;  // rows assembled at a time
  int writers;
  std::string temp_dir;

  static SorterLimits Share(const Resources& resources);
};

struct DuplicateRow {
  uint64_t offset;  // where the later of the two is in the input
  uint64_t id;
};

// The missing and the repeated rows that were found.
struct SortedRows {
  uint64_t missing = 0;
  uint64_t first_missing = 0;  // if `missing` is not 0
  uint64_t duplicates = 0;
  std::optional<DuplicateRow> first_duplicate;  // by position in the input

  void AddMissing(uint64_t id, uint64_t count);
  void AddDuplicate(uint64_t offset, uint64_t id);
};

// Takes rows in order: all of `rows` if `copies` is 1, else one row that counts `copies` times,
// which may be 0.
using RowSink = std::function<void(std::span<const std::byte> rows, uint64_t copies)>;

// A sink that appends to `out`; empty if `out` is null, so that rows are only checked.
RowSink AppendTo(store::MatrixWriter* out);

class MatrixSorter {
 public:
  // Ids are at least `first_id` and expected to be below `expected_end`; larger ids are allowed but
  // cost another pass.
  MatrixSorter(const SorterLimits& limits, uint64_t row_bytes, uint64_t first_id,
               uint64_t expected_end);

  // Each rank below limits.writers may be used by one thread at a time.
  void Add(int rank, uint64_t id, uint64_t offset, std::span<const std::byte> row);

  // Ends adding.
  void Close();
  // Valid after Close().
  uint64_t rows_added() const { return rows_added_; }
  uint64_t end_id() const { return end_id_; }  // one past the largest id
  uint64_t spilled_bytes() const { return store_.spilled_bytes(); }

  // Gives the rows [first_id, end) to `out`, and `fill` for missing rows. Of rows with the same id,
  // the one with the lowest offset is taken. With an empty `out`, rows are only checked.
  SortedRows Drain(uint64_t end, std::span<const std::byte> fill, const RowSink& out,
                   Progress* progress);

 private:
  struct Rank {
    uint64_t rows = 0;
    uint64_t end_id = 0;
  };
  struct Range {
    uint64_t first;
    uint64_t end;
    uint64_t size() const { return end - first; }
  };
  struct DrainJob;

  void DrainRange(Partition* from, size_t bucket, Range range, DrainJob* job);
  void Divide(Partition* from, size_t bucket, Range range, DrainJob* job);
  void Assemble(Partition* from, size_t bucket, Range range, DrainJob* job);

  const SorterLimits limits_;
  const uint64_t row_bytes_;
  const uint64_t fragment_bytes_;
  const uint64_t first_id_;
  const uint64_t bucket_width_;
  const uint64_t assembly_rows_;
  ExtentStore store_;
  Partition rows_;
  std::vector<Rank> ranks_;
  uint64_t rows_added_ = 0;
  uint64_t end_id_ = 0;
};

}  // namespace graphzero::compile
