#include "base/helper_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace graphzero::base {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void(int rank)>;

// A call has several loops, and waking a thread takes longer than what often lies between two of
// them: for so long a helper looks for the next loop, and a caller for the end of its helpers'
// last ranges, before they sleep. Whoever else wants the processor meanwhile gets it.
constexpr auto kAwake = std::chrono::microseconds(500);
// After the system has refused a thread, for so long no other is asked for.
constexpr auto kRetryAfter = std::chrono::seconds(1);

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether `done` came to hold within kAwake.
template <class Done>
bool Spin(const Done& done) {
  constexpr int kLooks = 64;  // before others get a chance
  const Clock::time_point end = Clock::now() + kAwake;
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (done()) return true;
      Relax();
    }
    ::sched_yield();
  } while (Clock::now() < end);
  return false;
}

class Pool {
 public:
  void Run(int helpers, const Work& work) {
    Loop loop{.work = work, .places = helpers};
    int asleep = 0;
    {
      const std::lock_guard lock(mutex_);
      loops_.push_back(&loop);
      places_ += helpers;
      demand_ += helpers;
      StartThreads();
      asleep = std::min(asleep_, helpers);
    }
    for (int i = 0; i < asleep; ++i) wake_.notify_one();
    work(0);
    {
      const std::lock_guard lock(mutex_);
      Close(loop);
      demand_ -= helpers;
    }
    if (Spin([&] { return loop.active.load(std::memory_order_acquire) == 0; })) return;
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return loop.active == 0; });
  }

 private:
  struct Loop {
    const Work& work;
    int places;                   // for helpers that may still join
    int next_rank = 1;            // of the next that joins
    std::atomic<int> active = 0;  // helpers at work; changes with the mutex held
  };

  // No helper joins any more. Needs the mutex.
  void Close(Loop& loop) {
    places_ -= loop.places;
    loop.places = 0;
    std::erase(loops_, &loop);
  }

  // As many as the loops that run now have asked for. Needs the mutex.
  void StartThreads() {
    if (threads_ >= demand_ || Clock::now() < retry_at_) return;
    try {
      for (; threads_ < demand_; ++threads_) std::thread([this] { Help(); }).detach();
    } catch (const std::exception&) {  // or there is no memory for it
      retry_at_ = Clock::now() + kRetryAfter;
    }
  }

  [[noreturn]] void Help() {
    for (;;) {
      Spin([&] { return places_.load(std::memory_order_relaxed) > 0; });
      std::unique_lock lock(mutex_);
      if (places_ == 0) {
        ++asleep_;
        wake_.wait(lock, [&] { return places_ > 0; });
        --asleep_;
      }
      Loop& loop = *loops_.front();
      const int rank = loop.next_rank++;
      ++loop.active;
      --places_;
      if (--loop.places == 0) std::erase(loops_, &loop);
      lock.unlock();
      loop.work(rank);
      lock.lock();
      // The loop is its caller's, who may go on as soon as nobody is active.
      if (loop.active.fetch_sub(1, std::memory_order_release) == 1) ended_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable ended_;
  std::vector<Loop*> loops_;     // those with places, oldest first
  std::atomic<int> places_ = 0;  // of all loops; changes with the mutex held
  int demand_ = 0;               // helpers that the loops that run asked for
  int threads_ = 0;
  int asleep_ = 0;
  Clock::time_point retry_at_{};
};

}  // namespace

void RunWithHelpers(int helpers, const Work& work) {
  // Never destroyed: its threads wait in it until the process ends.
  static Pool* const pool = new Pool;
  pool->Run(helpers, work);
}

}  // namespace graphzero::base
