// Rows that several calls miss at the same time are read once.
//
// A call that reads rows of a column into the row cache is a flight for as long as it reads. One
// that misses a row which an older flight reads leaves it out, reads its own rows, waits for the
// older flight to end, and finds the row in the cache. What it does not find there, because the
// older call failed, was stopped, or other rows have pushed it out, it reads itself: nobody depends
// on somebody else's fate.
//
// A flight waits for older ones only, and only after its own reads have ended and it is no flight
// any more: nobody waits in a circle.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "io/scattered_read.h"

namespace graphzero::gather {

// The flights of one column. Thread-safe, but not for forked children, which could find the lock
// held.
class Flights {
 public:
  class Flight;

 private:
  struct Rows {
    std::vector<uint64_t> items;  // rising
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
  };

  std::mutex mutex_;
  std::vector<std::shared_ptr<Rows>> flying_;  // the oldest first
};

// Used by one thread. Ends when it is destroyed, if not before.
class Flights::Flight {
 public:
  // `wanted` is sorted. Takes those out of it that older flights read, which are awaited(). A call
  // does not wait for one that reads far more rows than it wants itself, because it would be there
  // sooner without; and for none that reads more than `most_kept`, of which the cache would have
  // lost some by then.
  Flight(Flights& flights, base::WorkVector<io::WantedItem>& wanted, uint64_t most_kept);
  ~Flight() { End(); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  // What this flight has read is in the cache, or will not come.
  void End() noexcept;

  std::span<io::WantedItem> awaited() { return awaited_; }
  // After End(): waits until the flights that read what is awaited have ended, too. Throws
  // base::Stopped if the call is to end.
  void WaitForOthers();

 private:
  void LeaveOut(const std::shared_ptr<Rows>& older, base::WorkVector<io::WantedItem>& wanted);

  Flights& flights_;
  std::shared_ptr<Rows> own_;
  std::vector<std::shared_ptr<Rows>> others_;
  base::WorkVector<io::WantedItem> awaited_;
};

}  // namespace graphzero::gather
