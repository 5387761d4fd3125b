// A matrix whose rows are dealt to several parts, each a file of its own: which rows each part has.
//
// Rows are dealt in blocks; the number of the block modulo the number of parts tells the part.
// Ranges would put all hot rows of a dataset that is ordered by degree into the first part. Dealing
// single rows would separate rows that lie on one page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/container/container_format.h"

namespace graphzero::store {

class MatrixReader;

inline constexpr uint64_t kMostParts = uint64_t{1} << 16;

// The bytes of the section kShard.
struct Shard {
  uint64_t part;
  uint64_t parts;
  uint64_t block_rows;
  uint64_t total_rows;  // of all parts
  Fingerprint whole;    // of the matrix that was dealt

  // The part that has a row of the whole matrix, and the number of this row in the part.
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

// Writes one part of `whole` to `path`, which must not exist: the rows of this part as they are
// stored, and all other sections unchanged. `advance` is called with the number of bytes of rows
// that were just written. Throws std::invalid_argument for a matrix that cannot be dealt, IoError.
void WriteShard(const MatrixReader& whole, const ShardPlan& plan, const std::string& path,
                const std::function<void(uint64_t bytes)>& advance);

}  // namespace graphzero::store
