#include "gather/flights.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/call.h"

namespace graphzero::gather {
namespace {

// A call waits for an older flight that reads at most this many times as many rows as the call.
constexpr size_t kMostTimesLonger = 4;
// Time between two checks whether the waiting call was told to stop.
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

Flights::Flight::Flight(Flights& flights, base::WorkVector<io::WantedItem>& wanted,
                        uint64_t most_kept)
    : flights_(flights), own_(std::make_shared<Rows>()) {
  own_->items.reserve(wanted.size());
  for (const io::WantedItem& one : wanted) own_->items.push_back(one.item);
  std::vector<std::shared_ptr<Rows>> older;
  {
    // Both under one lock: of two flights that begin at the same time, the second sees the first.
    const std::lock_guard lock(flights_.mutex_);
    older = flights_.flying_;
    flights_.flying_.push_back(own_);
  }
  const uint64_t most = std::min<uint64_t>(most_kept, own_->items.size() * kMostTimesLonger);
  try {
    for (const auto& one : older) {
      if (one->items.size() <= most) LeaveOut(one, wanted);
    }
  } catch (...) {
    End();
    throw;
  }
}

void Flights::Flight::LeaveOut(const std::shared_ptr<Rows>& older,
                               base::WorkVector<io::WantedItem>& wanted) {
  const size_t before = awaited_.size();
  size_t kept = 0;
  auto at = older->items.begin();
  for (const io::WantedItem one : wanted) {
    at = std::find_if(at, older->items.end(), [&](uint64_t item) { return item >= one.item; });
    if (at != older->items.end() && *at == one.item) {
      awaited_.push_back(one);
    } else {
      wanted[kept++] = one;
    }
  }
  wanted.resize(kept);
  if (awaited_.size() > before) others_.push_back(older);
}

void Flights::Flight::End() noexcept {
  if (!own_) return;
  {
    const std::lock_guard lock(flights_.mutex_);
    std::erase(flights_.flying_, own_);
  }
  {
    const std::lock_guard lock(own_->mutex);
    own_->ended = true;
  }
  own_->changed.notify_all();
  own_.reset();
}

void Flights::Flight::WaitForOthers() {
  const base::DiskWaitScope waiting;
  for (const auto& other : std::exchange(others_, {})) {
    std::unique_lock lock(other->mutex);
    while (!other->changed.wait_for(lock, kLook, [&] { return other->ended; })) {
      base::CheckStopped();
    }
  }
}

}  // namespace graphzero::gather
