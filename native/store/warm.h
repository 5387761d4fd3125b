// Reading a file into the page cache before anyone asks for its rows.
#pragma once

#include <cstdint>

#include "store/file.h"

namespace graphzero::store {

// Reads the bytes [offset, offset + length) of the file in order into the page cache and maps what
// came, so that no later access to them faults. What is not there yet arrives in huge pages where
// the kernel has them for files (1.5 to 1.8x on random access); what is there stays as it is.
// `offset` is a multiple of kWarmUnit; the end may lie beyond the file. Throws IoError.
void Warm(const MappedFile& file, uint64_t offset, uint64_t length);
inline constexpr uint64_t kWarmUnit = uint64_t{2} << 20;

// Tells the kernel that single rows will be read: a fault then reads one page, not what follows it.
void ExpectRandomAccess(const MappedFile& file);

}  // namespace graphzero::store
