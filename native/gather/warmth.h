// Estimates whether rows that are about to be read lie in memory, at next to no cost.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "store/files/mapped_file.h"

namespace graphzero::gather {

// Thread-safe. Asking the kernel about every row never paid. Asking about a few hundred rows of a
// call, a few times a second while they are in memory, tells enough about the other rows.
class Warmth {
 public:
  // `file` outlives this.
  explicit Warmth(const store::MappedFile& file) : file_(file) {}

  // True if nearly all of `count` places are in memory; offset(i) is the i-th place in the file.
  bool IsWarm(size_t count, const std::function<uint64_t(size_t)>& offset);

 private:
  bool Measure(size_t count, const std::function<uint64_t(size_t)>& offset) const;

  const store::MappedFile& file_;
  std::atomic<bool> warm_ = false;
  std::atomic<int64_t> next_look_ = 0;  // milliseconds of the coarse clock
};

}  // namespace graphzero::gather
