// Whether what is about to be read lies in memory: an estimate that costs next to nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "store/mapped_file.h"

namespace graphzero::gather {

// Thread-safe. Asking the kernel about every row never paid; asking about a few hundred of the rows
// of a call, and at most a few times a second, tells how the others will fare.
class Warmth {
 public:
  // `file` outlives this.
  explicit Warmth(const store::MappedFile& file) : file_(file) {}

  // True if nearly all of `count` places are in memory; offset(i) gives the i-th in the file.
  bool IsWarm(size_t count, const std::function<uint64_t(size_t)>& offset);

 private:
  bool Measure(size_t count, const std::function<uint64_t(size_t)>& offset) const;

  const store::MappedFile& file_;
  std::atomic<bool> warm_ = false;
  std::atomic<int64_t> next_look_ = 0;  // milliseconds of the coarse clock
};

}  // namespace graphzero::gather
