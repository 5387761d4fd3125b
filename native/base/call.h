// A call into the engine on behalf of a client that may lose interest in it, and that may not have
// all of the machine.
//
// The daemon makes a Call for each request and enters it on the thread that runs the request. What
// that thread does in the engine from then on, and what other threads do to help it
// (base/threads.h), belongs to the call:
//   - Stop() makes it end early: loops that may be long ask CheckStopped() at least every few
//     milliseconds, and it throws Stopped.
//   - Working memory (Buffer, WorkAllocator) counts against one limit for the whole process before
//     it is touched. A call that would exceed it gets NeedsMemory and must let go of everything: no
//     call ever waits for memory while it holds some, so calls cannot wait for each other. It may
//     be made again after Reserve() got what it needs.
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

// The call needs more working memory than is free. Call::needed() says how much it would take to
// get as far as it got, and over the step that failed.
class NeedsMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the calls of one client use together.
struct Share {
  // Thread time, as virtual time: clients with less of it go first (base/threads.h).
  std::atomic<uint64_t> nanoseconds = 0;
  // Working memory. Calls that have reserved nothing may bring it up to what is free for others:
  // one client leaves half of the limit to the rest, two leave a third, and so on.
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

  // Sets `bytes` of working memory aside for this call, if so much is free beside what SetClaim()
  // keeps (which is for the call that reserves). False if not. What the call frees of it is set
  // aside again, so that it can have so much at any time, however often it takes and frees.
  bool Reserve(uint64_t bytes);
  // Everything that the call had taken was freed, wherever that was: gives back what is left of its
  // reservation, and its client is charged for nothing of it any more. The destructor does it too.
  void LetGo();

  // After NeedsMemory: the bytes to Reserve() before the next attempt; more than the last time.
  uint64_t needed() const { return needed_.load(std::memory_order_relaxed); }

  // Idle memory that is counted already becomes this call's, or is its no longer.
  void Adopt(uint64_t bytes);
  void Disown(uint64_t bytes);

  Share* share() const { return share_.get(); }

 private:
  friend void TakeWork(uint64_t bytes);
  friend void GiveWork(uint64_t bytes) noexcept;
  friend class DiskWaitScope;

  // Of `bytes` that were freed: how many are set aside again.
  uint64_t KeepReserved(uint64_t bytes) noexcept;

  const std::shared_ptr<Share> share_;
  std::atomic<bool> stopped_ = false;
  // Threads that help a call allocate in it too.
  uint64_t reserved_ = 0;
  std::atomic<uint64_t> credit_ = 0;  // reserved, and not taken now
  std::atomic<int64_t> held_ = 0;     // taken by this call, or adopted from idle memory
  std::atomic<uint64_t> needed_ = 0;
  std::atomic<uint32_t> threads_at_disk_ = 0;
};

// The call that this thread works for, or null.
Call* CurrentCall();

// Makes `call`, which may be null, that of this thread for as long as this lives. Nests.
class CallScope {
 public:
  explicit CallScope(Call* call);
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope();

 private:
  Call* const before_;
};

// Throws Stopped if this thread's call is to end.
inline void CheckStopped() {
  const Call* const call = CurrentCall();
  if (call != nullptr && call->stopped()) throw Stopped();
}

// The thread waits for a disk in here, on behalf of its call, if it has one.
class DiskWaitScope {
 public:
  DiskWaitScope();
  DiskWaitScope(const DiskWaitScope&) = delete;
  DiskWaitScope& operator=(const DiskWaitScope&) = delete;
  ~DiskWaitScope();

 private:
  Call* const call_;
};

// Calls of which a thread is in a DiskWaitScope right now.
uint64_t CallsAtDisk();

// ---- working memory ----

struct WorkMemoryUsage {
  uint64_t limit;  // UINT64_MAX: none
  uint64_t used;   // taken or reserved, and idle
  uint64_t idle;   // kept for the next call; given up when memory is short
};

void SetWorkLimit(uint64_t bytes);
WorkMemoryUsage GetWorkMemory();

// Keeps so much free for the call that will reserve it: other calls that have reserved nothing are
// refused memory beyond limit - claim.
void SetWorkClaim(uint64_t bytes);

// Counts `bytes` that are about to be allocated. Inside a call, throws NeedsMemory beyond the
// limit.
void TakeWork(uint64_t bytes);
// Counts them as free again.
void GiveWork(uint64_t bytes) noexcept;

// Memory that is kept for later calls: `bytes` more, or less.
void AddIdleWork(int64_t bytes);

// Called when memory is short: lets go of idle memory and returns whether there was any. One
// function, set once, at start.
void SetWorkReclaimer(bool (*reclaim)());

// Makes large blocks go back to the system as soon as they are freed, for the whole process.
//
// By default glibc raises the size from which it does so with every large block that is freed, up
// to 32 MiB, and keeps what is smaller in the heap of the thread that asked for it: a daemon that
// counts 150 MiB of working memory then holds a gigabyte. For a process of our own only: in a
// trainer it would be somebody else's decision.
void ReturnFreedMemory();

// For containers whose size follows a request.
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
