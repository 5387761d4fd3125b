#include "io/random_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/errors.h"

namespace graphzero::io {
namespace {

// Buffers for reads are aligned to this (kBounceAlign, call_job.h); no disk is known that needs
// more.
constexpr uint32_t kMostMemoryAlign = 4096;

// Opens by descriptor, not by name: the name may belong to a newer file by now.
base::Fd OpenAgain(const store::MappedFile& file, int flags) {
  const std::string link = "/proc/self/fd/" + std::to_string(file.fd().get());
  return base::Fd(::open(link.c_str(), O_RDONLY | O_CLOEXEC | flags));
}

// The alignment that statx(2) reports from kernel 6.1 on; `known` tells whether it reports one. The
// fields are read from the raw structure, because C libraries learned of them later than kernels.
std::optional<DirectAlignment> AskKernel(const base::Fd& fd, bool* known) {
  constexpr unsigned kDirectAlignment = 0x2000;
  alignas(8) std::array<std::byte, 256> raw{};
  *known = false;
  if (::syscall(SYS_statx, fd.get(), "", AT_EMPTY_PATH, kDirectAlignment, raw.data()) != 0) {
    return std::nullopt;
  }
  const auto word = [&](size_t at) {
    uint32_t value;
    std::memcpy(&value, raw.data() + at, sizeof(value));
    return value;
  };
  *known = (word(0) & kDirectAlignment) != 0;
  const DirectAlignment found{.memory = word(0x98), .offset = word(0x9c)};
  if (!*known || !std::has_single_bit(found.memory) || !std::has_single_bit(found.offset)) {
    return std::nullopt;
  }
  return found;
}

// For older kernels: the smallest alignment with which a read works.
std::optional<DirectAlignment> FindByTrying(const base::Fd& fd) {
  for (const uint32_t align : {512u, 4096u}) {
    const std::unique_ptr<void, decltype(&std::free)> buffer(std::aligned_alloc(align, align),
                                                             &std::free);
    if (buffer && ::pread(fd.get(), buffer.get(), align, 0) >= 0) {
      return DirectAlignment{align, align};
    }
  }
  return std::nullopt;
}

}  // namespace

RandomFile RandomFile::OpenCached(std::shared_ptr<const store::MappedFile> file) {
  base::Fd fd = OpenAgain(*file, 0);
  if (!fd.valid()) throw IoError(errno, "cannot open for random reads", file->path());
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);
  return RandomFile(std::move(file), std::move(fd), {1, 1}, false);
}

std::optional<RandomFile> RandomFile::OpenDirect(std::shared_ptr<const store::MappedFile> file,
                                                 std::string* why) {
  base::Fd fd = OpenAgain(*file, O_DIRECT);
  if (!fd.valid()) {
    *why =
        std::string("the filesystem does not open it with O_DIRECT (") + std::strerror(errno) + ")";
    return std::nullopt;
  }
  bool known = false;
  std::optional<DirectAlignment> align = AskKernel(fd, &known);
  if (!known) align = FindByTrying(fd);
  if (!align || align->memory > kMostMemoryAlign) {
    *why = "the filesystem reads it only through the page cache";
    return std::nullopt;
  }
  return RandomFile(std::move(file), std::move(fd), *align, true);
}

}  // namespace graphzero::io
