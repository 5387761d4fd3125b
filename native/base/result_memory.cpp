#include "base/result_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <list>
#include <mutex>
#include <new>

#include "base/bytes.h"
#include "base/fork.h"

namespace graphzero::base {
namespace {

struct Block {
  std::byte* memory;
  size_t bytes;
};

struct Pool {
  std::mutex mutex;
  std::list<Block> idle;  // the one that was given back last comes first
  size_t bytes = 0;       // of the idle blocks
};
PerProcess<Pool> current;
std::atomic<size_t> most_kept = kMostResultMemoryKept;

// Sizes of two batches differ a little. Rounding up wastes at most an eighth of a power of two, and
// lets the second batch reuse the memory of the first.
size_t RoundedUp(size_t bytes) {
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  constexpr size_t kLeast = 4096;
  return AlignUp(bytes, std::max(kLeast, std::bit_floor(bytes) / 8));
}

// Large blocks use huge pages: the kernel then clears one page instead of 512. The rest of a block
// that does not fill a huge page stays on small ones, or it would take memory that nobody counts.
std::byte* Allocate(size_t bytes) {
  const bool huge = bytes >= kHugePage;
  const size_t alignment = huge ? kHugePage : size_t{64};
  void* const memory = std::aligned_alloc(alignment, AlignUp(bytes, alignment));
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

}  // namespace

ResultMemory TakeResultMemory(size_t bytes) {
  const size_t rounded = RoundedUp(bytes);
  {
    Pool& pool = current.Get();
    const std::lock_guard lock(pool.mutex);
    const auto found = std::find_if(pool.idle.begin(), pool.idle.end(),
                                    [&](const Block& block) { return block.bytes == rounded; });
    if (found != pool.idle.end()) {
      ResultMemory taken(found->memory, {rounded});
      pool.bytes -= rounded;
      pool.idle.erase(found);
      return taken;
    }
  }
  return {Allocate(rounded), {rounded}};
}

void KeepResultMemory::operator()(std::byte* memory) const {
  std::list<Block> dropped;
  try {
    dropped.push_back({memory, bytes});
  } catch (const std::bad_alloc&) {
    std::free(memory);
    return;
  }
  Pool& pool = current.Get();
  {
    const std::lock_guard lock(pool.mutex);
    pool.idle.splice(pool.idle.begin(), dropped);
    pool.bytes += bytes;
    while (pool.bytes > most_kept) {
      pool.bytes -= pool.idle.back().bytes;
      dropped.splice(dropped.end(), pool.idle, std::prev(pool.idle.end()));
    }
  }
  for (const Block& block : dropped) std::free(block.memory);
}

void SetResultMemoryLimit(size_t bytes) { most_kept = bytes; }

size_t ResultMemoryKept() {
  Pool& pool = current.Get();
  const std::lock_guard lock(pool.mutex);
  return pool.bytes;
}

}  // namespace graphzero::base
