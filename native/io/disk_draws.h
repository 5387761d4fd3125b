// Samples that are being drawn from a disk, of which sweeps over columns on the same disk ask.
//
// A batch reads the graph first, hop by hop, and then its rows. If the batches that are made
// together fall out of step, some sweep over the graph while others sweep over a column: both
// sweeps serve few batches, and both take half of the disk. So a sweep over a column begins when
// those who draw are done, within limits (sweep.h).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "base/fork.h"

namespace graphzero::io {

class DiskDraws {
 public:
  // Of the disk that a file lies on; null if the system does not tell. Never freed. Thread-safe.
  static DiskDraws* OfFile(int fd);

  // Counts a sample for as long as it lives. `draws` may be null.
  class Scope {
   public:
    explicit Scope(DiskDraws* draws) : draws_(draws) {
      if (draws_ != nullptr) draws_->count_.fetch_add(1, std::memory_order_relaxed);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      if (draws_ != nullptr) draws_->count_.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    DiskDraws* const draws_;
  };

  // Not in a forked child, which does not know when the parent's samples end.
  bool any() const {
    return forks_ == base::ForkCount() && count_.load(std::memory_order_relaxed) > 0;
  }

 private:
  explicit DiskDraws(dev_t disk) : disk_(disk) {}

  const dev_t disk_;
  const uint64_t forks_ = base::ForkCount();
  std::atomic<int> count_ = 0;
  DiskDraws* next_ = nullptr;  // in the list of all disks
};

}  // namespace graphzero::io
