#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/errors.h"

namespace graphzero::base {

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

namespace {

void RequireRegular(const struct stat& info, const std::string& path) {
  if (S_ISDIR(info.st_mode)) throw IoError(EISDIR, "cannot read as a file", path);
  if (!S_ISREG(info.st_mode)) throw IoError(EINVAL, "not a regular file", path);
}

}  // namespace

Fd OpenForReading(const std::string& path) {
  // The type is checked before the file is opened: opening a pipe without a writer waits for ever.
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) throw IoError(errno, "cannot open", path);
  RequireRegular(info, path);
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) throw IoError(errno, "cannot open", path);
  return fd;
}

uint64_t RegularFileSize(const Fd& fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) throw IoError(errno, "cannot stat", path);
  RequireRegular(info, path);
  return static_cast<uint64_t>(info.st_size);
}

void ReadExactly(const Fd& fd, uint64_t offset, std::span<std::byte> out, const std::string& path) {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw IoError(errno, "cannot read at byte " + std::to_string(offset), path);
    if (got == 0) {
      throw IoError(EIO,
                    "cannot read at byte " + std::to_string(offset) +
                        ": the file was cut short; put it back and open it again",
                    path);
    }
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
}

}  // namespace graphzero::base
