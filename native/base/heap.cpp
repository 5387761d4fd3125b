#include "base/heap.h"

#include <malloc.h>

namespace graphzero::base {
namespace {

// Smaller blocks are used again and again by batches of usual size, which then cause no page
// faults.
constexpr int kLargeBlock = 4 << 20;

}  // namespace

void ReturnFreedMemory() {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
#endif
}

}  // namespace graphzero::base
