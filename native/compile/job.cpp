#include "compile/job.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/helper_threads.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kAbortedTurn = UINT64_MAX;

}  // namespace

Resources Resources::Make(uint64_t memory, int threads, std::string temp_dir) {
  if (memory < kMinimumMemory) {
    throw std::invalid_argument("found a memory limit of " + std::to_string(memory) +
                                " bytes, expected at least " +
                                std::to_string(kMinimumMemory >> 20) + " MiB");
  }
  if (threads < 1) {
    throw std::invalid_argument("found " + std::to_string(threads) +
                                " threads, expected at least 1");
  }
  const auto most = std::min<uint64_t>(memory / kMemoryPerThread, INT32_MAX);
  return {memory, std::min(threads, static_cast<int>(most)), std::move(temp_dir)};
}

void FirstError::Report(uint64_t position, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (!error_ || position < position_) {
    position_ = position;
    error_ = std::move(error);
  }
  any_.store(true, std::memory_order_release);
}

void FirstError::RethrowIfAny() const {
  std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

void RunTeam(int threads, const std::function<void(int rank)>& work) {
  std::mutex mutex;
  std::exception_ptr error;
  const std::function<void(int)> guarded = [&](int rank) {
    try {
      work(rank);
    } catch (const StoppedByOther&) {
      // The one that failed reports why.
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    const std::vector<std::jthread> others = base::StartHelpers(threads - 1, guarded);
    guarded(0);
  }
  if (error) std::rethrow_exception(error);
}

bool Turnstile::Wait(uint64_t ticket) {
  for (uint64_t now = next_.load(); now != ticket; now = next_.load()) {
    if (now == kAbortedTurn) return false;
    next_.wait(now);
  }
  return true;
}

void Turnstile::Done(uint64_t ticket) {
  uint64_t expected = ticket;
  next_.compare_exchange_strong(expected, ticket + 1);
  next_.notify_all();
}

void Turnstile::Abort() {
  next_.store(kAbortedTurn);
  next_.notify_all();
}

}  // namespace graphzero::compile
