// Memory for reads under way that do not go straight to where they are wanted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphzero::io {

// So much a thread wants at most, unless single items are longer.
inline constexpr uint64_t kBounceBytes = uint64_t{8} << 20;
inline constexpr uint64_t kBounceAlign = 4096;

// At least `bytes`, a multiple of kBounceAlign, aligned to that. Belongs to the calling thread,
// which keeps it for its next call: a fresh buffer would be cleared page by page, each time. Valid
// until that call. Throws std::bad_alloc.
std::byte* BounceMemory(size_t bytes);

}  // namespace graphzero::io
