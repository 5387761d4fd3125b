// The same as io_uring with threads that block in pread(2): for kernels and containers without it.
#pragma once

#include "io/read_queue.h"

namespace graphzero::io {

// Stateless: all queues of a process share one pool of threads, which the first use starts.
class PreadQueue : public ReadQueue {
 public:
  // As many reads as threads; more only compete for the processors.
  static constexpr uint32_t kThreads = 64;

  void Run(const Source& source, ReadJob& job, uint32_t depth) override;
};

}  // namespace graphzero::io
