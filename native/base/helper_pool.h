// Threads that stay, and help callers through their loops.
//
// They are started when they are first needed. A process has two pools: one for the parallel loops
// of calls (threads.h), one for reads that block (io/pread_queue.h). Not OpenMP: libgomp ends the
// process when the system refuses a thread (a control group's pids.max, `ulimit -u`), keeps a team
// for each thread that ever ran a loop, and its helpers spin for milliseconds after each loop.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <vector>

namespace graphzero::base {

struct HelperPoolOptions {
  // How long a helper spins for the next loop, and a caller for the end of its helpers' last
  // pieces, before they sleep. They yield the processor to other threads meanwhile. 0 for pools
  // with more helpers than processors.
  std::chrono::microseconds awake{0};
  // The most threads that the pool starts, for all callers together.
  int most_threads = std::numeric_limits<int>::max();
};

// Thread-safe. Must not be destroyed once it has threads, which wait in it until the process ends.
// A forked child has none of them: it needs a pool of its own (fork.h).
class HelperPool {
 public:
  using Work = std::function<void(int rank)>;

  explicit HelperPool(HelperPoolOptions options) : options_(options) {}
  HelperPool(const HelperPool&) = delete;
  HelperPool& operator=(const HelperPool&) = delete;

  // Calls work(0) on this thread and meanwhile work(1), work(2), ... up to work(helpers) on others,
  // as soon as they are awake; returns when every call that began has ended. `work` must hand out
  // the items of its loop on demand, so that it does not matter how many helpers join, or whether
  // any does. Once one call of `work` has returned, no other helper joins. `work` must not throw.
  void Run(int helpers, const Work& work);

 private:
  struct Loop {
    const Work& work;
    int places;                   // for helpers that may still join
    int next_rank = 1;            // of the next helper that joins
    std::atomic<int> active = 0;  // helpers at work; changes with the mutex held
  };

  // These need the mutex.
  void Close(Loop& loop);  // no helper joins any more
  void StartThreads();     // as many as the loops that run now have asked for

  [[noreturn]] void Help();
  template <class Done>
  bool Spin(const Done& done) const;

  const HelperPoolOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable ended_;
  std::vector<Loop*> loops_;     // those with places, oldest first
  std::atomic<int> places_ = 0;  // of all loops; changes with the mutex held
  int demand_ = 0;               // helpers that the running loops asked for
  int threads_ = 0;
  int asleep_ = 0;
  std::chrono::steady_clock::time_point retry_at_{};
};

}  // namespace graphzero::base
