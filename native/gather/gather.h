// Feature rows from a mapped matrix into a destination buffer: the only copy ever made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "store/matrix_reader.h"

namespace graphzero::gather {

// Throws std::out_of_range naming the first id that is not a row.
void CheckIds(const store::MatrixReader& matrix, std::span<const int64_t> ids);

// What `out` is to a gather. A page that was never touched is zeroed by the kernel when it is first
// written to, which brings it into the caches: ordinary stores then find it there, and stores past
// the caches cost a sixth more than they (measured, 60 MB in 512-byte rows). In memory that was
// used before it is the other way round.
enum class Output { kUsedBefore, kNewPages };

// Copies row ids[i] to out + i * row_bytes, without the file's row padding. `out` holds
// ids.size() * row_bytes() bytes. Throws std::out_of_range naming the first bad id, before anything
// is written. At most `threads` threads work; 0 means all that other calls leave
// (sample/threads.h).
void GatherRows(const store::MatrixReader& matrix, std::span<const int64_t> ids, std::byte* out,
                int threads, Output output = Output::kUsedBefore);

}  // namespace graphzero::gather
