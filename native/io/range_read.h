// Byte ranges of any length, each to a place of its own: sorted, merged or split, read at full
// depth. For files that are read through the page cache.
#pragma once

#include <cstdint>
#include <span>

#include "io/io_counters.h"
#include "io/random_file.h"

namespace graphzero::io {

struct WantedRange {
  uint64_t offset;
  uint64_t bytes;
  std::byte* to;
};

// Reads every range, all of which the caller knows to lie in the file. Reorders `wanted`. Needs a
// file without O_DIRECT. Throws IoError with the file and the offset; some of the places may have
// been written to then.
void ReadRanges(const RandomFile& file, std::span<WantedRange> wanted, IoCounters& counters);

}  // namespace graphzero::io
