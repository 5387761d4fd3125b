#include "gather/warmth.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace graphzero::gather {
namespace {

// With 1 row in 200 on the disk, three looks in four find one of them; the faults that the fourth
// then takes cost less than reading all rows would.
constexpr size_t kLooks = 256;
constexpr int64_t kWarmForMs = 200;
constexpr int64_t kColdForMs = 20;

int64_t CoarseMilliseconds() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// One byte, without waiting. The kernel starts to read what is missing, which will be asked for
// next anyway.
bool InMemory(const store::MappedFile& file, uint64_t offset) {
  std::byte byte;
  iovec part{&byte, 1};
  const ssize_t got = ::preadv2(file.fd().get(), &part, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  if (got >= 0) return true;
  if (errno != EOPNOTSUPP) return false;
  // A filesystem without such reads: the mapping knows too, but only if this user may write to the
  // file; else the kernel says yes to everything.
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  unsigned char present = 0;
  std::byte* const at = file.bytes().data() + offset / page * page;
  return ::mincore(at, 1, &present) == 0 && (present & 1) != 0;
}

}  // namespace

bool Warmth::IsWarm(size_t count, const std::function<uint64_t(size_t)>& offset) {
  const int64_t now = CoarseMilliseconds();
  int64_t due = next_look_.load(std::memory_order_relaxed);
  if (now < due || count == 0) return warm_.load(std::memory_order_relaxed);
  // One caller looks; the others go by what was known.
  if (!next_look_.compare_exchange_strong(due, now + kColdForMs)) {
    return warm_.load(std::memory_order_relaxed);
  }
  const bool warm = Measure(count, offset);
  warm_ = warm;
  if (warm) next_look_ = now + kWarmForMs;
  return warm;
}

bool Warmth::Measure(size_t count, const std::function<uint64_t(size_t)>& offset) const {
  const size_t looks = std::min(count, kLooks);
  for (size_t i = 0; i < looks; ++i) {
    if (!InMemory(file_, offset(i * count / looks))) return false;
  }
  return true;
}

}  // namespace graphzero::gather
