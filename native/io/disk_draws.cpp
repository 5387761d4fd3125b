#include "io/disk_draws.h"

#include <sys/stat.h>

#include <map>
#include <mutex>

namespace graphzero::io {

DiskDraws* DiskDraws::OfFile(int fd) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return nullptr;
  // Not freed at exit: threads may still draw.
  static auto* const mutex = new std::mutex;
  static auto* const disks = new std::map<dev_t, DiskDraws>;
  const std::lock_guard lock(*mutex);
  return &(*disks)[info.st_dev];
}

}  // namespace graphzero::io
