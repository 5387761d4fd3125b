#include "store/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/errors.h"

namespace graphzero::store {

std::shared_ptr<const MappedFile> MappedFile::Open(const std::string& path) {
  return Map(path, base::OpenForReading(path));
}

std::shared_ptr<const MappedFile> MappedFile::MapAgain() const {
  base::Fd fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd.valid()) throw IoError(errno, "cannot open again", path_);
  return Map(path_, std::move(fd));
}

std::shared_ptr<const MappedFile> MappedFile::Map(const std::string& path, base::Fd fd) {
  const uint64_t size = base::RegularFileSize(fd, path);
  if (size == 0) throw FormatError(path, "file", "0 bytes", "a .gl or .gd file");
  void* data =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd.get(), 0);
  if (data == MAP_FAILED) {
    throw IoError(errno, "cannot map " + std::to_string(size) + " bytes", path);
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, std::move(fd), static_cast<std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  guard_.reset();  // before the addresses can be reused
  ::munmap(data_, size_);
}

void MappedFile::ThrowIfDamaged() const {
  // Checks the size, too: missing bytes of the last page read as zeros without a fault.
  const uint64_t now = base::RegularFileSize(fd_, path_);
  uint64_t at = guard_->damaged_at();
  if (at == base::GuardedMapping::kSound && now >= size_) return;
  at = std::min(at, now);
  throw IoError(EIO,
                "cannot read at byte " + std::to_string(at) +
                    (now < size_ ? ": the file was cut short to " + std::to_string(now) +
                                       " bytes, expected " + std::to_string(size_) +
                                       "; put it back and open it again"
                                 : ": the disk failed; check it, then open the file again"),
                path_);
}

bool MappedFile::TryRead(uint64_t offset, std::span<std::byte> out) const {
  iovec part{out.data(), out.size()};
  const ssize_t got = ::preadv2(fd_.get(), &part, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  if (got >= 0) return got == 0 || static_cast<size_t>(got) == out.size();
  if (errno != EOPNOTSUPP) return false;
  // The filesystem has no such reads. mincore(2) tells, too, but only if this user may write to the
  // file; else it says that every page is in memory.
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t first = offset / page * page;
  const uint64_t end = std::min(offset + out.size(), size_);
  if (first >= end) return true;
  std::vector<unsigned char> present(base::DivideUp(end - first, page));
  if (::mincore(data_ + first, end - first, present.data()) != 0) return false;
  if (!std::ranges::all_of(present, [](auto p) { return p & 1; })) return false;
  return ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset)) >= 0;
}

uint64_t MappedFile::CachedPages(uint64_t offset, uint64_t length) const {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr uint64_t kStep = uint64_t{1} << 30;
  std::vector<unsigned char> present(base::DivideUp(std::min(length, kStep), page));
  uint64_t pages = 0;
  for (uint64_t at = 0; at < length; at += kStep) {
    const uint64_t step = std::min(kStep, length - at);
    if (::mincore(data_ + offset + at, step, present.data()) != 0) {
      throw IoError(errno, "cannot ask which pages are cached", path_);
    }
    const auto end = present.begin() + static_cast<ptrdiff_t>(base::DivideUp(step, page));
    pages +=
        static_cast<uint64_t>(std::count_if(present.begin(), end, [](auto p) { return p & 1; }));
  }
  return pages;
}

uint64_t MappedFile::ResidentBytes() const {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(page * CachedPages(0, size_), size_);
}

namespace {

// The kernel's header has these since Linux 6.5; the C library may be older.
constexpr long kCachestat = 451;  // on every architecture
struct CachestatRange {
  uint64_t offset;
  uint64_t length;
};
struct Cachestat {
  uint64_t cached;  // in pages, as all fields
  uint64_t dirty;
  uint64_t writeback;
  uint64_t evicted;
  uint64_t recently_evicted;
};

// To other users mincore(2) says that everything is cached.
bool MayAskMincore(const base::Fd& fd) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return false;
  if (::geteuid() == 0 || info.st_uid == ::geteuid()) return true;
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  return ::faccessat(AT_FDCWD, link.c_str(), W_OK, AT_EACCESS) == 0;
}

}  // namespace

std::vector<uint64_t> MappedFile::ResidentParts(uint64_t parts) const {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t pages = base::DivideUp(size_, page);
  std::vector<uint64_t> found;
  for (uint64_t part = 0; part < parts; ++part) {
    const uint64_t begin = pages * part / parts * page;
    const uint64_t end = std::min(pages * (part + 1) / parts * page, size_);
    if (begin >= end) {  // fewer pages than parts; a length of 0 would mean the whole rest
      found.push_back(0);
      continue;
    }
    CachestatRange range{begin, end - begin};
    Cachestat told{};
    uint64_t cached = 0;
    if (::syscall(kCachestat, fd_.get(), &range, &told, 0) == 0) {
      cached = told.cached;
    } else if (MayAskMincore(fd_)) {
      cached = CachedPages(begin, end - begin);
    } else {
      return {};
    }
    found.push_back(std::min(cached * page, end - begin));
  }
  return found;
}

}  // namespace graphzero::store
