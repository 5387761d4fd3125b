#include "sample/threads.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

#include "store/fault_guard.h"

namespace graphzero::sample {
namespace {

struct Budget {
  explicit Budget(int threads) : limit(threads) {}

  std::mutex mutex;
  std::condition_variable released;
  int limit;
  int used = 0;
  int peak = 0;
  int waiting = 0;

  void Take(int threads) {
    used += threads;
    peak = std::max(peak, used);
  }
};

std::atomic<bool> forked = false;
thread_local bool never_waits = false;
std::atomic<Budget*> current = nullptr;

// In a child other threads may have held the lock or a share when the fork happened; they do not
// exist there, so it starts afresh. The old budget is left alone: it cannot be destroyed safely.
void StartAfreshInChild() {
  forked = true;
  current = new Budget(current.load()->limit);
}

Budget& Shared() {
  static std::once_flag once;
  std::call_once(once, [] {
    current = new Budget(std::max(1, omp_get_max_threads()));
    pthread_atfork(nullptr, nullptr, StartAfreshInChild);
  });
  return *current;
}

// The exception of the earliest range. Ranges are handed out in order, so every range before one
// that failed has been started and will be heard: the same error is thrown whatever the threads
// did.
class FirstError {
 public:
  void Record(size_t begin) {
    const std::lock_guard lock(mutex_);
    if (begin < begin_) {
      begin_ = begin;
      error_ = std::current_exception();
    }
    failed_ = true;
  }
  bool failed() const { return failed_; }
  void Rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  size_t begin_ = SIZE_MAX;
  std::exception_ptr error_;
};

// Idle threads for the length of one loop. None while another call waits for its first.
class Helpers {
 public:
  explicit Helpers(int most) : budget_(Shared()) {
    if (most <= 0 || forked) return;
    const std::lock_guard lock(budget_.mutex);
    if (budget_.waiting > 0) return;
    count_ = std::clamp(budget_.limit - budget_.used, 0, most);
    budget_.Take(count_);
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() {
    if (count_ == 0) return;
    {
      const std::lock_guard lock(budget_.mutex);
      budget_.used -= count_;
    }
    budget_.released.notify_all();
  }
  int count() const { return count_; }

 private:
  Budget& budget_;
  int count_ = 0;
};

// Waits until a thread is free; returns the limit of that moment.
int TakeOne(Budget& budget) {
  std::unique_lock lock(budget.mutex);
  ++budget.waiting;
  budget.released.wait(lock, [&] { return budget.used < budget.limit || never_waits; });
  --budget.waiting;
  budget.Take(1);
  return budget.limit;
}

void GiveOneBack(Budget& budget) {
  {
    const std::lock_guard lock(budget.mutex);
    --budget.used;
  }
  budget.released.notify_one();
}

}  // namespace

void SetThreadLimit(int limit) {
  Budget& budget = Shared();
  {
    const std::lock_guard lock(budget.mutex);
    budget.limit = std::max(1, limit);
    budget.peak = budget.used;
  }
  budget.released.notify_all();
}

ThreadUsage GetThreadUsage() {
  Budget& budget = Shared();
  const std::lock_guard lock(budget.mutex);
  return {budget.limit, budget.peak};
}

void NeverWaitOnThisThread() { never_waits = true; }

bool HasIdleThread() {
  Budget& budget = Shared();
  const std::lock_guard lock(budget.mutex);
  return budget.used < budget.limit && budget.waiting == 0;
}

ThreadLease::ThreadLease(int wanted) {
  Budget& budget = Shared();
  const int limit = TakeOne(budget);
  wanted_ = wanted > 0 ? std::min(wanted, limit) : limit;
}

ThreadLease::~ThreadLease() { GiveOneBack(Shared()); }

ThreadLease::Pause::Pause() { GiveOneBack(Shared()); }

ThreadLease::Pause::~Pause() { TakeOne(Shared()); }

void ThreadLease::For(size_t count, size_t grain, const Body& body) {
  if (count == 0) return;
  const size_t others = std::min((count - 1) / grain, static_cast<size_t>(wanted_ - 1));
  const Helpers helpers(static_cast<int>(others));
  std::atomic<size_t> next = 0;
  FirstError error;
  const auto work = [&](int rank) noexcept {
    const store::MappedAccess access;  // the calling thread asks for damage afterwards
    while (!error.failed()) {
      const size_t begin = next.fetch_add(1, std::memory_order_relaxed) * grain;
      if (begin >= count) return;
      try {
        body(rank, begin, std::min(begin + grain, count));
      } catch (...) {
        error.Record(begin);
      }
    }
  };
  if (helpers.count() == 0) {
    work(0);
  } else {
#pragma omp parallel num_threads(helpers.count() + 1)
    work(omp_get_thread_num());
  }
  error.Rethrow();
}

}  // namespace graphzero::sample
