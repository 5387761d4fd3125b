// Takes regions apart on a thread of its own. Unmapping regions and giving gigabytes back takes
// long, and must not delay those who drop regions: the event loop, destructors under Python's
// interpreter lock, and workers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "shm/free_ranges.h"
#include "shm/region.h"

namespace graphzero::shm {

// Thread-safe.
class Reaper {
 public:
  // A region of a session that has ended. The trainer may still view its blocks, because tensors
  // stay valid, or a worker may still write to them; they count until neither uses them any more.
  struct Remains {
    uint64_t session;
    std::shared_ptr<Region> region;
    FreeRanges free;
  };
  // Called on the reaper's thread: a region of `session` has `bytes` less memory behind it, and is
  // `gone` if nothing of it is left.
  using Freed = std::function<void(uint64_t session, uint64_t bytes, bool gone)>;

  explicit Reaper(Freed freed);  // throws IoError if the thread cannot be started
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper() { Stop(); }

  // Makes a shared pointer to the region. Dropping the last reference, which any thread may do,
  // hands the region to `reaper`.
  static std::shared_ptr<Region> Adopt(const std::shared_ptr<Reaper>& reaper,
                                       std::unique_ptr<Region> region);

  void Bury(std::vector<Remains> remains);

  // Ends the thread. From then on regions are unmapped by whoever drops them.
  void Stop();

 private:
  void Discard(std::unique_ptr<Region> region);
  void Run();
  // True if nothing of the region is left.
  bool TakeApart(Remains* remains);

  const Freed freed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::vector<std::unique_ptr<Region>> discarded_;
  std::vector<Remains> arrived_;
  std::vector<Remains> lingering_;  // used only by the reaper's thread
  std::thread thread_;
};

}  // namespace graphzero::shm
