#include "shm/budget.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "store/bytes.h"
#include "store/errors.h"

namespace graphzero::shm {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kRegionStep = uint64_t{2} << 20;
constexpr uint64_t kSmallestRegion = uint64_t{4} << 20;
constexpr uint64_t kSlowToFree = uint64_t{64} << 20;

// A little more than the batch that needs it, because the next one will differ.
uint64_t RegionSize(uint64_t block) {
  return std::max(kSmallestRegion, store::AlignUp(block + block / 8, kRegionStep));
}

std::string MiB(uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

}  // namespace

MemoryBudget::MemoryBudget(uint64_t limit, std::string name_prefix, std::optional<uint32_t> group)
    : limit_(limit), name_prefix_(std::move(name_prefix)), group_(group) {}

uint64_t MemoryBudget::Committed(const SessionMemory* without) const {
  uint64_t bytes = 0;
  for (const auto& [session, account] : accounts_) {
    if (session != without) bytes += std::max(account.resident, account.guarantee);
  }
  return bytes;
}

uint64_t MemoryBudget::Guaranteed(const SessionMemory* without) const {
  uint64_t bytes = 0;
  for (const auto& [session, account] : accounts_) {
    if (session != without) bytes += account.guarantee;
  }
  return bytes;
}

// A session's equal part of what nobody was promised. One part is left over: lent memory cannot be
// called back, and the next session to open must find some.
uint64_t MemoryBudget::Lendable() const {
  return (limit_ - std::min(limit_, Guaranteed(nullptr))) / (accounts_.size() + 1);
}

bool MemoryBudget::MayHold(const SessionMemory* session, uint64_t bytes) const {
  const Account& own = accounts_.at(session);
  // What others were promised is committed, so it stays free for them; the rest of its own promise
  // need not be free for a session to get a part of it.
  return bytes <= own.guarantee + Lendable() && Committed(session) + bytes <= limit_;
}

void MemoryBudget::ReclaimIdle(const SessionMemory* for_session) {
  for (const auto& [key, session] : sessions_) {
    if (key != for_session) session->PunchIdle(Clock::time_point::max());
  }
}

std::shared_ptr<SessionMemory> MemoryBudget::OpenSession(uint32_t window) {
  auto session = std::make_shared<SessionMemory>(this, std::max<uint32_t>(2, window));
  const uint64_t guarantee = session->window_ * kSmallestRegion;
  std::lock_guard lock(mutex_);
  const uint64_t promised = Guaranteed(nullptr);
  if (promised + guarantee > limit_) {
    session->open_ = false;
    throw InputError("no shared memory left for another session: it needs " + MiB(guarantee) +
                     ", and " + MiB(promised) + " of " + MiB(limit_) + " are promised to " +
                     std::to_string(accounts_.size()) + " sessions; raise --shm-limit");
  }
  accounts_[session.get()] = {0, guarantee};
  sessions_[session.get()] = session.get();
  return session;
}

uint64_t MemoryBudget::used() const {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [session, account] : accounts_) bytes += account.resident;
  return bytes;
}

std::string MemoryBudget::NewName() {
  std::array<uint8_t, 16> random;
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw IoError(errno, "cannot get random bytes", "getrandom");
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string name = "/" + name_prefix_ + "-";
  for (const uint8_t byte : random) {
    name += kHex[byte >> 4];
    name += kHex[byte & 15];
  }
  return name;
}

// The guarantee follows the largest batch: `window_` regions of its size.
void SessionMemory::RaiseGuarantee(uint64_t region_size) {
  MemoryBudget::Account& account = budget_->accounts_.at(this);
  const uint64_t wanted = window_ * region_size;
  if (wanted <= account.guarantee) return;
  const uint64_t others = budget_->Guaranteed(this);
  if (others + wanted > budget_->limit_) {
    throw InputError("a batch of this size needs " + MiB(wanted) + " of shared memory (" +
                     std::to_string(window_) + " at a time), and " +
                     MiB(budget_->limit_ - std::min(budget_->limit_, others)) + " of " +
                     MiB(budget_->limit_) + " are left by other sessions; raise --shm-limit, or " +
                     "lower prefetch, batch size or fanout");
  }
  account.guarantee = wanted;
}

std::unique_ptr<Block> SessionMemory::TryAllocate(uint64_t bytes) {
  const uint64_t size = std::max(kPage, store::AlignUp(bytes, kPage));
  const uint64_t region_size = RegionSize(size);
  uint64_t region_id;
  {
    std::lock_guard lock(budget_->mutex_);
    if (!open_) throw InputError("the session has ended");
    RaiseGuarantee(region_size);
    if (auto block = TakeFromPools(size)) return block;
    MemoryBudget::Account& account = budget_->accounts_.at(this);
    // Whatever is wholly free is too small or in pieces: a larger region replaces it.
    DropFreeRegions();
    if (!budget_->MayHold(this, account.resident + region_size)) budget_->ReclaimIdle(this);
    if (!budget_->MayHold(this, account.resident + region_size)) return nullptr;
    account.resident += region_size;  // before the slow part, so that nobody else takes it
    region_id = next_region_++;
  }
  std::shared_ptr<Region> region;
  try {
    region = Region::Create(budget_->NewName(), region_size, budget_->group_);
  } catch (...) {
    std::lock_guard lock(budget_->mutex_);
    if (open_) budget_->accounts_.at(this).resident -= region_size;
    throw;
  }
  std::lock_guard lock(budget_->mutex_);
  if (!open_) throw InputError("the session has ended");
  news_.offers.push_back({region_id, region->name(), region_size});
  const auto [it, added] = pools_.emplace(region_id, Pool{region, FreeRanges(region_size)});
  auto block = TakeFrom(region_id, &it->second, size);
  if (block) block->in_new_region = true;
  return block;
}

