// Takes regions apart on a thread of its own: unmapping them and giving gigabytes back takes long,
// and those who let go of them are the event loop, destructors under Python's interpreter lock, and
// workers that have other things to do.
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
  // A region of a session that has ended. Its blocks may still be viewed by the trainer, whose
  // tensors stay valid, or be written by a worker; they count until neither has them any more.
  struct Remains {
    uint64_t session;
    std::shared_ptr<Region> region;
    FreeRanges free;
  };
  // Called on the reaper's thread, or in Stop(): a region of `session` has `bytes` less memory
  // behind it, and is `gone` if that was all.
  using Freed = std::function<void(uint64_t session, uint64_t bytes, bool gone)>;

  explicit Reaper(Freed freed);  // throws IoError if the thread cannot be started
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper() { Stop(); }

  // Gives a region an owner whose last reference hands it to `reaper`; any thread may drop that.
  static std::shared_ptr<Region> Adopt(const std::shared_ptr<Reaper>& reaper,
                                       std::unique_ptr<Region> region);

  void Bury(std::vector<Remains> remains);

  // Ends the thread. From then on regions are unmapped by whoever drops them.
  void Stop();

 private:
  void Discard(std::unique_ptr<Region> region);
  void Run();
  // True if nothing is left to be done about it.
  bool TakeApart(Remains* remains);

  const Freed freed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::vector<std::unique_ptr<Region>> discarded_;
  std::vector<Remains> arrived_;
  std::vector<Remains> lingering_;  // the thread's own
  std::thread thread_;
};

}  // namespace graphzero::shm
