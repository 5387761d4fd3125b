#include "base/helper_pool.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <thread>

namespace graphzero::base {
namespace {

using Clock = std::chrono::steady_clock;

// After the system has refused a thread, the pool waits this long before it asks for another.
constexpr auto kRetryAfter = std::chrono::seconds(1);

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// Spins until `done` holds or options_.awake has passed; returns whether `done` held.
template <class Done>
bool HelperPool::Spin(const Done& done) const {
  constexpr int kLooks = 64;  // before the thread yields the processor
  if (options_.awake.count() == 0) return done();
  const Clock::time_point end = Clock::now() + options_.awake;
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (done()) return true;
      Relax();
    }
    ::sched_yield();
  } while (Clock::now() < end);
  return false;
}

void HelperPool::Run(int helpers, const Work& work) {
  Loop loop{.work = work, .places = helpers};
  int wanted = 0;
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    loops_.push_back(&loop);
    places_ += helpers;
    demand_ += helpers;
    StartThreads();
    wanted = std::min(asleep_, helpers);
    all = wanted == asleep_;
  }
  if (all && wanted > 0) {
    wake_.notify_all();
  } else {
    for (int i = 0; i < wanted; ++i) wake_.notify_one();
  }
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

void HelperPool::Close(Loop& loop) {
  places_ -= loop.places;
  loop.places = 0;
  std::erase(loops_, &loop);
}

void HelperPool::StartThreads() {
  const int wanted = std::min(demand_, options_.most_threads);
  if (threads_ >= wanted || Clock::now() < retry_at_) return;
  try {
    for (; threads_ < wanted; ++threads_) std::thread([this] { Help(); }).detach();
  } catch (const std::exception&) {  // the system refused a thread or the memory for it
    retry_at_ = Clock::now() + kRetryAfter;
  }
}

void HelperPool::Help() {
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
    Close(loop);
    // The caller of Run() owns `loop` and may destroy it as soon as no helper is active.
    if (loop.active.fetch_sub(1, std::memory_order_release) == 1) ended_.notify_all();
  }
}

}  // namespace graphzero::base
