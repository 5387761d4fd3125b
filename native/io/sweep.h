// Reads items of one file for all calls that wait for it at the same time.
//
// A sweep goes over the file once, from front to back, and reads what any of the waiting calls
// wants, as far as it has not come by yet. A call that comes in the middle of a sweep gets the
// items that lie ahead of it, and waits for the next sweep with those that lie behind. So an item
// that several calls want is read once, and items of different calls that lie close to each other
// share a read. The more calls wait, the less each of them costs the disk: one batch of a large
// graph wants a row in every 70 KB of a column, and each row is a read; ten batches want one in
// every 7 KB, and reads merge into long ones.
//
// One of the calls, the leader, does the reading, on its own thread, and hands items to all. When
// it has everything that it wants, another call takes over. No call depends on the fate of another:
// if a read fails, each call that wanted something of it reads all its items again, by itself, and
// gets its own error; a call that is stopped leaves, and nobody else notices.
//
// Calls that want few items do not wait for a sweep that reads many: they read by themselves, also
// if the many come later. A call is passed by sweeps at most twice, then it reads what is left by
// itself: whoever begins a sweep is gone before the others notice, and would leave out those who
// want the front of the file again and again.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/fork.h"
#include "io/disk_draws.h"
#include "io/io_counters.h"
#include "io/random_file.h"

namespace graphzero::io {

// Where items lie: item i is `bytes` long and starts at base + i * stride. Items may overlap.
struct ItemLayout {
  uint64_t base;
  uint64_t stride;
  uint32_t bytes;
};

// An item that is wanted, and the caller's number for it.
struct WantedItem {
  uint64_t item;
  uint64_t place;
};

// Takes items as they arrive, in any order, one call at a time.
class ItemSink {
 public:
  virtual ~ItemSink() = default;
  virtual void Take(const WantedItem& wanted, const std::byte* data) noexcept = 0;
  // Where the kernel may write the item directly; Take() is not called after it did. Null to get
  // the item through Take() in any case.
  virtual std::byte* Destination(const WantedItem& wanted) noexcept = 0;
};

// With O_DIRECT, items with a gap of up to this many bytes between them share a read, unless the
// disk was measured (disk_rates.h). On any disk, a read across such a gap takes hardly longer.
inline constexpr uint64_t kDirectGap = 8192;
inline constexpr uint64_t kLeastGap = 4096;
inline constexpr uint64_t kMostGap = 131072;
inline uint64_t ClampGap(uint64_t bytes) { return std::clamp(bytes, kLeastGap, kMostGap); }

// Sorts items by their place in the file. Throws base::Stopped if the thread's call was told to
// stop.
void SortItems(std::span<WantedItem> wanted);

// What a sweep reads.
struct SweepFile {
  const RandomFile& file;
  // The same file with O_DIRECT, if `file` goes through the page cache and a sweep that reads most
  // of the file should go around it, or else it would evict everything; may be null.
  const RandomFile* direct;
  // Items with a gap of up to this many bytes between them share a read around the page cache.
  uint64_t gap;
  // Where reads are dear, a sweep that would read most of the file begins when these are done:
  // their calls will want items of this file, too. It waits no longer than a sweep takes. May be
  // null.
  const DiskDraws* draws = nullptr;
};

// The sweeps of one file. Thread-safe. In a forked child every call reads by itself: another thread
// of the parent may have held the lock.
class Sweeps {
 public:
  Sweeps() = default;
  Sweeps(const Sweeps&) = delete;
  Sweeps& operator=(const Sweeps&) = delete;

  // Reads the wanted items, which must be sorted by their place, from the place on that the current
  // sweep has reached. Returns how many items are left, which are the first ones of `wanted`: the
  // sweep that passed them has ended by now, so that they may have come to a cache meanwhile. The
  // caller reads those that have not by calling again. Throws IoError with the file and the offset,
  // and base::Stopped.
  size_t ReadSome(const SweepFile& from, const ItemLayout& layout,
                  std::span<const WantedItem> wanted, ItemSink& sink, IoCounters& counters);

  // Reads the wanted items, which must be sorted, at once and without others.
  static void ReadAlone(const SweepFile& from, const ItemLayout& layout,
                        std::span<const WantedItem> wanted, ItemSink& sink, IoCounters& counters);

  // Reads all of the wanted items. Reorders them.
  void ReadAll(const SweepFile& from, const ItemLayout& layout, std::span<WantedItem> wanted,
               ItemSink& sink, IoCounters& counters);

 private:
  class Job;

  // A call that waits for items. Belongs to the thread of that call, which removes it from
  // `callers_` before it returns. All members that change are guarded by the mutex.
  struct Caller {
    const ItemLayout layout;
    const std::span<const WantedItem> wanted;
    ItemSink& sink;
    size_t next = 0;         // first item that no read was handed out for
    uint32_t under_way = 0;  // reads that bring items of this call
    bool failed = false;     // one of them did not
    // The first item that the caller reads by itself, after one came who wants many more.
    size_t alone_from = wanted.size();

    uint64_t Offset(size_t i) const { return layout.base + wanted[i].item * layout.stride; }
    uint64_t End(size_t i) const { return Offset(i) + layout.bytes; }
    size_t left() const { return wanted.size() - next; }
    bool done() const { return left() == 0 && under_way == 0; }
  };

  bool MayRide(const ItemLayout& layout, size_t wanted) const;
  bool AnyWantsMany(size_t few) const;
  void SendAway(size_t newcomers_wanted);
  void Ride(Caller& caller, const SweepFile& from, IoCounters& counters,
            std::unique_lock<std::mutex>& lock);
  void Lead(Caller& caller, const SweepFile& from, IoCounters& counters,
            std::unique_lock<std::mutex>& lock);
  // Waits for draws from the same disk before a sweep begins.
  void WaitForDraws(const DiskDraws& draws, const Caller& caller,
                    std::unique_lock<std::mutex>& lock);
  void Leave(Caller& caller, std::unique_lock<std::mutex>& lock);
  // False if the sweep goes on with a call that wants many times as many items as are `wanted`.
  bool WaitForEnd(uint64_t sweep, size_t wanted, std::unique_lock<std::mutex>& lock);

  const uint64_t forks_ = base::ForkCount();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Caller*> callers_;
  bool led_ = false;
  uint64_t position_ = 0;  // what begins before it has been passed
  uint64_t sweep_ = 0;     // number of the current sweep, which ends when no caller is left
  // When the current sweep began to read, and how long the last one took that read most of a file.
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::duration last_dense_ = std::chrono::seconds(1);
  bool dense_ = false;  // the current sweep is one
};

}  // namespace graphzero::io
