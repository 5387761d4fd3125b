// A read queue over threads that block in pread(2), for kernels and containers without io_uring.
#pragma once

#include "io/read_queue.h"

namespace graphzero::io {

// Stateless: all queues of a process share one pool of threads, which the first use starts.
class PreadQueue : public ReadQueue {
 public:
  // Each thread has one read under way. More threads would only compete for the processors.
  static constexpr uint32_t kThreads = 64;

  void Run(const Source& source, ReadJob& job, uint32_t depth) override;
};

}  // namespace graphzero::io
