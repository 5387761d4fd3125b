#include "io/call_job.h"

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

void CallJob::Run(const RandomFile& file, uint32_t depth, IoCounters& counters) {
  const base::DiskWaitScope waiting;
  try {
    ThreadQueue().Run(file.source(), *this, depth);
  } catch (...) {
    counts_.AddTo(counters);
    throw;
  }
  counts_.AddTo(counters);
  base::CheckStopped();
}

bool CallJob::Next(uint32_t slot, Read* read) noexcept {
  if ((call_ != nullptr && call_->stopped()) || !Prepare(slot, read)) return false;
  ++counts_.reads;
  counts_.bytes += read->bytes;
  return true;
}

void CallJob::Done(uint32_t slot, uint64_t nanoseconds) noexcept {
  counts_.CountLatency(nanoseconds);
  Deliver(slot);
}

}  // namespace graphzero::io
