#include "io/pread_queue.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "io/read_result.h"

namespace graphzero::io {
namespace {

// One job on its way through the pool. Every thread that helps takes reads until there are no more.
class SharedJob {
 public:
  SharedJob(const Source& source, ReadJob& job) : source_(source), job_(job) {}

  // One helper's part; it has `slot` to itself.
  void Help(uint32_t slot) {
    std::unique_lock lock(mutex_);
    Read read;
    while (!error_ && job_.Next(slot, &read)) {
      const uint64_t started = NowNanoseconds();
      lock.unlock();
      std::optional<IoError> failed;
      const bool done = Perform(read, failed);
      lock.lock();
      if (failed && !error_) error_ = failed;
      if (done) job_.Done(slot, NowNanoseconds() - started);
    }
  }

  void Rethrow() const {
    if (error_) throw *error_;
  }

 private:
  bool Perform(Read& read, std::optional<IoError>& failed) const {
    for (;;) {
      const ssize_t got = ::pread(source_.fd, read.to, read.bytes, static_cast<off_t>(read.offset));
      const Outcome outcome = Judge(source_, read, got < 0 ? -errno : got, failed);
      if (outcome != Outcome::kAgain) return outcome == Outcome::kDone;
    }
  }

  const Source& source_;
  ReadJob& job_;
  std::mutex mutex_;
  std::optional<IoError> error_;
};

// Threads that wait for something to read, for ever: they cost a stack each and hold nothing.
class Pool {
 public:
  // Lets up to `helpers` threads of the pool help the caller.
  void Run(SharedJob& job, uint32_t helpers) {
    Call call{&job, helpers, 0, 1};
    {
      const std::lock_guard lock(mutex_);
      StartThreads();
      calls_.push_back(&call);
    }
    wake_.notify_all();
    job.Help(0);
    std::unique_lock lock(mutex_);
    std::erase(calls_, &call);
    finished_.wait(lock, [&] { return call.active == 0; });
  }

 private:
  struct Call {
    SharedJob* job;
    uint32_t wanted;     // helpers that may still join
    uint32_t active;     // helpers at work
    uint32_t next_slot;  // of the next to join; the caller has 0
  };

  // As many as the system allows (a control group may bound them); the caller reads in any case.
  void StartThreads() {
    try {
      for (; started_ < PreadQueue::kThreads; ++started_) {
        std::thread([this] { Work(); }).detach();
      }
    } catch (const std::system_error&) {
      // The next call tries again.
    }
  }

  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return !calls_.empty(); });
      Call& call = *calls_.front();
      const uint32_t slot = call.next_slot++;
      ++call.active;
      if (--call.wanted == 0) calls_.pop_front();
      lock.unlock();
      call.job->Help(slot);
      lock.lock();
      std::erase(calls_, &call);  // there is nothing left to join
      if (--call.active == 0) finished_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable finished_;
  std::deque<Call*> calls_;
  uint32_t started_ = 0;
};

std::atomic<Pool*> current = nullptr;

Pool& Shared() {
  static std::once_flag once;
  std::call_once(once, [] {
    current = new Pool;
    // A child has none of its parent's threads.
    pthread_atfork(nullptr, nullptr, [] { current = new Pool; });
  });
  return *current;
}

}  // namespace

void PreadQueue::Run(const Source& source, ReadJob& job, uint32_t depth) {
  SharedJob shared(source, job);
  const uint32_t helpers = std::min(depth, kThreads) - 1;
  if (helpers == 0) {
    shared.Help(0);
  } else {
    Shared().Run(shared, helpers);
  }
  shared.Rethrow();
}

}  // namespace graphzero::io
