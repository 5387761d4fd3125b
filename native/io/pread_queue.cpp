#include "io/pread_queue.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>

#include "base/fork.h"
#include "base/helper_pool.h"
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

// Threads that wait for reads until the process ends. Each costs a stack and holds nothing else.
struct ReadHelpers : base::HelperPool {
  ReadHelpers() : HelperPool({.most_threads = PreadQueue::kThreads}) {}
};
base::PerProcess<ReadHelpers> pool;

}  // namespace

void PreadQueue::Run(const Source& source, ReadJob& job, uint32_t depth) {
  SharedJob shared(source, job);
  const uint32_t helpers = std::clamp(depth, 1u, kThreads) - 1;
  if (helpers == 0) {
    shared.Help(0);
  } else {
    pool.Get().Run(static_cast<int>(helpers),
                   [&](int rank) { shared.Help(static_cast<uint32_t>(rank)); });
  }
  shared.Rethrow();
}

}  // namespace graphzero::io
