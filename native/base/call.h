// A call into the engine on behalf of a client that may lose interest in it, and that may not have
// all of the machine.
//
// The daemon makes a Call for each request and enters it on the thread that runs the request. What
// that thread does in the engine from then on, and what other threads do to help it
// (base/threads.h), belongs to the call:
//   - Stop() makes it end early: loops that may be long call CheckStopped() at least every few
//     milliseconds, which then throws Stopped.
//   - Working memory (Buffer, WorkAllocator) counts against one limit for the whole process before
//     it is touched. A call that would exceed it gets NeedsMemory and must let go of everything: no
//     call ever waits for memory while it holds some, so calls cannot wait for each other. The call
//     may be repeated after Reserve() has set aside what it needs.
//   - The time of its threads is charged to a Share, by which scheduling is fair.
// Outside of a Call nothing is stopped and nothing is refused; memory is counted all the same.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace graphzero::base {

// The call was told to end: its deadline passed, or nobody waits for its result any more.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("the call was stopped") {}
};

// The call needs more working memory than is free. Call::needed() says how much memory suffices to
// get as far as it got, and through the step that failed.
class NeedsMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the calls of one client use together.
struct Share {
  // Thread time, as virtual time: clients with less of it go first (base/threads.h).
  std::atomic<uint64_t> nanoseconds = 0;
  // Working memory. Calls without a reservation may raise it only while as much stays free for
  // others: one client leaves half of the limit to the rest, two leave a third, and so on.
  std::atomic<int64_t> bytes = 0;
};

// Stop() and stopped() may be used from any thread; the rest by the thread that runs the call.
class Call {
 public:
  explicit Call(std::shared_ptr<Share> share) : share_(std::move(share)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  void Stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  // Sets `bytes` of working memory aside for this call if that much is free, including what
  // SetWorkClaim() keeps for the call that reserves. Returns false if not. Memory that the call
  // frees is set aside for it again, so that it can have `bytes` at any time, however often it
  // takes and frees.
  bool Reserve(uint64_t bytes);
  // Gives back the reservation and stops charging the client for this call. Everything that the
  // call took must have been freed by then, on whatever thread. The destructor does the same.
  void LetGo();

  // After NeedsMemory: the bytes to Reserve() before the next attempt; more than the last time.
  uint64_t needed() const { return needed_.load(std::memory_order_relaxed); }

  // Charges this call for idle memory, which is already counted as used, or stops charging it.
  void Adopt(uint64_t bytes);
  void Disown(uint64_t bytes);

  Share* share() const { return share_.get(); }

 private:
  friend void TakeWork(uint64_t bytes);
  friend void GiveWork(uint64_t bytes) noexcept;
  friend class DiskWaitScope;

  // Sets freed memory aside again, as far as the reservation goes; returns how many of `bytes`.
  uint64_t KeepReserved(uint64_t bytes) noexcept;

  const std::shared_ptr<Share> share_;
  std::atomic<bool> stopped_ = false;
  // Counters are atomic because threads that help a call allocate on its behalf too.
  uint64_t reserved_ = 0;
  std::atomic<uint64_t> credit_ = 0;  // reserved, and not taken now
  std::atomic<int64_t> held_ = 0;     // taken by this call, or adopted from idle memory
  std::atomic<uint64_t> needed_ = 0;
  std::atomic<uint32_t> threads_at_disk_ = 0;
};

// The call that this thread works for, or null.
Call* CurrentCall();

// Makes `call`, which may be null, the current call of this thread while this object lives. Nests.
class CallScope {
 public:
  explicit CallScope(Call* call);
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope();

 private:
  Call* const before_;
};

// Throws Stopped if this thread's call was told to stop.
inline void CheckStopped() {
  const Call* const call = CurrentCall();
  if (call != nullptr && call->stopped()) throw Stopped();
}

// Marks the thread as waiting for a disk on behalf of its call, if it has one.
class DiskWaitScope {
 public:
  DiskWaitScope();
  DiskWaitScope(const DiskWaitScope&) = delete;
  DiskWaitScope& operator=(const DiskWaitScope&) = delete;
  ~DiskWaitScope();

 private:
  Call* const call_;
};

// How many calls have a thread in a DiskWaitScope right now.
uint64_t CallsAtDisk();

// ---- working memory ----

struct WorkMemoryUsage {
  uint64_t limit;  // UINT64_MAX if there is none
  uint64_t used;   // memory that is taken, reserved or idle
  uint64_t idle;   // kept for the next call; given up when memory is short
};

void SetWorkLimit(uint64_t bytes);
WorkMemoryUsage GetWorkMemory();

// Keeps `bytes` free for the call that will reserve them: calls without a reservation are refused
// memory beyond limit - claim.
void SetWorkClaim(uint64_t bytes);

// Counts `bytes` that are about to be allocated. Inside a call, throws NeedsMemory beyond the
// limit.
void TakeWork(uint64_t bytes);
// Counts `bytes` as free again.
void GiveWork(uint64_t bytes) noexcept;

// Adds `bytes`, which may be negative, to the count of idle memory, which is kept for later calls.
void AddIdleWork(int64_t bytes);

// Sets the function that is called when memory is short. It frees some idle memory and returns
// whether there was any. To be set once, at start.
void SetWorkReclaimer(bool (*reclaim)());

// Makes large blocks go back to the system as soon as they are freed, for the whole process.
//
// By default glibc raises its threshold for large blocks whenever one is freed, up to 32 MiB, and
// keeps smaller blocks in the heap of the thread that allocated them: a daemon that counts 150 MiB
// of working memory then holds a gigabyte. For the daemon only: in a trainer's process this is the
// trainer's decision.
void ReturnFreedMemory();

// For containers whose size depends on a request.
template <class T>
struct WorkAllocator {
  using value_type = T;
  WorkAllocator() = default;
  template <class Other>
  WorkAllocator(const WorkAllocator<Other>&) {}

  T* allocate(size_t count) {
    if (count > std::numeric_limits<size_t>::max() / 2 / sizeof(T)) throw std::bad_alloc();
    TakeWork(count * sizeof(T));
    try {
      return std::allocator<T>().allocate(count);
    } catch (...) {
      GiveWork(count * sizeof(T));
      throw;
    }
  }
  void deallocate(T* data, size_t count) noexcept {
    std::allocator<T>().deallocate(data, count);
    GiveWork(count * sizeof(T));
  }
  template <class Other>
  bool operator==(const WorkAllocator<Other>&) const {
    return true;
  }
};

}  // namespace graphzero::base
