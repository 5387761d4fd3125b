// Mapped files that end too early or cannot be read: SIGBUS turned into an error.
//
// Touching a page that the disk cannot deliver, or that lies beyond the end of a file that was cut
// short, raises SIGBUS and by default ends the process: a daemon would die with all its trainers
// because of one file. While the engine reads a mapping on behalf of a call (MappedAccess), the
// handler puts a page of zeros there instead and marks the mapping; the call asks for the mark
// before it returns and fails. Reading goes on in between, so the engine checks every value that it
// uses as an index, as it does for damaged files anyway. No jump out of a handler: the thread may
// be in the middle of a parallel loop.
//
// Faults anywhere else, also on views that were handed to users, go to whoever handled SIGBUS
// before: there, zeros would be a silent wrong answer. (A page that a failed call has replaced
// stays replaced, also for views of it.)
//
// Shared memory that another process can cut is guarded all the time (GuardScope::kAlways): the
// daemon only writes to it, from the engine and from Python, and checks the mark before it tells
// anyone about what it wrote.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace graphzero::base {

// When a fault inside a mapping is answered with zeros.
enum class GuardScope {
  // While the thread is inside a MappedAccess. Only the missing pages are replaced, so that the
  // rest can still be read.
  kDuringAccess,
  // At any time. The first fault replaces the whole mapping by memory of this process, so that
  // nothing that happens to the file can cause another fault.
  kAlways,
};

// What the handler knows about one mapping. Never freed while the handler may look at it.
struct GuardedMapping {
  static constexpr uintptr_t kUnused = 0;
  static constexpr uintptr_t kTaken = UINTPTR_MAX;  // being registered; contains no address
  std::atomic<uintptr_t> begin = kUnused;
  std::atomic<uintptr_t> end = 0;
  std::atomic<int> descriptor = -1;  // of the file
  std::atomic<bool> always = false;  // GuardScope::kAlways
  static constexpr uint64_t kSound = UINT64_MAX;
  std::atomic<uint64_t> damaged_at = kSound;  // offset of the first page that was replaced
};

// Registers a mapping for as long as it lives. Thread-safe.
class FaultGuard {
 public:
  // The descriptor stays open as long as this lives.
  FaultGuard(std::byte* data, uint64_t size, int descriptor,
             GuardScope scope = GuardScope::kDuringAccess);
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;
  ~FaultGuard();

  // Where the first page that could not be touched begins; GuardedMapping::kSound if all could.
  uint64_t damaged_at() const { return mapping_->damaged_at.load(std::memory_order_acquire); }

 private:
  GuardedMapping* mapping_;
};

// Marks this thread as reading mappings on behalf of a call that will check damaged_at(). Nests.
class MappedAccess {
 public:
  MappedAccess();
  MappedAccess(const MappedAccess&) = delete;
  MappedAccess& operator=(const MappedAccess&) = delete;
  ~MappedAccess();

  // Whether this thread is marked, so that threads which work for it can be marked as well.
  static bool Active();
};

}  // namespace graphzero::base
