#include "io/bounce_memory.h"

#include <cstdlib>
#include <memory>
#include <new>

namespace graphzero::io {

std::byte* BounceMemory(size_t bytes) {
  struct Kept {
    std::unique_ptr<std::byte, decltype(&std::free)> memory{nullptr, &std::free};
    size_t bytes = 0;
  };
  thread_local Kept kept;
  if (bytes > kept.bytes) {
    kept.memory.reset(static_cast<std::byte*>(std::aligned_alloc(kBounceAlign, bytes)));
    kept.bytes = kept.memory ? bytes : 0;
    if (!kept.memory) throw std::bad_alloc();
  }
  return kept.memory.get();
}

}  // namespace graphzero::io