std::unique_ptr<Block> SessionMemory::TakeFromPools(uint64_t size) {
  // The region with the least room that suffices, so that large rooms stay whole.
  uint64_t best_id = 0;
  Pool* best = nullptr;
  for (auto& [id, pool] : pools_) {
    if (pool.free.free_bytes() < size) continue;
    if (best == nullptr || pool.free.free_bytes() < best->free.free_bytes()) {
      FreeRanges probe = pool.free;
      if (!probe.Take(size)) continue;
      best = &pool;
      best_id = id;
    }
  }
  return best ? TakeFrom(best_id, best, size) : nullptr;
}

std::unique_ptr<Block> SessionMemory::TakeFrom(uint64_t region_id, Pool* pool, uint64_t size) {
  const FreeRanges::Range range = *pool->free.Take(size);
  if (range.punched) {
    MemoryBudget::Account& account = budget_->accounts_.at(this);
    if (!budget_->MayHold(this, account.resident + size)) {
      pool->free.Give(range.offset, range.size, true);
      return nullptr;
    }
    try {
      pool->region->Refill(range.offset, range.size);
    } catch (...) {
      pool->free.Give(range.offset, range.size, true);
      throw;
    }
    account.resident += size;
  }
  auto block = std::make_unique<Block>();
  block->id = next_block_++;
  block->region_id = region_id;
  block->offset = range.offset;
  block->size = size;
  block->region = pool->region;
  blocks_[block->id] = {region_id, range.offset, size, Clock::now()};
  return block;
}

void SessionMemory::Release(const std::vector<uint64_t>& block_ids) {
  std::lock_guard lock(budget_->mutex_);
  for (const uint64_t id : block_ids) {
    const auto it = blocks_.find(id);
    if (it == blocks_.end()) continue;
    pools_.at(it->second.region_id).free.Give(it->second.offset, it->second.size, false);
    blocks_.erase(it);
  }
}

RegionNews SessionMemory::TakeNews() {
  std::lock_guard lock(budget_->mutex_);
  return std::exchange(news_, {});
}

void SessionMemory::Mapped(uint64_t region_id) {
  std::lock_guard lock(budget_->mutex_);
  const auto it = pools_.find(region_id);
  if (it != pools_.end()) it->second.region->Unlink();
}

void SessionMemory::DropFreeRegions() {
  MemoryBudget::Account& account = budget_->accounts_.at(this);
  for (auto it = pools_.begin(); it != pools_.end();) {
    Pool& pool = it->second;
    if (!pool.free.Whole()) {
      ++it;
      continue;
    }
    // The client never hears of a region whose offer is still here.
    const bool untold =
        std::erase_if(news_.offers, [&](const auto& o) { return o.region_id == it->first; }) > 0;
    if (!untold && pool.region->linked()) {
      // The client is about to open the name, so that must stay: only the memory goes.
      account.resident -= Punch(&pool, Clock::time_point::max());
      ++it;
      continue;
    }
    account.resident -= pool.region->size() - pool.free.punched_bytes();
    if (!untold) news_.drops.push_back(it->first);
    it = pools_.erase(it);
  }
}

uint64_t SessionMemory::Punch(Pool* pool, Clock::time_point before) {
  return pool->free.PunchIdle(
      before, [&](uint64_t offset, uint64_t size) { pool->region->Punch(offset, size); });
}

void SessionMemory::PunchIdle(Clock::time_point before) {
  MemoryBudget::Account& account = budget_->accounts_.at(this);
  for (auto& [id, pool] : pools_) account.resident -= Punch(&pool, before);
}

void SessionMemory::Trim(Clock::duration idle) {
  const Clock::time_point before = Clock::now() - idle;
  std::vector<uint64_t> ids;
  {
    std::lock_guard lock(budget_->mutex_);
    for (const auto& [id, pool] : pools_) ids.push_back(id);
  }
  // One region at a time: giving memory back is slow, and others wait for the lock.
  for (const uint64_t id : ids) {
    std::lock_guard lock(budget_->mutex_);
    const auto it = pools_.find(id);
    if (!open_ || it == pools_.end()) continue;
    budget_->accounts_.at(this).resident -= Punch(&it->second, before);
  }
}

SessionUsage SessionMemory::Usage() const {
  std::lock_guard lock(budget_->mutex_);
  SessionUsage usage;
  if (!open_) return usage;
  const MemoryBudget::Account& account = budget_->accounts_.at(this);
  usage.regions = pools_.size();
  usage.region_bytes = account.resident;
  usage.guarantee_bytes = account.guarantee;
  usage.blocks = blocks_.size();
  Clock::time_point oldest = Clock::now();
  for (const auto& [id, held] : blocks_) {
    usage.block_bytes += held.size;
    oldest = std::min(oldest, held.since);
  }
  usage.oldest_block_ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - oldest).count());
  return usage;
}

void SessionMemory::Close() {
  std::map<uint64_t, Pool> regions;
  {
    std::lock_guard lock(budget_->mutex_);
    if (!open_) return;
    open_ = false;
    regions.swap(pools_);
    blocks_.clear();
    budget_->accounts_.erase(this);
    budget_->sessions_.erase(this);
  }
  uint64_t bytes = 0;
  for (auto& [id, pool] : regions) {
    pool.region->Unlink();  // no name outlives this call
    bytes += pool.region->size();
  }
  // Giving gigabytes back takes long, and the caller serves everyone.
  if (bytes > kSlowToFree) std::thread([gone = std::move(regions)] {}).detach();
}

}  // namespace graphzero::shm
