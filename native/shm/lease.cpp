#include "shm/lease.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace graphzero::shm {

void ReleaseQueue::Push(uint64_t block_id) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    ids_.push_back(block_id);
    wake = std::exchange(waits_for_first_, false);
  }
  if (wake) changed_.notify_one();
}

std::vector<uint64_t> ReleaseQueue::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(ids_, {});
}

std::vector<uint64_t> ReleaseQueue::TakeLeftOver(Duration timeout, Duration linger) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
  std::unique_lock lock(mutex_);
  do {
    const bool found = changed_.wait_until(lock, end, [this] {
      // Each time that it goes on waiting: a request may have taken the ids that woke this thread.
      waits_for_first_ = ids_.empty();
      return !ids_.empty() || closed_;
    });
    waits_for_first_ = false;
    if (!found) break;
    changed_.wait_for(lock, linger, [this] { return closed_; });
  } while (ids_.empty() && !closed_);
  return std::exchange(ids_, {});
}

void ReleaseQueue::Close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

BlockLease::BlockLease(std::shared_ptr<RegionView> region, std::shared_ptr<ReleaseQueue> queue,
                       uint64_t block_id, uint64_t offset, uint64_t size)
    : region_(std::move(region)), queue_(std::move(queue)), block_id_(block_id) {
  if (!base::Fits(offset, size, 1, region_->bytes().size())) {
    throw std::out_of_range("block of " + std::to_string(size) + " bytes at " +
                            std::to_string(offset) + " is outside its region of " +
                            std::to_string(region_->bytes().size()) + " bytes");
  }
  bytes_ = region_->bytes().subspan(offset, size);
}

BlockLease::~BlockLease() {
  // In a forked child the queue's mutex may be held by a thread that does not exist there.
  if (::getpid() == owner_) queue_->Push(block_id_);
}

}  // namespace graphzero::shm
