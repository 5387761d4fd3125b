// What the harnesses share: the input as a file, the errors that are answers, and claims.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/errors.h"

namespace graphzero::fuzz {

// Ends the program: what must hold for every input does not hold for this one.
inline void Require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "a claim does not hold: %s\n", claim);
  std::abort();
}

// Runs it. Errors that a user is told about are answers; every other exception ends the program.
template <class Action>
void Tolerate(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const FormatError&) {
  } catch (const InputError&) {
  } catch (const IoError&) {
  } catch (const std::out_of_range&) {
  } catch (const std::invalid_argument&) {
  }
}

// A file in memory that has a path, as the engine opens files.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    Require(fd_ >= 0, "memfd_create works");
    path_ = "/proc/self/fd/" + std::to_string(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }

  const std::string& path() const { return path_; }

  // The file is these bytes from now on.
  void Fill(std::span<const uint8_t> bytes) {
    Require(ftruncate(fd_, 0) == 0, "the file can be emptied");
    Require(bytes.empty() || write_all(bytes), "the file can be filled");
  }

 private:
  bool write_all(std::span<const uint8_t> bytes) const {
    return pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  }

  int fd_;
  std::string path_;
};

// Takes options of a harness from the front of its input.
class InputHead {
 public:
  explicit InputHead(std::span<const uint8_t> bytes) : rest_(bytes) {}

  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  std::span<const uint8_t> rest() const { return rest_; }

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace graphzero::fuzz
