// Descriptors with owners, and reading of plain files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace graphzero::base {

// Owns a file descriptor. Movable, not copyable.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Opens a regular file read-only with close-on-exec; throws IoError naming the path.
Fd OpenForReading(const std::string& path);

// Size of a regular file; throws IoError, also when `path` is a directory.
uint64_t RegularFileSize(const Fd& fd, const std::string& path);

// Reads exactly `out.size()` bytes at `offset` or throws IoError.
void ReadExactly(const Fd& fd, uint64_t offset, std::span<std::byte> out, const std::string& path);

}  // namespace graphzero::base
