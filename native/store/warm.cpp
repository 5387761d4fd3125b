#include "store/warm.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "store/errors.h"

#ifndef MADV_POPULATE_READ  // Linux 5.14; headers may be older than the kernel
#define MADV_POPULATE_READ 22
#endif

namespace graphzero::store {
namespace {

// A window of the file that asks for huge pages. The advice is not given to the file's own mapping:
// there, it would make every later fault of a row read two megabytes.
class HugeWindow {
 public:
  HugeWindow(const MappedFile& file, uint64_t offset, uint64_t length) : length_(length) {
    // Huge pages need an address that is aligned like the offset.
    reserved_ = Map(nullptr, length + kWarmUnit, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved_ == nullptr) return;
    const auto address = reinterpret_cast<uintptr_t>(reserved_);
    auto* aligned = reserved_ + ((kWarmUnit - address % kWarmUnit) % kWarmUnit);
    window_ = Map(aligned, length, MAP_SHARED | MAP_FIXED, file.fd().get(), offset);
    if (window_ != nullptr) ::madvise(window_, length, MADV_HUGEPAGE);  // a wish
  }
  HugeWindow(const HugeWindow&) = delete;
  HugeWindow& operator=(const HugeWindow&) = delete;
  ~HugeWindow() {
    if (reserved_ != nullptr) ::munmap(reserved_, length_ + kWarmUnit);
  }

  void Read() const {
    if (window_ != nullptr) ::madvise(window_, length_, MADV_POPULATE_READ);
  }

 private:
  static std::byte* Map(void* at, uint64_t length, int flags, int fd, uint64_t offset) {
    void* data = ::mmap(at, length, PROT_READ, flags, fd, static_cast<off_t>(offset));
    return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
  }

  uint64_t length_;
  std::byte* reserved_ = nullptr;
  std::byte* window_ = nullptr;
};

// For kernels without MADV_POPULATE_READ, and for the reason why it failed.
void ReadThrough(const MappedFile& file, uint64_t offset, uint64_t length) {
  std::vector<std::byte> buffer(uint64_t{1} << 20);
  while (length > 0) {
    const uint64_t piece = std::min<uint64_t>(length, buffer.size());
    ReadExactly(file.fd(), offset, {buffer.data(), piece}, file.path());
    offset += piece;
    length -= piece;
  }
}

}  // namespace

void Warm(const MappedFile& file, uint64_t offset, uint64_t length) {
  if (offset >= file.size()) return;
  length = std::min(length, file.size() - offset);
  HugeWindow(file, offset, length).Read();
  if (::madvise(file.bytes().data() + offset, length, MADV_POPULATE_READ) != 0) {
    ReadThrough(file, offset, length);
  }
}

void ExpectRandomAccess(const MappedFile& file) {
  ::madvise(file.bytes().data(), file.size(), MADV_RANDOM);
}

}  // namespace graphzero::store
