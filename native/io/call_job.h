// What both ways to read many places at a time (scattered_read.h, range_read.h) have in common:
// they end with the call that they read for, are counted, and have memory for reads that do not go
// straight to where they are wanted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/call.h"
#include "io/io_counters.h"
#include "io/random_file.h"

namespace graphzero::io {

// A thread keeps at most so much memory for reads under way, unless single items are longer.
inline constexpr uint64_t kBounceBytes = uint64_t{8} << 20;
inline constexpr uint64_t kBounceAlign = 4096;

// At least `bytes`, a multiple of kBounceAlign, aligned to that. Belongs to the calling thread,
// which keeps it for its next call: a fresh buffer would be cleared page by page, each time. Valid
// until that call. Throws std::bad_alloc.
std::byte* BounceMemory(size_t bytes);

// Reads for the call of the thread that makes it (base/call.h).
class CallJob : public ReadJob {
 public:
  // Reads everything with at most `depth` reads under way, and adds to `counters` what that took,
  // also if it fails. Throws IoError, and base::Stopped if the call is to end: some has then not
  // been read.
  void Run(const RandomFile& file, uint32_t depth, IoCounters& counters);

  bool Next(uint32_t slot, Read* read) noexcept final;
  void Done(uint32_t slot, uint64_t nanoseconds) noexcept final;

 private:
  // As Next() and Done() of ReadJob.
  virtual bool Prepare(uint32_t slot, Read* read) noexcept = 0;
  virtual void Deliver(uint32_t slot) noexcept = 0;

  const base::Call* const call_ = base::CurrentCall();
  IoCounts counts_;
};

// Sorts what is wanted, unless it is sorted; throws base::Stopped in the midst of it if the call is
// to end.
template <class T, class Less>
void SortWanted(std::span<T> wanted, const Less& less) {
  constexpr uint64_t kCompared = uint64_t{1} << 16;
  if (std::is_sorted(wanted.begin(), wanted.end(), less)) return;
  uint64_t compared = 0;
  std::sort(wanted.begin(), wanted.end(), [&](const T& a, const T& b) {
    if (++compared % kCompared == 0) [[unlikely]]
      base::CheckStopped();
    return less(a, b);
  });
}

}  // namespace graphzero::io
