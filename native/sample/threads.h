// How many threads a call may use right now.
//
// All calls of a process share one budget. Each holds one thread as long as it runs, and asks for
// idle ones only for the length of a parallel loop: a call that is alone uses all, calls that
// compete run one thread each, which is also the fastest way to serve them, and a call that finds
// no thread waits. No result depends on what was granted.
//
// libgomp hangs in a forked child whose parent ran a parallel region, so a child runs every loop on
// the calling thread.
#pragma once

#include <cstddef>
#include <functional>

namespace graphzero::sample {

struct ThreadUsage {
  int limit;  // threads that all calls together may use
  int peak;   // most threads that were in use at one time since the last SetThreadLimit()
};

// At least 1. Calls that run keep what they have. Starts as what OpenMP would use.
void SetThreadLimit(int limit);
ThreadUsage GetThreadUsage();

// Whether a call that came now would find a thread at once.
bool HasIdleThread();

// Calls of the current thread never wait for one: for a thread that serves everyone and makes brief
// calls only. The budget may be exceeded by it.
void NeverWaitOnThisThread();

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
  // here, after the loop has ended.
  using Body = std::function<void(int rank, size_t begin, size_t end)>;
  void For(size_t count, size_t grain, const Body& body);

  // The most threads that For() could get.
  int max_team() const { return wanted_; }

  // Lends the call's thread to others while it waits for a disk; gets one back at the end of its
  // life, which may take as long as for a new call.
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

}  // namespace graphzero::sample
