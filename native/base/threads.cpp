#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "base/call.h"
#include "base/fault_guard.h"
#include "base/fork.h"
#include "base/helper_pool.h"
#include "base/team.h"

namespace graphzero::base {
namespace {

// A client hands its thread over to a waiting client once it has used this much more thread time.
// Switching more often would cost more than it gains.
constexpr uint64_t kSlack = 10'000'000;  // nanoseconds

// The thread of a call that has ended stays free for the next call this long before a loop may take
// it as a helper. A request of the daemon makes several calls, with a little Python in between. In
// each such gap another request's loop would wake a helper, which then competes with the next call.
// A trainer with several requests under way, on two processors, got 1.04 times the batches by this.
constexpr uint64_t kKeptFree = 2'000'000;  // nanoseconds

// A call that waits for a thread.
struct Waiter {
  uint64_t due;  // virtual time: the lowest goes first
  bool granted = false;
  std::condition_variable changed{};
};

// OMP_NUM_THREADS, which other libraries obey too (torchrun sets it for each of its processes), or
// the number of processors that this process may use.
int DefaultThreads() {
  if (const char* const told = std::getenv("OMP_NUM_THREADS")) {
    const long threads = std::strtol(told, nullptr, 10);
    if (threads > 0) return static_cast<int>(std::min<long>(threads, 1 << 16));
  }
  cpu_set_t processors;
  if (::sched_getaffinity(0, sizeof(processors), &processors) == 0) return CPU_COUNT(&processors);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

struct Budget {
  explicit Budget(const Budget* parents)
      : limit(parents == nullptr ? DefaultThreads() : parents->limit.load()),
        in_child(parents != nullptr) {}

  std::mutex mutex;
  std::atomic<int> limit;  // changes with the mutex held; a child's budget reads it without
  const bool in_child;     // the parent process had a budget when it forked
  int used = 0;
  int peak = 0;
  // Virtual time in nanoseconds: `due` of the call that got a thread last, plus the thread time
  // that each competing call has had since. Without the second part, clients that come, use a
  // little and come again under another name would be served at the same virtual time for ever,
  // before all clients that have used more.
  uint64_t now = 0;
  std::deque<Waiter*> waiters{};  // in the order in which they came
  // When calls ended whose threads nobody has taken since. Rises.
  std::deque<uint64_t> given_back{};
  // The lowest `due` of all waiters; kNobody if there are none. Read without the mutex.
  static constexpr uint64_t kNobody = UINT64_MAX;
  std::atomic<uint64_t> first_due = kNobody;

  void Take(int threads) {
    used += threads;
    peak = std::max(peak, used);
  }

  // Leaves the thread of an ended call to the next one, for a while. Needs the mutex.
  void KeepFree(uint64_t at) noexcept {
    try {
      given_back.push_back(at);
    } catch (const std::bad_alloc&) {  // then it is free for everyone at once
    }
  }

  // How many threads loops may take as helpers. Needs the mutex.
  int Spare(uint64_t at) {
    while (!given_back.empty() && given_back.front() + kKeptFree < at) given_back.pop_front();
    return limit - used - static_cast<int>(given_back.size());
  }

  // Adds thread time that was used, in equal parts for all calls that compete. Needs the mutex.
  void Advance(uint64_t nanoseconds) {
    now += nanoseconds / (static_cast<size_t>(std::max(1, used)) + waiters.size());
  }

  // The least thread time that a client counts as having used. Needs the mutex.
  uint64_t Newcomers() const { return now - std::min(now, kSlack); }

  // Gives free threads to waiters. Needs the mutex.
  void Grant() {
    while (used < limit && !waiters.empty()) {
      const auto first = First();
      Waiter* const waiter = *first;
      waiters.erase(first);
      now = std::max(now, waiter->due);
      Take(1);
      waiter->granted = true;
      waiter->changed.notify_one();
    }
    first_due = waiters.empty() ? kNobody : (*First())->due;
  }

  std::deque<Waiter*>::iterator First() {
    return std::min_element(waiters.begin(), waiters.end(),
                            [](const Waiter* a, const Waiter* b) { return a->due < b->due; });
  }
};

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

Share* CurrentShare() {
  const Call* const call = CurrentCall();
  return call == nullptr ? nullptr : call->share();
}

thread_local bool never_waits = false;
thread_local int leases = 0;            // that this thread holds: one, or none
thread_local uint64_t holds_since = 0;  // when its call got a thread of the budget

// A child needs a budget of its own: when the process forked, other threads may have held the mutex
// or threads of the parent's budget.
PerProcess<Budget> current;

Budget& Shared() { return current.Get(); }

// A call has several loops, and waking a thread often takes longer than the time between two of
// them. So a helper stays awake for this long after each loop.
struct LoopHelpers : HelperPool {
  LoopHelpers() : HelperPool({.awake = std::chrono::microseconds(500)}) {}
};
PerProcess<LoopHelpers> pool;

// Holds idle threads of the budget for the length of one loop; none if another call waits for its
// first thread.
class Helpers {
 public:
  explicit Helpers(int most) : budget_(Shared()), since_(Now()) {
    if (most <= 0 || budget_.in_child) return;
    const std::lock_guard lock(budget_.mutex);
    if (!budget_.waiters.empty()) return;
    count_ = std::clamp(budget_.Spare(since_), 0, most);
    left_ = count_;
    budget_.Take(count_);
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() { GiveBack(left_); }

  int count() const { return count_; }

  // Whether another call waits for its first thread, which one of these helpers can give it.
  bool AreWanted() const { return budget_.first_due.load() != Budget::kNobody; }
  // A helper leaves before the loop has ended.
  void Leave() {
    --left_;
    GiveBack(1);
  }

 private:
  void GiveBack(int threads) {
    if (threads == 0) return;
    const uint64_t spent = static_cast<uint64_t>(threads) * (Now() - since_);
    if (Share* const share = CurrentShare()) share->nanoseconds += spent;
    const std::lock_guard lock(budget_.mutex);
    budget_.Advance(spent);
    budget_.used -= threads;
    budget_.Grant();
  }

  Budget& budget_;
  const uint64_t since_;
  int count_ = 0;
  std::atomic<int> left_ = 0;
};

// Waits until a thread is free; returns the limit of that moment. A `next_call` takes the thread
// that an ended call has left to it, if there is one; a call that goes on after a pause takes
// another. It takes the one that was left last: with the first, a client whose calls follow each
// other would always leave a new one behind, and those of ended clients would stay free for ever.
int TakeOne(Budget& budget, bool next_call) {
  Share* const share = CurrentShare();
  std::unique_lock lock(budget.mutex);
  if (next_call && !budget.given_back.empty()) budget.given_back.pop_back();
  // A client that was idle does not save up time: it would starve the others afterwards.
  Waiter waiter{.due = share == nullptr ? budget.now
                                        : std::max(share->nanoseconds.load(), budget.Newcomers())};
  if (share != nullptr) share->nanoseconds = waiter.due;
  if (never_waits || (budget.used < budget.limit && budget.waiters.empty())) {
    budget.now = std::max(budget.now, waiter.due);
    budget.Take(1);
  } else {
    budget.waiters.push_back(&waiter);
    budget.first_due = std::min(budget.first_due.load(), waiter.due);
    waiter.changed.wait(lock, [&] { return waiter.granted; });
  }
  ++leases;
  holds_since = Now();
  return budget.limit;
}

void GiveOneBack(Budget& budget, bool for_next_call) {
  const uint64_t now = Now();
  const uint64_t spent = now - holds_since;
  if (Share* const share = CurrentShare()) share->nanoseconds += spent;
  --leases;
  const std::lock_guard lock(budget.mutex);
  budget.Advance(spent);
  --budget.used;
  budget.Grant();
  if (for_next_call && budget.used < budget.limit) budget.KeepFree(now);
}

// Hands the thread over if a client that has used less time waits.
void YieldToOthers() {
  Budget& budget = Shared();
  const uint64_t due = budget.first_due.load(std::memory_order_relaxed);
  const Share* const share = CurrentShare();
  if (due == Budget::kNobody || share == nullptr || leases == 0 || never_waits) return;
  if (share->nanoseconds.load() + (Now() - holds_since) <= due + kSlack) return;
  GiveOneBack(budget, /*for_next_call=*/false);
  TakeOne(budget, /*next_call=*/false);
}

}  // namespace

void SetThreadLimit(int limit) {
  Budget& budget = Shared();
  {
    const std::lock_guard lock(budget.mutex);
    budget.limit = std::max(1, limit);
    budget.peak = budget.used;
    budget.Grant();
  }
}

ThreadUsage GetThreadUsage() {
  Budget& budget = Shared();
  const std::lock_guard lock(budget.mutex);
  return {budget.limit, budget.peak};
}

void NeverWaitOnThisThread() { never_waits = true; }
bool MayWaitOnThisThread() { return !never_waits; }

void CheckPoint() {
  CheckStopped();
  YieldToOthers();
}

uint64_t NewcomersNanoseconds() {
  Budget& budget = Shared();
  const std::lock_guard lock(budget.mutex);
  return budget.Newcomers();
}

bool HasIdleThread() {
  Budget& budget = Shared();
  const std::lock_guard lock(budget.mutex);
  return budget.used < budget.limit && budget.waiters.empty();
}

ThreadLease::ThreadLease(int wanted) {
  Budget& budget = Shared();
  const int limit = TakeOne(budget, /*next_call=*/true);
  wanted_ = wanted > 0 ? std::min(wanted, limit) : limit;
}

ThreadLease::~ThreadLease() { GiveOneBack(Shared(), /*for_next_call=*/true); }

ThreadLease::Pause::Pause() { GiveOneBack(Shared(), /*for_next_call=*/false); }

ThreadLease::Pause::~Pause() { TakeOne(Shared(), /*next_call=*/false); }

void ThreadLease::For(size_t count, size_t grain, const Body& body) {
  if (count == 0) return;
  const size_t others = std::min((count - 1) / grain, static_cast<size_t>(wanted_ - 1));
  Helpers helpers(static_cast<int>(others));
  Call* const call = CurrentCall();
  std::atomic<size_t> next = 0;
  // Ranges are handed out in order, so every range before one that failed has been started and will
  // report its own error: the same error is thrown however the threads were scheduled.
  FirstError error;
  const auto work = [&](int rank) noexcept {
    const MappedAccess access;  // the calling thread checks for damage afterwards
    const CallScope scope(call);
    while (!error.any()) {
      if (rank > 0 && helpers.AreWanted()) return helpers.Leave();
      const size_t begin = next.fetch_add(1, std::memory_order_relaxed) * grain;
      if (begin >= count) return;
      try {
        if (rank == 0) {
          CheckPoint();
        } else {
          CheckStopped();
        }
        body(rank, begin, std::min(begin + grain, count));
      } catch (...) {
        error.Report(begin, std::current_exception());
      }
    }
  };
  if (helpers.count() == 0) {
    work(0);
  } else {
    pool.Get().Run(helpers.count(), work);
  }
  error.RethrowIfAny();
}

}  // namespace graphzero::base
