// One session's regions and the blocks in them. budget.h tells how much memory it may have.
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
  uint64_t region_bytes = 0;  // with memory behind them
  uint64_t blocks = 0;
  uint64_t block_bytes = 0;
  uint64_t oldest_block_ms = 0;  // age
  uint64_t guarantee_bytes = 0;
  // Of block_bytes: those of blocks younger than each of kBlockAges that are not in the entry
  // before it; the last entry has the rest.
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
  bool for_reserved = false;  // it is punched for memory that is reserved already
};

// An attempt that found no memory.
struct WaitingAttempt {
  uint64_t size;
  bool for_total;  // the session's own share would have allowed it
};

// Thread-safe. Blocks taken from it stay writable after Close().
class SessionMemory {
 public:
  // As MemoryBudget::OpenSession() makes it; `promise` is what it opens with.
  SessionMemory(MemoryBudget* budget, uint64_t number, uint32_t window, uint64_t promise);
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;
  ~SessionMemory();

  // What TakeReady() of the budget calls it.
  uint64_t number() const { return number_; }

  // A block of at least `bytes`, or null when there is none now: the attempt then waits, see
  // MemoryBudget::TakeReady(). May create a region, which takes long. Throws InputError when the
  // session could never get that much, IoError when the system has no shared memory left.
  std::unique_ptr<Block> TryAllocate(uint64_t bytes);

  // Whether TryAllocate(bytes) would find a block that needs no system call.
  bool HasWarm(uint64_t bytes) const;

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
  // How a block can be had.
  struct Plan {
    uint64_t region_id = 0;  // 0: in a new region, of `grows` bytes
    uint64_t offset = 0;
    uint64_t grows = 0;        // bytes that get memory behind them
    uint64_t from_own = 0;     // bytes to punch in regions of this session that are in use
    uint64_t from_others = 0;  // bytes to reclaim
  };
  // What a plan wants done without the mutex, before its memory may be used.
  struct Chores;

  // These need the budget's mutex.
  // False if that must wait for what is held for a while; throws InputError if it is impossible.
  bool RaisePromise(uint64_t size);
  void LowerPromise();
  void ForgetSizes(Clock::time_point before);
  // Nothing if there is no room; `for_total` then says which room it was.
  std::optional<Plan> MakePlan(uint64_t size, bool* for_total) const;
  bool Afford(uint64_t dropped, uint64_t in_pieces, Plan* plan, bool* for_total) const;
  bool CouldAllocate(const WaitingAttempt& attempt) const;
  // Carries out what a plan says about the books. Null if the block lies in a new region.
  std::unique_ptr<Block> Reserve(const Plan& plan, uint64_t size, Chores* chores);
  // Regions without a block go, except those whose name the client may be about to open: of them
  // only the memory goes.
  void DropFreeRegions(Chores* chores);
  std::unique_ptr<Block> NewBlock(uint64_t region_id, const Pool& pool, uint64_t offset,
                                  uint64_t size);
  uint64_t WarmBytes() const;
  void AppendIdle(std::vector<IdleRange>* ranges) const;
  // Ends the session in the books.
  std::vector<Reaper::Remains> End();

  // These must be called without it.
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
