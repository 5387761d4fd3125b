// The daemon's shared memory: one limit, divided among sessions.
//
// A session is guaranteed room for `window` of its largest batches so far. Guarantees never add up
// to more than the limit, so one session cannot take what another was promised. What is not
// promised is lent: each session may use an equal part of it beyond its guarantee, and a part of
// the same size stays free for the session that opens next.
//
// Blocks lie in regions, which belong to one session and are never given to another. A region has
// room for several blocks, which are freed in any order. Fresh pages are slow to fill (267 ms for
// 172 MiB against 16 to 41 ms for warm ones, measured), so regions are kept and refilled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shm/free_ranges.h"
#include "shm/region.h"

namespace graphzero::shm {

class MemoryBudget;
class SessionMemory;

// A block that the daemon may write to. Keeps its region's memory alive, also after the session.
struct Block {
  uint64_t id = 0;
  uint64_t region_id = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  std::shared_ptr<Region> region;
  bool in_new_region = false;  // which may have room for others who found none

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

struct SessionUsage {
  uint64_t regions = 0;
  uint64_t region_bytes = 0;  // with memory behind them
  uint64_t blocks = 0;
  uint64_t block_bytes = 0;
  uint64_t oldest_block_ms = 0;  // age
  uint64_t guarantee_bytes = 0;
};

// Thread-safe.
class MemoryBudget {
 public:
  // Regions are named "/NAME-RANDOM". `name_prefix` identifies this daemon's regions for sweeping.
  MemoryBudget(uint64_t limit, std::string name_prefix, std::optional<uint32_t> group);

  // Opens a session with a guarantee of `window` small batches. Throws InputError with the numbers
  // when that much is not left.
  std::shared_ptr<SessionMemory> OpenSession(uint32_t window);

  uint64_t limit() const { return limit_; }
  uint64_t used() const;

 private:
  friend class SessionMemory;

  struct Account {
    uint64_t resident = 0;
    uint64_t guarantee = 0;
  };

  // All of these need mutex_.
  uint64_t Committed(const SessionMemory* without) const;
  uint64_t Guaranteed(const SessionMemory* without) const;
  uint64_t Lendable() const;
  bool MayHold(const SessionMemory* session, uint64_t bytes) const;
  void ReclaimIdle(const SessionMemory* for_session);

  std::string NewName();

  const uint64_t limit_;
  const std::string name_prefix_;
  const std::optional<uint32_t> group_;  // whose members may map regions
  mutable std::mutex mutex_;
  std::map<const SessionMemory*, Account> accounts_;
  std::map<const SessionMemory*, SessionMemory*> sessions_;
};

// One session's regions and blocks. Thread-safe. Blocks taken from it stay writable after Close().
class SessionMemory : public std::enable_shared_from_this<SessionMemory> {
 public:
  SessionMemory(MemoryBudget* budget, uint32_t window) : budget_(budget), window_(window) {}
  ~SessionMemory() { Close(); }

  // A block of at least `bytes`, or null when the session must first release some. Throws
  // InputError when it could never get that much, IoError when the system has no shared memory
  // left.
  std::unique_ptr<Block> TryAllocate(uint64_t bytes);

  // Frees blocks; unknown ids are ignored, so releasing twice is harmless.
  void Release(const std::vector<uint64_t>& block_ids);

  RegionNews TakeNews();
  // The client has mapped the region: its name is removed.
  void Mapped(uint64_t region_id);

  // Gives the memory of blocks that were free for `idle` back to the system.
  void Trim(Clock::duration idle);

  SessionUsage Usage() const;

  // Ends the session: all its memory returns to the budget. Further calls get nothing.
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
  };

  // These need the budget's mutex.
  void RaiseGuarantee(uint64_t region_size);
  std::unique_ptr<Block> TakeFromPools(uint64_t size);
  std::unique_ptr<Block> TakeFrom(uint64_t region_id, Pool* pool, uint64_t size);
  // Regions without a block go, except those whose name the client may be about to open.
  void DropFreeRegions();
  void PunchIdle(Clock::time_point before);
  static uint64_t Punch(Pool* pool, Clock::time_point before);

  MemoryBudget* budget_;
  const uint32_t window_;
  bool open_ = true;
  uint64_t next_region_ = 1;
  uint64_t next_block_ = 1;
  std::map<uint64_t, Pool> pools_;
  std::map<uint64_t, Held> blocks_;
  RegionNews news_;
};

}  // namespace graphzero::shm
