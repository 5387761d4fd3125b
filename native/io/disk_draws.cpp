#include "io/disk_draws.h"

#include <sys/stat.h>

namespace graphzero::io {

DiskDraws* DiskDraws::OfFile(int fd) {
  // A list that only grows, since a forked child could find a lock held.
  static std::atomic<DiskDraws*> all = nullptr;
  struct stat info;
  if (::fstat(fd, &info) != 0) return nullptr;
  DiskDraws* made = nullptr;
  DiskDraws* first = all.load(std::memory_order_acquire);
  do {
    for (DiskDraws* one = first; one != nullptr; one = one->next_) {
      if (one->disk_ != info.st_dev) continue;
      delete made;
      return one;
    }
    if (made == nullptr) made = new DiskDraws(info.st_dev);
    made->next_ = first;
  } while (!all.compare_exchange_weak(first, made, std::memory_order_acq_rel));
  return made;
}

}  // namespace graphzero::io
