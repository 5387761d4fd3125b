#include "shm/reaper.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/errors.h"

namespace graphzero::shm {
namespace {

// How long the reaper waits before it checks again whether trainers have unmapped the regions of
// ended sessions: a short time after a session has ended, then longer and longer.
constexpr std::chrono::milliseconds kFirstLook(5);
constexpr std::chrono::milliseconds kMostBetweenLooks(200);

}  // namespace

Reaper::Reaper(Freed freed) : freed_(std::move(freed)) {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    throw IoError(error.code().value(),
                  "cannot start the thread that frees shared memory; raise the limit of threads "
                  "(ulimit -u, pids.max)",
                  "pthread_create");
  }
}

std::shared_ptr<Region> Reaper::Adopt(const std::shared_ptr<Reaper>& reaper,
                                      std::unique_ptr<Region> region) {
  return std::shared_ptr<Region>(region.release(), [owner = std::weak_ptr(reaper)](Region* last) {
    std::unique_ptr<Region> dropped(last);
    if (const auto alive = owner.lock()) alive->Discard(std::move(dropped));
  });
}

void Reaper::Discard(std::unique_ptr<Region> region) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;  // the caller's thread unmaps the region
    discarded_.push_back(std::move(region));
  }
  changed_.notify_one();
}

void Reaper::Bury(std::vector<Remains> remains) {
  if (remains.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    std::move(remains.begin(), remains.end(), std::back_inserter(arrived_));
  }
  changed_.notify_one();
}

void Reaper::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Reaper::TakeApart(Remains* remains) {
  remains->region->Unlink();
  // Free memory goes back at once, whoever still maps the region.
  uint64_t bytes = 0;
  for (const auto& range : remains->free.Warm()) {
    if (!remains->region->Punch(range.offset, range.size)) continue;
    remains->free.Take(range.offset, range.size);
    remains->free.Give(range.offset, range.size, true);
    bytes += range.size;
  }
  // A worker that still writes holds a reference.
  const bool gone = remains->region.use_count() == 1 && remains->region->OnlyHere();
  if (gone) {
    // Gives the memory back before it is counted as free. Unmapping the region then takes no time.
    remains->region->Punch(0, remains->region->size());
    bytes += remains->free.resident_bytes();
    remains->region.reset();
  }
  if (bytes > 0 || gone) freed_(remains->session, bytes, gone);
  return gone;
}

void Reaper::Run() {
  std::unique_lock lock(mutex_);
  auto between_looks = kFirstLook;
  while (true) {
    const auto has_work = [this] { return stopped_ || !discarded_.empty() || !arrived_.empty(); };
    if (lingering_.empty()) {
      changed_.wait(lock, has_work);
    } else {
      changed_.wait_for(lock, between_looks, has_work);
    }
    between_looks = arrived_.empty() ? std::min(2 * between_looks, kMostBetweenLooks) : kFirstLook;
    std::vector<std::unique_ptr<Region>> discarded = std::exchange(discarded_, {});
    std::move(arrived_.begin(), arrived_.end(), std::back_inserter(lingering_));
    arrived_.clear();
    if (stopped_) break;
    lock.unlock();
    discarded.clear();
    std::erase_if(lingering_, [this](Remains& remains) { return TakeApart(&remains); });
    lock.lock();
  }
  lock.unlock();
  lingering_.clear();
}

}  // namespace graphzero::shm
