// A matrix that is dealt to several parts, each a file of its own: which rows are whose.
//
// Rows are dealt in blocks, block number modulo parts. Ranges would put all hot rows of a dataset
// that is ordered by degree on the first part; single rows would tear apart what lies on one page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/container_format.h"

namespace graphzero::store {

class MatrixReader;

// Bit 0 of required_flags: the file has one part of the rows.
inline constexpr uint32_t kShardedFlag = 1;
inline constexpr uint64_t kMostParts = uint64_t{1} << 16;

// As the section kShard has it.
struct Shard {
  uint64_t part;
  uint64_t parts;
  uint64_t block_rows;
  uint64_t total_rows;  // of all parts
  Fingerprint whole;    // of the matrix that was dealt

  // The part that has a row of the whole matrix, and which of its rows that is.
  uint64_t OwnerOf(uint64_t row) const { return row / block_rows % parts; }
  uint64_t LocalRow(uint64_t row) const {
    return row / block_rows / parts * block_rows + row % block_rows;
  }
  // How many rows a part has.
  uint64_t RowsOf(uint64_t of_part) const;
  // Whether the numbers can be those of a file with `rows` rows.
  bool Plausible(uint64_t rows) const;
};
static_assert(sizeof(Shard) == 48);

struct ShardPlan {
  uint64_t part;
  uint64_t parts;
  uint64_t block_rows;
};

// Writes one part of `whole` to `path`, which must not exist: its rows as they are stored, and all
// other sections as they are. `advance` is called with bytes that were written. Throws
// std::invalid_argument for a matrix that cannot be dealt, IoError.
void WriteShard(const MatrixReader& whole, const ShardPlan& plan, const std::string& path,
                const std::function<void(uint64_t bytes)>& advance);

}  // namespace graphzero::store
