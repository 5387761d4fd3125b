// A long range of a file, read once from its begin to its end, without leaving it in the page
// cache: what others keep there is worth more.
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
  // Short enough that whoever reads between two of them hardly notices: a few milliseconds.
  static constexpr uint64_t kStep = uint64_t{2} << 20;

  // The caller knows the range to lie in the file. With O_DIRECT, or through the page cache and out
  // of it again where the filesystem has none. Throws IoError.
  OrderedRead(std::shared_ptr<const store::MappedFile> file, uint64_t offset, uint64_t bytes);

  // The next kStep bytes, or what is left of them; empty at the end. Aligned as the range is in the
  // file, up to 512 bytes. Valid until the next call. Throws IoError, and base::Stopped if the
  // thread's call is to end.
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
  IoCounters counters_;  // nobody asks: it is read once
};

}  // namespace graphzero::io
