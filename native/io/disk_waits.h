// Whether a thread had to wait for a disk: for a thread that serves everyone and must not.
#pragma once

#include <cstdint>

namespace graphzero::io {

// Rises whenever the calling thread takes a page fault that is answered by reading, or has rows
// read (which may be in memory all the same). Costs a system call of less than a microsecond.
uint64_t DiskWaits();

// Called by those who read on behalf of the calling thread.
void CountReadJob();

}  // namespace graphzero::io
