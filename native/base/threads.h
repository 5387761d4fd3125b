// How many threads a call may use right now.
//
// All calls of a process share one budget. Each holds one thread as long as it runs, and asks for
// idle ones only for the length of a parallel loop: a call that is alone uses all, calls that
// compete run one thread each, which is also the fastest way to serve them, and a call that finds
// no thread waits. The thread of a call that has ended stays free for a moment, in case the next
// call of the same request comes. No result depends on how many threads a call gets.
//
// Among calls that wait, the one whose client has used the least thread time gets the next thread
// (base/call.h, Share). A long call hands its thread over at a CheckPoint() when a client that has
// used less waits: however much one client asks for, another one waits only milliseconds.
//
// A forked child has none of its parent's threads, and usually shares the processors with other
// children (workers of a data loader): it runs every loop on the calling thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace graphzero::base {

struct ThreadUsage {
  int limit;  // threads that all calls together may use
  int peak;   // most threads that were in use at one time since the last SetThreadLimit()
};

// Sets the limit; values below 1 count as 1. Running calls keep the threads they have. The limit
// starts as OMP_NUM_THREADS, or as the number of processors that this process may use.
void SetThreadLimit(int limit);
ThreadUsage GetThreadUsage();

// Whether a call that came now would find a thread at once.
bool HasIdleThread();

// The thread time that a client which comes now counts as having used: an idle client saves up
// nothing, and a new one has no claim to the time that others have used before. It grows with the
// time that each competing client has got, so that newcomers do not overtake a waiting client
// for ever.
uint64_t NewcomersNanoseconds();

// Calls of the current thread never wait for a thread of the budget, and may exceed the budget. For
// a thread that serves everyone and makes only brief calls.
void NeverWaitOnThisThread();
bool MayWaitOnThisThread();

// For loops that may run long outside of ThreadLease::For(): throws Stopped if the call was told to
// stop, and hands the thread over if another client is due. Cheap enough for every few thousand
// steps; a loop must call it at least every 10 ms.
void CheckPoint();

// For loops over items: calls CheckPoint() at every kItems-th item.
class CheckedLoop {
 public:
  static constexpr size_t kItems = size_t{1} << 15;

  // To be called once for each item.
  void Next() {
    if (++count_ % kItems == 0) [[unlikely]]
      CheckPoint();
  }

 private:
  size_t count_ = 0;
};

// Calls step(i) for each i below `count`, with a CheckPoint() now and then. Costs nothing where
// `count` is small.
template <class Step>
void ForEach(size_t count, const Step& step) {
  for (size_t begin = 0; begin < count; begin += CheckedLoop::kItems) {
    if (begin > 0) CheckPoint();
    const size_t end = std::min(begin + CheckedLoop::kItems, count);
    for (size_t i = begin; i < end; ++i) step(i);
  }
}

// One call's share of the budget. Used by one thread; not copyable.
class ThreadLease {
 public:
  // Waits until a thread is free. `wanted` bounds what this call uses; 0 means the whole budget.
  explicit ThreadLease(int wanted);
  ThreadLease(const ThreadLease&) = delete;
  ThreadLease& operator=(const ThreadLease&) = delete;
  ~ThreadLease();

  // Calls body(rank, begin, end) for consecutive ranges of at most `grain` items until all `count`
  // are done, from as many threads as can be had; rank is below max_team(). `body` writes only to
  // what belongs to its range or its rank. The exception of the first range that throws is thrown
  // here, after the loop has ended. There is a CheckPoint() before each range.
  using Body = std::function<void(int rank, size_t begin, size_t end)>;
  void For(size_t count, size_t grain, const Body& body);

  // The most threads that For() could get.
  int max_team() const { return wanted_; }

  // Lends the call's thread to others while the call waits for a disk. The destructor waits for a
  // thread again, which may take as long as for a new call.
  class Pause {
   public:
    Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause();
  };

 private:
  int wanted_;
};

}  // namespace graphzero::base
