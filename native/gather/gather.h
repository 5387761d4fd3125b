// Copies feature rows from a mapped matrix into a destination buffer: the only copy ever made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "store/matrix/matrix_reader.h"

namespace graphzero::gather {

// Throws std::out_of_range naming the first id that is not a row.
void CheckIds(const store::MatrixReader& matrix, std::span<const int64_t> ids);

// Delivers row ids[i] to out + i * row_bytes, without the file's row padding. `out` holds
// ids.size() * row_bytes() bytes; CheckIds() has accepted the ids. At most `threads` threads work;
// 0 means all that other calls leave (base/threads.h).
//
// Stores are ordinary ones. Non-temporal ones, which do not read the destination before they
// overwrite it, are up to 10 % faster where every row comes from memory, but batches of power-law
// graphs find their hubs in the caches: there the daemon made 1.10 times as many batches with
// ordinary stores (paired turns, quartiles 1.02 to 1.22), at 0.90 of the CPU time.
void GatherRows(const store::MatrixReader& matrix, std::span<const int64_t> ids, std::byte* out,
                int threads);

// The same, but rows as they are stored: the codes of a quantised matrix. `out` holds ids.size() *
// stored_row_bytes() bytes.
void GatherStoredRows(const store::MatrixReader& matrix, std::span<const int64_t> ids,
                      std::byte* out, int threads);

// Delivers row ids[i] to out + places[i] * row_bytes.
void GatherRowsTo(const store::MatrixReader& matrix, std::span<const int64_t> ids,
                  const uint64_t* places, std::byte* out, int threads);

}  // namespace graphzero::gather
