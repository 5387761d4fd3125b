#include "store/warm.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/errors.h"
#include "store/huge_window.h"

#ifndef MADV_POPULATE_READ  // Linux 5.14; headers may be older than the kernel
#define MADV_POPULATE_READ 22
#endif

namespace graphzero::store {
namespace {

// For kernels without MADV_POPULATE_READ. If that failed for another reason, this throws the error.
void ReadThrough(const MappedFile& file, uint64_t offset, uint64_t length) {
  std::vector<std::byte> buffer(uint64_t{1} << 20);
  while (length > 0) {
    const uint64_t piece = std::min<uint64_t>(length, buffer.size());
    base::ReadExactly(file.fd(), offset, {buffer.data(), piece}, file.path());
    offset += piece;
    length -= piece;
  }
}

}  // namespace

void Warm(const MappedFile& file, uint64_t offset, uint64_t length) {
  if (offset >= file.size()) return;
  length = std::min(length, file.size() - offset);
  {
    const HugeWindow window(file, offset, length);
    window.Read();
    window.ReadSmallPagesAgain();
  }
  if (::madvise(file.bytes().data() + offset, length, MADV_POPULATE_READ) != 0) {
    ReadThrough(file, offset, length);
  }
}

void ExpectRandomAccess(const MappedFile& file) {
  ::madvise(file.bytes().data(), file.size(), MADV_RANDOM);
}

}  // namespace graphzero::store
