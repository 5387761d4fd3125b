// What every long job of the compiler shares: its limits, its progress, its threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>

#include "base/errors.h"

namespace graphzero::compile {

// Below this the fixed buffers alone would not fit.
inline constexpr uint64_t kMinimumMemory = uint64_t{64} << 20;
// What a thread needs for its own buffers; more threads than memory has room for are not started.
inline constexpr uint64_t kMemoryPerThread = uint64_t{8} << 20;

// Limits of one job. Results never depend on them.
struct Resources {
  uint64_t memory;       // bytes of working memory, at least kMinimumMemory
  int threads;           // at least 1
  std::string temp_dir;  // where what exceeds memory goes; unnamed files, gone with the process
  // For tests only: edges begin with 64-bit ids, as they do after an id beyond 32 bits was met.
  bool wide_records = false;

  // The limits a user gave. Throws std::invalid_argument.
  static Resources Make(uint64_t memory, int threads, std::string temp_dir);
};

// Written by the job's threads, read by whoever shows it. `phase` points to a string literal.
class Progress {
 public:
  void Start(const char* phase, uint64_t total) {
    phase_ = phase;
    done_ = 0;
    total_ = total;
  }
  void Add(uint64_t amount) { done_.fetch_add(amount, std::memory_order_relaxed); }
  void Cancel() { cancelled_ = true; }
  void ThrowIfCancelled() const {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
  }

  const char* phase() const { return phase_; }
  uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  uint64_t total() const { return total_; }

 private:
  std::atomic<const char*> phase_{""};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> total_{0};
  std::atomic<bool> cancelled_{false};
};

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

// Thrown by a worker that gives up because another one failed.
struct StoppedByOther {};

// Runs work(rank) on up to `threads` threads, the caller's among them, and rethrows the first
// exception (StoppedByOther does not count) after all have returned. There are fewer if the system
// refuses to start some, so that no rank may wait for what another one would do. Plain threads
// rather than a ThreadLease: workers wait for each other's turn.
void RunTeam(int threads, const std::function<void(int rank)>& work);

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

}  // namespace graphzero::compile
