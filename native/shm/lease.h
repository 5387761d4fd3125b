// The trainer's side of a block: it lives exactly as long as the last array that views it.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "shm/region.h"

namespace graphzero::shm {

// Ids of blocks that nobody views any more, on their way to the daemon. Thread-safe.
class ReleaseQueue {
 public:
  // Called by destructors: only appends.
  void Push(uint64_t block_id);

  using Duration = std::chrono::duration<double>;
  // Takes all ids, without waiting.
  std::vector<uint64_t> Take();

  // Takes ids that nobody else took within `linger` of the first one's arrival. Waits for them at
  // most `timeout`, or until Close(). Waking a thread costs more than anything else here, so ids
  // that arrive during `linger` do not wake it.
  std::vector<uint64_t> TakeLeftOver(Duration timeout, Duration linger);

  // Wakes whoever waits. Later pushes are kept and can still be taken.
  void Close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool waits_for_first_ = false;
  std::vector<uint64_t> ids_;
  bool closed_ = false;
};

// Owns a block for this process: arrays hold it, and when the last one dies the block's id goes to
// the queue. A forked child inherits the mapping, but the block stays its parent's: only the
// process that made the lease releases it.
class BlockLease {
 public:
  BlockLease(std::shared_ptr<RegionView> region, std::shared_ptr<ReleaseQueue> queue,
             uint64_t block_id, uint64_t offset, uint64_t size);  // throws std::out_of_range
  BlockLease(const BlockLease&) = delete;
  BlockLease& operator=(const BlockLease&) = delete;
  ~BlockLease();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::shared_ptr<RegionView> region_;
  std::shared_ptr<ReleaseQueue> queue_;
  uint64_t block_id_;
  std::span<std::byte> bytes_;
  pid_t owner_ = ::getpid();
};

}  // namespace graphzero::shm
