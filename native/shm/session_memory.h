// One session's regions and the blocks in them. budget.h tells how much memory a session may have.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shm/free_ranges.h"
#include "shm/promise.h"
#include "shm/reaper.h"
#include "shm/region.h"

namespace graphzero::shm {

class MemoryBudget;

// A block that the daemon may write to. Keeps its region's memory alive, also after the session.
struct Block {
  uint64_t id = 0;
  uint64_t region_id = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  std::shared_ptr<Region> region;

  std::byte* data() const { return region->data() + offset; }
};

struct RegionOffer {
  uint64_t region_id;
  std::string name;
  uint64_t size;
};

// What a session has to tell its client before the next block: regions made and dropped.
struct RegionNews {
  std::vector<RegionOffer> offers;
  std::vector<uint64_t> drops;
};

inline constexpr std::array kBlockAges = {std::chrono::seconds(1), std::chrono::seconds(10),
                                          std::chrono::seconds(60), std::chrono::seconds(600)};

struct SessionUsage {
  uint64_t regions = 0;
  uint64_t region_bytes = 0;  // only those with memory behind them
  uint64_t blocks = 0;
  uint64_t block_bytes = 0;
  uint64_t oldest_block_ms = 0;  // age of the oldest block
  uint64_t guarantee_bytes = 0;
  // block_bytes by age: entry i counts the blocks that are younger than kBlockAges[i] and in no
  // earlier entry; the last entry counts the rest.
  std::vector<uint64_t> held_by_age;
};

// A free range with memory behind it.
struct IdleRange {
  uint64_t session;
  uint64_t region_id;
  std::shared_ptr<Region> region;
  uint64_t offset;
  uint64_t size;
  Clock::time_point since;
  bool for_reserved = false;  // it is punched to make room for memory that is reserved already
};

// An attempt that found no memory.
struct WaitingAttempt {
  uint64_t size;
  bool for_total;  // the session's own share allowed it; the total of all sessions did not
};

// Thread-safe. Blocks taken from it stay writable after Close().
class SessionMemory {
 public:
  // Called by MemoryBudget::OpenSession(); the session opens with `promise`.
  SessionMemory(MemoryBudget* budget, uint64_t number, uint32_t window, uint64_t promise);
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;
  ~SessionMemory();

  // The number by which MemoryBudget::TakeReady() names the session.
  uint64_t number() const { return number_; }

  // A block of at least `bytes`, or null when there is none now: the attempt then waits, see
  // MemoryBudget::TakeReady(). May create a region, which takes long. Throws InputError when the
  // session could never get that much, IoError when the system has no shared memory left.
  std::unique_ptr<Block> TryAllocate(uint64_t bytes);

  // Whether TryAllocate(bytes) would find a block that needs no system call.
  bool HasWarm(uint64_t bytes) const;

  // Whether the session's promise has room for a block of `bytes`, beside those that it holds and
  // `more` blocks of the size of its largest recent one.
  bool HasPromised(uint64_t bytes, uint64_t more) const;

  // Whether the session's share, as other sessions leave it now, has room for `blocks` of the size
  // of its largest recent one, beside those that it holds. True as long as it had none.
  bool MayHold(uint64_t blocks) const;

  // Frees blocks; unknown ids are ignored, so releasing twice is harmless.
  void Release(const std::vector<uint64_t>& block_ids);

  RegionNews TakeNews();
  // The client has mapped the region: its name is removed.
  void Mapped(uint64_t region_id);

  SessionUsage Usage() const;

  // Ends the session. No name of its regions outlives this call; their memory goes back as soon as
  // the trainer has unmapped it too. Further calls get nothing.
  void Close();

 private:
  friend class MemoryBudget;

  struct Held {
    uint64_t region_id;
    uint64_t offset;
    uint64_t size;
    Clock::time_point since;
  };
  struct Pool {
    std::shared_ptr<Region> region;
    FreeRanges free;
    bool mapped = false;  // by the client, who is done with the name
  };
  // How to get a block.
  struct Plan {
    uint64_t region_id = 0;  // 0: in a new region, of `grows` bytes
    uint64_t offset = 0;
    uint64_t grows = 0;        // bytes that get memory behind them
    uint64_t from_own = 0;     // bytes to punch in regions of this session that are in use
    uint64_t from_others = 0;  // bytes to reclaim
  };
  // Work that a plan requires, to be done without the mutex before the memory may be used.
  struct Chores;

  // These need the budget's mutex.
  // Raises the promise for batches of `size`. False if that must wait for memory that is held for a
  // while (MemoryBudget::HeldForAWhile()); throws InputError if it is impossible.
  bool RaisePromise(uint64_t size);
  void LowerPromise();
  void ForgetSizes(Clock::time_point before);
  // Nothing if there is no room; `for_total` then says which: true if the total of all sessions is
  // short, false if the session's own share is.
  std::optional<Plan> MakePlan(uint64_t size, bool* for_total) const;
  bool Afford(uint64_t dropped, uint64_t in_pieces, Plan* plan, bool* for_total) const;
  bool CouldAllocate(const WaitingAttempt& attempt) const;
  // Enters a plan into the accounts. Null if the block will lie in a new region.
  std::unique_ptr<Block> Reserve(const Plan& plan, uint64_t size, Chores* chores);
  // Drops regions without a block. If the client may be about to open a region by its name, only
  // the memory of the region goes.
  void DropFreeRegions(Chores* chores);
  std::unique_ptr<Block> NewBlock(uint64_t region_id, const Pool& pool, uint64_t offset,
                                  uint64_t size);
  uint64_t WarmBytes() const;
  // The bytes of regions that a block takes, at most: a large block may need a region of its own,
  // small ones share regions.
  static uint64_t RoomFor(uint64_t block);
  uint64_t HeldRoom() const;  // of all blocks
  void AppendIdle(std::vector<IdleRange>* ranges) const;

  // These must be called without the mutex.
  // Ends the session in the accounts.
  std::vector<Reaper::Remains> End();
  void Do(Chores* chores);
  void Refill(const Block& block, const Chores& chores);
  std::unique_ptr<Block> AllocateInNewRegion(uint64_t size, uint64_t region_size);

  MemoryBudget* const budget_;
  const uint64_t number_;
  const uint32_t window_;
  const uint64_t opening_promise_;

  // The budget's mutex guards everything below.
  bool open_ = true;
  uint64_t next_region_ = 1;
  uint64_t next_block_ = 1;
  std::map<uint64_t, Pool> pools_;
  std::map<uint64_t, Held> blocks_;
  RegionNews news_;
  RecentLargest recent_;
};

}  // namespace graphzero::shm
