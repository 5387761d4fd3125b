// Threads for the length of one long job: a conversion, a check of a file, a look-up of many ids.
//
// They are started for the job and end with it. Other threads help requests through loops of
// microseconds (helper_pool.h): those stay, share one budget (threads.h) and do not exist in a
// forked child, where a conversion may well run.
//
// The system may refuse to start a thread: a control group or `ulimit -u` bounds how many there may
// be. That is no reason to fail, because the caller works in any case: it goes on with as many
// helpers as it got.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace graphzero::base {

// Starts threads that call work(rank), for ranks from 1 to `count`, as many of them as can be had;
// ranks are given out in order. `work` must not throw, and must outlive the threads, which the
// destructor of the result waits for. They read mappings on behalf of a call (MappedAccess) if the
// thread that starts them does.
[[nodiscard]] std::vector<std::jthread> StartHelpers(int count,
                                                     const std::function<void(int rank)>& work);

// Thrown by a worker that gives up because another one failed.
struct StoppedByOther {};

// Runs work(rank) on up to `threads` threads, the caller's among them, and rethrows the first
// exception (StoppedByOther does not count) after all have returned. No rank may wait for work that
// another rank has yet to begin, because there may be fewer ranks than `threads`; it may wait for
// work that another rank has begun (Turnstile).
void RunTeam(int threads, const std::function<void(int rank)>& work);

// Keeps the exception that belongs to the earliest position of the input, so that the error a user
// sees does not depend on which thread was faster.
class FirstError {
 public:
  void Report(uint64_t position, std::exception_ptr error);
  bool any() const { return any_.load(std::memory_order_acquire); }
  void RethrowIfAny() const;

 private:
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  uint64_t position_ = 0;
  std::exception_ptr error_;
};

// Lets threads pass in the order of their tickets 0, 1, 2, ... A thread that fails must Abort(), or
// the others would wait for ever.
class Turnstile {
 public:
  // False if the turnstile was aborted.
  bool Wait(uint64_t ticket);
  void Done(uint64_t ticket);
  void Abort();
  // Begins again at ticket 0. Not while a thread waits.
  void Reset() { next_ = 0; }

 private:
  std::atomic<uint64_t> next_{0};
};

}  // namespace graphzero::base
