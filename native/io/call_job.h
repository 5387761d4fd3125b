// The base of all jobs that read many places at a time (sweep.h, range_read.h,
// ordered_read.h): they stop with the call that they read for, count their reads, and have a buffer
// for reads that do not go straight to their destination.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/call.h"
#include "io/io_counters.h"
#include "io/random_file.h"

namespace graphzero::io {

// A thread keeps a buffer of at most this size for reads under way, unless single items are longer.
inline constexpr uint64_t kBounceBytes = uint64_t{8} << 20;
inline constexpr uint64_t kBounceAlign = 4096;

// A buffer of at least `bytes`, which must be a multiple of kBounceAlign; aligned to kBounceAlign.
// Belongs to the calling thread, which keeps it for its next call: the kernel would clear a fresh
// buffer page by page each time. Valid until that call. Throws std::bad_alloc.
std::byte* BounceMemory(size_t bytes);

// Reads on behalf of the current call (base/call.h) of the thread that constructs it.
class CallJob : public ReadJob {
 public:
  // Reads everything with at most `depth` reads under way, and adds the reads to `counters`, even
  // if it fails. Throws IoError, and base::Stopped if the call was told to stop; some data has then
  // not been read.
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

// Sorts `wanted` unless it is sorted already. Throws base::Stopped in the middle if the call was
// told to stop.
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
