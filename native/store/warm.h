// Reading a file into the page cache before anyone asks for its rows.
#pragma once

#include <cstdint>

#include "store/mapped_file.h"

namespace graphzero::store {

// Reads the bytes [offset, offset + length) of the file in order into the page cache and maps what
// came, so that no later access to them faults. Where the kernel has huge pages for files, it lies
// on those then (1.5 to 1.8x on random access), also if it was there before; only pages that some
// process has mapped stay as they are. `offset` is a multiple of kHugePage; the end may lie beyond
// the file. Throws IoError.
void Warm(const MappedFile& file, uint64_t offset, uint64_t length);

// Tells the kernel that single rows will be read: a fault then reads one page, not what follows it.
void ExpectRandomAccess(const MappedFile& file);

}  // namespace graphzero::store
