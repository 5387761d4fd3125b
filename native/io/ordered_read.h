// Reads a long range of a file once, from begin to end, without leaving it in the page cache: what
// others keep there is worth more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/io_counters.h"
#include "io/random_file.h"

namespace graphzero::io {

// Used by one thread at a time.
class OrderedRead {
 public:
  // Bytes of one step. A step takes a few milliseconds, so other readers of the disk, which can
  // read between two steps, hardly notice it.
  static constexpr uint64_t kStep = uint64_t{2} << 20;

  // The caller knows the range to lie in the file. Reads with O_DIRECT; where the filesystem has
  // none, reads through the page cache and drops the pages afterwards. Throws IoError.
  OrderedRead(std::shared_ptr<const store::MappedFile> file, uint64_t offset, uint64_t bytes);

  // The next kStep bytes, or fewer if fewer are left; empty at the end. Aligned in memory as in the
  // file, up to 512 bytes. Valid until the next call. Throws IoError, and base::Stopped if the
  // thread's call was told to stop.
  std::span<const std::byte> Next();

 private:
  static RandomFile Open(std::shared_ptr<const store::MappedFile> file);

  struct Free {
    void operator()(std::byte* memory) const;
  };
  RandomFile file_;
  uint64_t at_;
  const uint64_t end_;
  std::unique_ptr<std::byte, Free> buffer_;
  IoCounters counters_;  // CallJob::Run() needs them; nobody reads them
};

}  // namespace graphzero::io
