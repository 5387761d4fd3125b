#include "shm/session_memory.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/errors.h"
#include "base/text.h"
#include "shm/budget.h"

namespace graphzero::shm {

struct SessionMemory::Chores {
  std::vector<IdleRange> punching;
  std::vector<Pool> dropped;
  std::vector<FreeRanges::Range> refills;  // parts of the block that have no memory yet
};

SessionMemory::SessionMemory(MemoryBudget* budget, uint64_t number, uint32_t window,
                             uint64_t promise)
    : budget_(budget), number_(number), window_(window), opening_promise_(promise) {}

// The reaper removes the names, too, because Python may hold the interpreter's lock here.
SessionMemory::~SessionMemory() { budget_->reaper_->Bury(End()); }

// --- promises ---

bool SessionMemory::RaisePromise(uint64_t size) {
  MemoryBudget::Account& account = budget_->accounts_.at(number_);
  const uint64_t region = RegionSize(size);
  const uint64_t left = budget_->LeftFor(account);
  const std::optional<uint64_t> promise = PromiseFor(region, window_, budget_->limit_, left);
  if (!promise) {
    if (left + budget_->HeldForAWhile() >= 2 * region) return false;
    throw InputError(
        "a batch of this size needs " + base::MiB(2 * region) +
        " of shared memory, two at a time, and " + base::MiB(left) + " of " +
        base::MiB(budget_->limit_) +
        " are left by other sessions; raise --shm-limit, lower batch size or fanout, or "
        "give other trainers a smaller window (connect(window=1)) or prefetch "
        "(loader(prefetch=1))");
  }
  if (*promise > account.promise) budget_->Update(&account, account.resident, *promise);
  return true;
}

void SessionMemory::LowerPromise() {
  MemoryBudget::Account& account = budget_->accounts_.at(number_);
  uint64_t largest = recent_.largest();
  for (const auto& [id, held] : blocks_) largest = std::max(largest, held.size);
  const std::optional<uint64_t> promise =
      PromiseFor(RegionSize(largest), window_, budget_->limit_, budget_->LeftFor(account));
  const uint64_t wanted = std::max(promise.value_or(account.promise), opening_promise_);
  if (wanted >= account.promise) return;
  budget_->Update(&account, account.resident, wanted);
  budget_->WakeWaiting(/*only_for_total=*/false);
}

void SessionMemory::ForgetSizes(Clock::time_point before) {
  if (recent_.EndIfBegun(before)) LowerPromise();
}

// --- plans ---

uint64_t SessionMemory::WarmBytes() const {
  uint64_t bytes = 0;
  for (const auto& [id, pool] : pools_) bytes += pool.free.warm_bytes();
  return bytes;
}

void SessionMemory::AppendIdle(std::vector<IdleRange>* ranges) const {
  for (const auto& [id, pool] : pools_) {
    for (const auto& warm : pool.free.Warm()) {
      ranges->push_back({number_, id, pool.region, warm.offset, warm.size, warm.since});
    }
  }
}

bool SessionMemory::Afford(uint64_t dropped, uint64_t in_pieces, Plan* plan,
                           bool* for_total) const {
  const MemoryBudget::Account& account = budget_->accounts_.at(number_);
  const uint64_t share = account.promise + budget_->Lendable(account);
  uint64_t after = account.resident + plan->grows - dropped;
  plan->from_own = after - std::min(after, share);
  *for_total = plan->from_own <= in_pieces;
  if (!*for_total) return false;
  after -= plan->from_own;
  // Memory that others were promised counts as committed, so it stays free for them. A session that
  // gets a part of its own promise does not need the rest of the promise to be free.
  const uint64_t total = budget_->committed_ - account.committed() + after;
  const uint64_t missing = total - std::min(total, budget_->limit_);
  const uint64_t more_from_own = std::min(missing, in_pieces - plan->from_own);
  plan->from_own += more_from_own;
  plan->from_others = missing - more_from_own;
  return plan->from_others == 0 || plan->from_others <= budget_->Reclaimable(this);
}

std::optional<SessionMemory::Plan> SessionMemory::MakePlan(uint64_t size, bool* for_total) const {
  // Prefers the place with the fewest punched bytes, because filling warm pages is many times
  // faster, and then the region with the least free room, so that large rooms stay whole.
  std::optional<Plan> best;
  uint64_t best_room = 0;
  uint64_t dropped = 0;
  uint64_t in_pieces = 0;
  size_t kept_regions = 0;
  for (const auto& [id, pool] : pools_) {
    (pool.free.Whole() ? dropped : in_pieces) += pool.free.warm_bytes();
    if (!pool.free.Whole() || !pool.mapped) ++kept_regions;
    const std::optional<FreeRanges::Place> place = pool.free.Find(size);
    if (!place) continue;
    const uint64_t room = pool.free.free_bytes();
    if (!best || std::tie(place->punched_bytes, room) < std::tie(best->grows, best_room)) {
      best = Plan{.region_id = id, .offset = place->offset, .grows = place->punched_bytes};
      best_room = room;
    }
  }
  if (best && best->grows == 0) {
    // Memory that was lent to the session, and that promises need now, must not be used again.
    const MemoryBudget::Account& account = budget_->accounts_.at(number_);
    const uint64_t in_use = account.resident - WarmBytes();
    if (budget_->committed_ <= budget_->limit_ || in_use + size <= account.promise) return best;
    *for_total = true;
    return std::nullopt;
  }
  if (best && Afford(0, 0, &*best, for_total)) return best;
  // Free memory of the session is too small, in pieces, or costs as much as a new region. A new
  // region replaces the regions that are wholly free.
  if (!budget_->MayAddRegion(kept_regions, pools_.size(), for_total)) return std::nullopt;
  const uint64_t resident = budget_->accounts_.at(number_).resident;
  Plan plan{.grows = GrownRegionSize(size, resident)};
  if (Afford(dropped, 0, &plan, for_total) && plan.from_others == 0) return plan;
  plan = Plan{.grows = RegionSize(size)};
  if (Afford(dropped, in_pieces, &plan, for_total)) return plan;
  return std::nullopt;
}

bool SessionMemory::CouldAllocate(const WaitingAttempt& attempt) const {
  const MemoryBudget::Account& account = budget_->accounts_.at(number_);
  if (RegionSize(attempt.size) > budget_->LeftFor(account) / 2) return false;
  bool for_total;
  return MakePlan(attempt.size, &for_total).has_value();
}

void SessionMemory::DropFreeRegions(Chores* chores) {
  for (auto it = pools_.begin(); it != pools_.end();) {
    auto& [id, pool] = *it;
    if (!pool.free.Whole()) {
      ++it;
      continue;
    }
    // If the offer of a region has not been sent yet, the client never hears of the region.
    const bool untold =
        std::erase_if(news_.offers, [&](const auto& o) { return o.region_id == it->first; }) > 0;
    if (!untold && !pool.mapped) {
      for (const auto& warm : pool.free.Warm()) {
        pool.free.Take(warm.offset, warm.size);
        chores->punching.push_back({number_, id, pool.region, warm.offset, warm.size, warm.since});
      }
      ++it;
      continue;
    }
    if (!untold) news_.drops.push_back(id);
    ++budget_->counters_.regions_dropped;
    chores->dropped.push_back(std::move(pool));
    it = pools_.erase(it);
  }
}

std::unique_ptr<Block> SessionMemory::NewBlock(uint64_t region_id, const Pool& pool,
                                               uint64_t offset, uint64_t size) {
  auto block = std::make_unique<Block>();
  block->id = next_block_++;
  block->region_id = region_id;
  block->offset = offset;
  block->size = size;
  block->region = pool.region;
  blocks_[block->id] = {region_id, offset, size, Clock::now()};
  return block;
}

std::unique_ptr<Block> SessionMemory::Reserve(const Plan& plan, uint64_t size, Chores* chores) {
  MemoryBudget::Account& account = budget_->accounts_.at(number_);
  // Counts the memory before the slow part, so that nobody else takes it.
  budget_->Update(&account, account.resident + plan.grows, account.promise);
  std::unique_ptr<Block> block;
  if (plan.region_id != 0) {
    Pool& pool = pools_.at(plan.region_id);
    chores->refills = pool.free.Take(plan.offset, size);
    block = NewBlock(plan.region_id, pool, plan.offset, size);
  } else {
    DropFreeRegions(chores);
    std::vector<IdleRange> own;
    AppendIdle(&own);
    std::map<uint64_t, uint64_t> all{{number_, UINT64_MAX}};
    own = budget_->TakeOldest(std::move(own), plan.from_own, &all);
    std::move(own.begin(), own.end(), std::back_inserter(chores->punching));
  }
  if (plan.from_others > 0) {
    std::vector<IdleRange> others = budget_->TakeReclaimed(this, plan.from_others);
    std::move(others.begin(), others.end(), std::back_inserter(chores->punching));
  }
  for (IdleRange& range : chores->punching) {
    range.for_reserved = true;
    budget_->to_be_punched_ += range.size;
  }
  for (const Pool& pool : chores->dropped) {
    budget_->to_be_punched_ += pool.free.resident_bytes();
  }
  return block;
}

// --- blocks ---

std::unique_ptr<Block> SessionMemory::TryAllocate(uint64_t bytes) {
  if (bytes > budget_->limit_) {
    throw InputError("a batch of " + base::MiB(bytes) + " does not fit into " +
                     base::MiB(budget_->limit_) +
                     " of shared memory; raise --shm-limit, or lower batch size or fanout");
  }
  const uint64_t size = BlockSize(bytes);
  Chores chores;
  std::unique_ptr<Block> block;
  uint64_t region_size = 0;
  {
    const MemoryBudget::Lock lock(budget_);
    if (!open_) throw InputError("the session has ended");
    bool for_total = true;
    std::optional<Plan> plan;
    if (RaisePromise(size)) plan = MakePlan(size, &for_total);
    if (!plan) {
      budget_->Wait(number_, {size, for_total});
      return nullptr;
    }
    block = Reserve(*plan, size, &chores);
    region_size = plan->grows;
    if (recent_.Add(size)) LowerPromise();
  }
  Do(&chores);
  if (!block) return AllocateInNewRegion(size, region_size);
  if (!chores.refills.empty()) Refill(*block, chores);
  return block;
}

void SessionMemory::Do(Chores* chores) {
  if (!chores->dropped.empty()) {
    uint64_t bytes = 0;
    for (Pool& pool : chores->dropped) {
      // The memory goes even if the client, or a worker that was too late, still uses the region.
      pool.region->Unlink();
      pool.region->Punch(0, pool.region->size());
      bytes += pool.free.resident_bytes();
    }
    chores->dropped.clear();
    const MemoryBudget::Lock lock(budget_);
    budget_->to_be_punched_ -= bytes;
    budget_->SubtractResident(number_, bytes);
    budget_->WakeWaiting(/*only_for_total=*/true);
  }
  budget_->PunchAll(chores->punching);
}

void SessionMemory::Refill(const Block& block, const Chores& chores) {
  try {
    for (const auto& range : chores.refills) block.region->Refill(range.offset, range.size);
  } catch (...) {
    for (const auto& range : chores.refills) block.region->Punch(range.offset, range.size);
    const MemoryBudget::Lock lock(budget_);
    if (open_) {
      blocks_.erase(block.id);
      FreeRanges& free = pools_.at(block.region_id).free;
      uint64_t at = block.offset;
      uint64_t punched = 0;
      for (const auto& range : chores.refills) {
        if (range.offset > at) free.Give(at, range.offset - at, false);
        free.Give(range.offset, range.size, true);
        punched += range.size;
        at = range.offset + range.size;
      }
      if (block.offset + block.size > at) free.Give(at, block.offset + block.size - at, false);
      budget_->SubtractResident(number_, punched);
      // Another request of this session may wait for its share.
      budget_->WakeWaiting(/*only_for_total=*/false);
    }
    throw;
  }
}

std::unique_ptr<Block> SessionMemory::AllocateInNewRegion(uint64_t size, uint64_t region_size) {
  std::shared_ptr<Region> region;
  try {
    region = Reaper::Adopt(budget_->reaper_,
                           Region::Create(budget_->NewName(), region_size, budget_->group_));
  } catch (...) {
    const MemoryBudget::Lock lock(budget_);
    budget_->SubtractResident(number_, region_size);
    budget_->WakeWaiting(/*only_for_total=*/false);
    throw;
  }
  const MemoryBudget::Lock lock(budget_);
  if (!open_) {
    budget_->SubtractResident(number_, region_size);
    budget_->WakeWaiting(/*only_for_total=*/false);
    throw InputError("the session has ended");
  }
  ++budget_->counters_.regions_made;
  const uint64_t region_id = next_region_++;
  news_.offers.push_back({region_id, region->name(), region_size});
  Pool& pool = pools_.emplace(region_id, Pool{region, FreeRanges(region_size)}).first->second;
  pool.free.Take(0, size);
  auto block = NewBlock(region_id, pool, 0, size);
  budget_->WakeIfReady(this);  // another request may fit into the rest
  return block;
}

bool SessionMemory::HasWarm(uint64_t bytes) const {
  const std::lock_guard lock(budget_->mutex_);
  return std::any_of(pools_.begin(), pools_.end(), [&](const auto& entry) {
    const std::optional<FreeRanges::Place> place = entry.second.free.Find(BlockSize(bytes));
    return place && place->punched_bytes == 0;
  });
}

uint64_t SessionMemory::RoomFor(uint64_t block) {
  return block < kSmallestRegion / 4 ? block : RegionSize(block);
}

uint64_t SessionMemory::HeldRoom() const {
  uint64_t room = 0;
  for (const auto& [id, held] : blocks_) room += RoomFor(held.size);
  return room;
}

bool SessionMemory::HasPromised(uint64_t bytes, uint64_t more) const {
  const std::lock_guard lock(budget_->mutex_);
  const auto account = budget_->accounts_.find(number_);
  if (!open_ || account == budget_->accounts_.end()) return false;
  const uint64_t size = BlockSize(bytes);
  const uint64_t needed = RoomFor(size) + more * RegionSize(std::max(size, recent_.largest()));
  return HeldRoom() + needed <= account->second.promise;
}

bool SessionMemory::MayHold(uint64_t blocks) const {
  const std::lock_guard lock(budget_->mutex_);
  const auto account = budget_->accounts_.find(number_);
  if (!open_ || account == budget_->accounts_.end()) return false;
  const uint64_t share = account->second.promise + budget_->Lendable(account->second);
  return HeldRoom() + blocks * RoomFor(recent_.largest()) <= share;
}

void SessionMemory::Release(const std::vector<uint64_t>& block_ids) {
  const MemoryBudget::Lock lock(budget_);
  if (!open_) return;
  for (const uint64_t id : block_ids) {
    const auto it = blocks_.find(id);
    if (it == blocks_.end()) continue;
    pools_.at(it->second.region_id).free.Give(it->second.offset, it->second.size, false);
    blocks_.erase(it);
  }
  budget_->WakeIfReady(this);
  // Other sessions can use the memory only if it was lent.
  const MemoryBudget::Account& account = budget_->accounts_.at(number_);
  if (account.resident > account.promise) budget_->WakeWaiting(/*only_for_total=*/true);
}

RegionNews SessionMemory::TakeNews() {
  const std::lock_guard lock(budget_->mutex_);
  return std::exchange(news_, {});
}

void SessionMemory::Mapped(uint64_t region_id) {
  std::shared_ptr<Region> region;
  {
    const std::lock_guard lock(budget_->mutex_);
    const auto it = pools_.find(region_id);
    if (it == pools_.end()) return;
    it->second.mapped = true;
    region = it->second.region;
  }
  region->Unlink();
}

SessionUsage SessionMemory::Usage() const {
  const std::lock_guard lock(budget_->mutex_);
  SessionUsage usage;
  if (!open_) return usage;
  const MemoryBudget::Account& account = budget_->accounts_.at(number_);
  usage.regions = pools_.size();
  usage.region_bytes = account.resident;
  usage.guarantee_bytes = account.promise;
  usage.blocks = blocks_.size();
  usage.held_by_age.resize(kBlockAges.size() + 1);
  const Clock::time_point now = Clock::now();
  Clock::time_point oldest = now;
  for (const auto& [id, held] : blocks_) {
    usage.block_bytes += held.size;
    const auto age = std::ranges::upper_bound(kBlockAges, now - held.since);
    usage.held_by_age[static_cast<size_t>(age - kBlockAges.begin())] += held.size;
    oldest = std::min(oldest, held.since);
  }
  usage.oldest_block_ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now - oldest).count());
  return usage;
}

std::vector<Reaper::Remains> SessionMemory::End() {
  const MemoryBudget::Lock lock(budget_);
  std::vector<Reaper::Remains> remains;
  if (!open_) return remains;
  open_ = false;
  for (auto& [id, pool] : pools_) {
    remains.push_back({number_, std::move(pool.region), std::move(pool.free)});
  }
  pools_.clear();
  blocks_.clear();
  news_ = {};
  --budget_->open_sessions_;
  budget_->waiting_.erase(number_);
  std::erase(budget_->ready_, number_);
  MemoryBudget::Account& account = budget_->accounts_.at(number_);
  account.session = nullptr;
  account.regions_left = remains.size();
  budget_->SubtractResident(number_, 0);  // lowers the promise to what the trainer still holds
  if (remains.empty()) budget_->Erase(number_);
  budget_->WakeWaiting(/*only_for_total=*/false);
  return remains;
}

void SessionMemory::Close() {
  std::vector<Reaper::Remains> remains = End();
  for (const Reaper::Remains& one : remains) one.region->Unlink();
  budget_->reaper_->Bury(std::move(remains));
}

}  // namespace graphzero::shm
