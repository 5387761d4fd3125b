// Reading a file into the page cache before anyone asks for its rows.
#pragma once

#include <cstdint>

#include "store/files/mapped_file.h"

namespace graphzero::store {

// Reads the bytes [offset, offset + length) of the file in order into the page cache and maps them,
// so that no later access to them faults. If the kernel has huge pages for files, the bytes are
// moved to those (1.5 to 1.8x on random access), also if they were cached before; only pages that
// some process has mapped stay as they are. `offset` is a multiple of kHugePage; the end may lie
// beyond the file. Throws IoError.
void Warm(const MappedFile& file, uint64_t offset, uint64_t length);

// Tells the kernel that single rows will be read: a fault then reads one page and not the pages
// after it.
void ExpectRandomAccess(const MappedFile& file);

}  // namespace graphzero::store
