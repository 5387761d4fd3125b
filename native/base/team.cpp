#include "base/team.h"

#include <optional>
#include <utility>

#include "base/fault_guard.h"

namespace graphzero::base {
namespace {

constexpr uint64_t kAbortedTurn = UINT64_MAX;

}  // namespace

std::vector<std::jthread> StartHelpers(int count, const std::function<void(int rank)>& work) {
  std::vector<std::jthread> helpers;
  if (count <= 0) return helpers;
  helpers.reserve(static_cast<size_t>(count));
  const bool reads_mappings = MappedAccess::Active();
  for (int rank = 1; rank <= count; ++rank) {
    try {
      helpers.emplace_back([&work, rank, reads_mappings] {
        std::optional<MappedAccess> access;
        if (reads_mappings) access.emplace();
        work(rank);
      });
    } catch (const std::exception&) {  // the system refused a thread or the memory for it
      break;
    }
  }
  return helpers;
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
      // The worker that failed reports why.
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    const std::vector<std::jthread> others = StartHelpers(threads - 1, guarded);
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

}  // namespace graphzero::base
