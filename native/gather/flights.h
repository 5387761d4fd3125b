// Reads rows once that several calls miss at the same time.
//
// A call that reads rows of a column into the row cache is a flight for as long as it reads. A call
// that misses a row which an older flight is reading leaves that row out, reads its other rows,
// waits for the older flight to end, and finds the row in the cache. If the row is not there,
// because the older call failed or was stopped, or because other rows have evicted it, the call
// reads the row itself: no call depends on the fate of another.
//
// A call waits for older flights only, and only after its own reads have ended and it is no flight
// any more: calls cannot wait in a circle.
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
  // `wanted` must be sorted. Moves the rows that older flights read from `wanted` to awaited().
  // Ignores flights that read far more rows than this call wants, because the call would finish
  // sooner without waiting for them; and flights that read more than `most_kept` rows, because the
  // cache would have evicted some of those rows by then.
  Flight(Flights& flights, base::WorkVector<io::WantedItem>& wanted, uint64_t most_kept);
  ~Flight() { End(); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  // Tells waiting calls that the rows of this flight are in the cache now, or will not come.
  void End() noexcept;

  std::span<io::WantedItem> awaited() { return awaited_; }
  // To be called after End(): waits until the flights that read the awaited rows have ended, too.
  // Throws base::Stopped if the call was told to stop.
  void WaitForOthers();

 private:
  void LeaveOut(const std::shared_ptr<Rows>& older, base::WorkVector<io::WantedItem>& wanted);

  Flights& flights_;
  std::shared_ptr<Rows> own_;
  std::vector<std::shared_ptr<Rows>> others_;
  base::WorkVector<io::WantedItem> awaited_;
};

}  // namespace graphzero::gather
