// A whole file in the address space, and calls that read it: if it cannot be read, the call fails
// and not the process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/fault_guard.h"
#include "base/file.h"

namespace graphzero::store {

// A whole file, mapped. Nothing is read until it is touched, so opening costs the same for any
// size.
//
// The mapping is private and writable (MAP_PRIVATE | MAP_NORESERVE): views handed to NumPy and
// torch may be modified in place, which copies the touched pages for this process and never reaches
// the file; a read-only mapping would turn `x.relu_()` into SIGSEGV. NORESERVE, because the kernel
// would otherwise refuse to map a file larger than memory.
//
// Thread-safe. Pages stay valid as long as this object lives, also when the file is renamed,
// replaced or unlinked, and in forked children.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> Open(const std::string& path);
  // Maps the same file once more. The new mapping does not have what this process wrote to views of
  // this one. Works also if another file has the name by now.
  std::shared_ptr<const MappedFile> MapAgain() const;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

  // The descriptor it was mapped from, for reads that must not fault: a page that the disk cannot
  // deliver is an error from pread(2) and SIGBUS from the mapping.
  const base::Fd& fd() const { return fd_; }

  // Copies what is at `offset` without touching the mapping: for headers, which are read before it
  // is known that the file is whole. Throws IoError with the offset.
  void Read(uint64_t offset, std::span<std::byte> out) const {
    base::ReadExactly(fd_, offset, out, path_);
  }

  // Copies what is at `offset` if it is in memory, without waiting for a disk; false if it is not.
  // The kernel then begins to read it. True, with nothing copied, beyond the end of a file that was
  // cut.
  bool TryRead(uint64_t offset, std::span<std::byte> out) const;

  // Throws IoError if a page of the mapping could not be read since the file was opened, or if the
  // file was cut short. Called at the end of a call that read the mapping under MappedAccess. The
  // file counts as damaged until it is opened anew.
  void ThrowIfDamaged() const;

  // How many bytes of the file the page cache holds right now, by mincore(2).
  uint64_t ResidentBytes() const;

  // The same for each of `parts` consecutive pieces of equal length. Uses cachestat(2) if the
  // kernel has it, whose cost depends on how much is cached and not on the length of the file.
  // Empty if the kernel does not tell this user, who neither owns the file nor may write to it.
  std::vector<uint64_t> ResidentParts(uint64_t parts) const;

 private:
  uint64_t CachedPages(uint64_t offset, uint64_t length) const;  // by mincore(2)
  static std::shared_ptr<const MappedFile> Map(const std::string& path, base::Fd fd);
  MappedFile(std::string path, base::Fd fd, std::byte* data, uint64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), data_(data), size_(size) {
    guard_.emplace(data, size, fd_.get());
  }

  std::string path_;
  base::Fd fd_;
  std::byte* data_;
  uint64_t size_;
  std::optional<base::FaultGuard> guard_;
};

// Runs `read` under MappedAccess and throws IoError if the file turned out to be unreadable, also
// if `read` threw FormatError because of the zeros that stand in for missing bytes. Other threads
// that read for it get MappedAccess from the function that starts them (ThreadLease::For,
// StartHelpers).
template <typename Read>
auto ReadGuarded(const MappedFile& file, const Read& read) {
  const base::MappedAccess access;
  try {
    if constexpr (std::is_void_v<decltype(read())>) {
      read();
      file.ThrowIfDamaged();
    } else {
      auto result = read();
      file.ThrowIfDamaged();
      return result;
    }
  } catch (const FormatError&) {
    file.ThrowIfDamaged();
    throw;
  }
}

// Judges `count` places by a few of them, for instance whether they are in memory (TryRead): calls
// look(i) for at most `most` numbers i below `count`, spread evenly, and returns whether all calls
// returned true.
template <class Look>
bool SpreadLooks(size_t count, size_t most, const Look& look) {
  const size_t looks = std::min(count, most);
  for (size_t i = 0; i < looks; ++i) {
    if (!look(i * count / looks)) return false;
  }
  return true;
}

}  // namespace graphzero::store
