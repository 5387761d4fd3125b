#include "shm/budget.h"

#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/errors.h"
#include "base/text.h"
#include "shm/promise.h"

namespace graphzero::shm {
namespace {

std::string FolderName(const std::string& name_prefix) { return "/" + name_prefix + "-private"; }

// The most regions of all sessions together: half of the descriptors that this process may open.
size_t MostRegions() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
  return std::max<size_t>(64, std::min<size_t>(limit.rlim_cur, size_t{1} << 20) / 2);
}

base::Fd NewEvent() {
  base::Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) throw IoError(errno, "cannot create an event descriptor", "eventfd");
  return event;
}

}  // namespace

MemoryBudget::Lock::~Lock() {
  const bool tell = std::exchange(budget_->tell_ready_, false);
  lock_.unlock();
  if (tell) (void)::eventfd_write(budget_->ready_event_.get(), 1);
}

MemoryBudget::MemoryBudget(uint64_t limit, std::string name_prefix, std::optional<uint32_t> group)
    : limit_(limit / kPage * kPage),
      name_prefix_(std::move(name_prefix)),
      group_(group),
      folder_(group ? std::make_unique<PrivateFolder>(FolderName(name_prefix_), *group) : nullptr),
      ready_event_(NewEvent()),
      most_regions_(MostRegions()),
      reaper_(std::make_shared<Reaper>([this](uint64_t session, uint64_t bytes, bool gone) {
        OnFreed(session, bytes, gone);
      })) {}

MemoryBudget::~MemoryBudget() { reaper_->Stop(); }

std::shared_ptr<SessionMemory> MemoryBudget::OpenSession(uint32_t window) {
  const Lock lock(this);
  const uint64_t number = next_session_;
  const uint64_t left = LeftFor({});
  const std::optional<uint64_t> promise = PromiseFor(kSmallestRegion, window, limit_, left);
  if (!promise) {
    const size_t ended = accounts_.size() - open_sessions_;
    throw InputError(
        "no shared memory left for another session: it needs " + base::MiB(2 * kSmallestRegion) +
        ", and " + base::MiB(limit_ - left) + " of " + base::MiB(limit_) + " are promised to " +
        std::to_string(open_sessions_) + (open_sessions_ == 1 ? " session" : " sessions") +
        (ended > 0 ? " or held by the trainers of " + std::to_string(ended) + " that have ended"
                   : "") +
        "; raise --shm-limit, or give trainers a smaller window (connect(window=1)) or "
        "prefetch (loader(prefetch=1))");
  }
  auto session = std::make_shared<SessionMemory>(this, number, window, *promise);
  Account& account = accounts_[number] = {session.get(), 0, 0, 0};
  Update(&account, 0, *promise);
  ++next_session_;
  ++open_sessions_;
  return session;
}

bool MemoryBudget::SetOutside(uint64_t bytes) {
  bytes = base::AlignUp(bytes, kPage);  // as in all sums, because whole pages are reclaimed
  const Lock lock(this);
  const bool more = bytes > outside_;
  const uint64_t wanted = more ? bytes - outside_ : 0;
  if (wanted > limit_ - std::min(limit_, committed_)) {
    outside_wanted_ = outside_wanted_ == 0 ? wanted : std::min(outside_wanted_, wanted);
    return false;
  }
  for (uint64_t* const sum : {&resident_, &committed_, &promised_}) *sum += bytes - outside_;
  outside_ = bytes;
  if (!more) WakeWaiting(/*only_for_total=*/false);
  return true;
}

bool MemoryBudget::room_may_come() const {
  const std::lock_guard lock(mutex_);
  const uint64_t left = LeftFor({});
  const auto can_open = [&](uint64_t bytes) { return bytes >= 2 * kSmallestRegion; };
  return !can_open(left) && can_open(left + HeldForAWhile());
}

std::vector<uint64_t> MemoryBudget::TakeReady() {
  eventfd_t count;
  (void)::eventfd_read(ready_event_.get(), &count);
  const std::lock_guard lock(mutex_);
  return std::exchange(ready_, {});
}

uint64_t MemoryBudget::used() const {
  const std::lock_guard lock(mutex_);
  return resident_ - std::min(resident_, to_be_punched_);
}

uint64_t MemoryBudget::promised() const {
  const std::lock_guard lock(mutex_);
  return promised_;
}

MemoryCounters MemoryBudget::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

// --- accounts ---

void MemoryBudget::Update(Account* account, uint64_t resident, uint64_t promise) {
  resident_ -= account->resident;
  committed_ -= account->committed();
  promised_ -= account->promise;
  account->resident = resident;
  account->promise = promise;
  resident_ += account->resident;
  committed_ += account->committed();
  promised_ += account->promise;
}

void MemoryBudget::SubtractResident(uint64_t session, uint64_t bytes) {
  const auto it = accounts_.find(session);
  if (it == accounts_.end()) return;
  Account& account = it->second;
  const uint64_t resident = account.resident - std::min(account.resident, bytes);
  // A session that has ended is promised only what its trainer still holds.
  Update(&account, resident, account.session ? account.promise : resident);
}

uint64_t MemoryBudget::Lendable(const Account& account) const {
  const uint64_t half = (limit_ - std::min(limit_, promised_)) / 2;
  const uint64_t lent = committed_ - promised_;
  const uint64_t lent_to_others = lent - (account.committed() - account.promise);
  const uint64_t part =
      std::min(half / std::max<size_t>(1, open_sessions_), half - std::min(half, lent_to_others));
  return part / kPage * kPage;
}

uint64_t MemoryBudget::LeftFor(const Account& account) const {
  return limit_ - std::min(limit_, promised_ - account.promise);
}

uint64_t MemoryBudget::HeldForAWhile() const {
  uint64_t bytes = outside_;
  for (const auto& [number, account] : accounts_) {
    if (account.session == nullptr) bytes += account.promise;
  }
  return bytes;
}

// --- reclaiming ---

uint64_t MemoryBudget::Reclaimable(const SessionMemory* without) const {
  uint64_t bytes = 0;
  for (const auto& [number, account] : accounts_) {
    if (account.session == nullptr || account.session == without) continue;
    bytes += std::min(account.committed() - account.promise, account.session->WarmBytes());
  }
  return bytes;
}

std::vector<IdleRange> MemoryBudget::TakeReclaimed(const SessionMemory* without, uint64_t bytes) {
  std::vector<IdleRange> candidates;
  std::map<uint64_t, uint64_t> beyond_promise;
  for (const auto& [number, account] : accounts_) {
    if (account.session == nullptr || account.session == without) continue;
    beyond_promise[number] = account.committed() - account.promise;
    if (beyond_promise[number] > 0) account.session->AppendIdle(&candidates);
  }
  std::vector<IdleRange> taken = TakeOldest(std::move(candidates), bytes, &beyond_promise);
  for (const IdleRange& range : taken) {
    ++counters_.reclaims;
    counters_.reclaimed_bytes += range.size;
  }
  return taken;
}

std::vector<IdleRange> MemoryBudget::TakeOldest(std::vector<IdleRange> candidates, uint64_t bytes,
                                                std::map<uint64_t, uint64_t>* most) {
  std::sort(candidates.begin(), candidates.end(),
            [](const IdleRange& a, const IdleRange& b) { return a.since < b.since; });
  std::vector<IdleRange> taken;
  for (IdleRange& range : candidates) {
    uint64_t& allowed = most->at(range.session);
    const uint64_t size = std::min({range.size, allowed, bytes});
    if (size == 0) continue;
    // Takes the end of the range: the beginning of a region is used first.
    range.offset += range.size - size;
    range.size = size;
    accounts_.at(range.session)
        .session->pools_.at(range.region_id)
        .free.Take(range.offset, range.size);
    allowed -= size;
    bytes -= size;
    taken.push_back(std::move(range));
  }
  return taken;
}

std::vector<IdleRange> MemoryBudget::TakeIdle(Clock::time_point before) {
  std::vector<IdleRange> candidates;
  std::map<uint64_t, uint64_t> all;
  for (const auto& [number, account] : accounts_) {
    if (account.session == nullptr) continue;
    all[number] = UINT64_MAX;
    account.session->AppendIdle(&candidates);
  }
  std::erase_if(candidates, [&](const IdleRange& range) { return range.since >= before; });
  const auto oldest =
      std::min_element(candidates.begin(), candidates.end(),
                       [](const IdleRange& a, const IdleRange& b) { return a.since < b.since; });
  if (oldest == candidates.end()) return {};
  std::vector<IdleRange> one;
  one.push_back(std::move(*oldest));
  return TakeOldest(std::move(one), UINT64_MAX, &all);
}

bool MemoryBudget::PunchAll(const std::vector<IdleRange>& ranges) {
  std::vector<bool> done;
  for (const IdleRange& range : ranges) {
    done.push_back(range.region->Punch(range.offset, range.size));
  }
  if (ranges.empty()) return true;
  const Lock lock(this);
  for (size_t i = 0; i < ranges.size(); ++i) Settle(ranges[i], done[i]);
  // The sessions of the ranges may wait for these very ranges.
  WakeWaiting(/*only_for_total=*/false);
  return std::find(done.begin(), done.end(), false) == done.end();
}

void MemoryBudget::Settle(const IdleRange& range, bool done) {
  if (range.for_reserved) to_be_punched_ -= range.size;
  const auto it = accounts_.find(range.session);
  // If the session has ended, the reaper counts the whole region.
  if (it == accounts_.end() || it->second.session == nullptr) return;
  // The region is still there: only wholly free regions are dropped, and this range was not free.
  it->second.session->pools_.at(range.region_id).free.Give(range.offset, range.size, done);
  if (done) SubtractResident(range.session, range.size);
}

bool MemoryBudget::MayAddRegion(size_t kept, size_t regions, bool* for_total) const {
  constexpr size_t kAlways = 8;
  const size_t share = std::max(kAlways, most_regions_ / 2 / std::max<size_t>(1, open_sessions_));
  *for_total = kept < share;
  return *for_total && Region::count() + kept < most_regions_ + regions;
}

void MemoryBudget::Trim(Clock::duration idle, Clock::duration forget) {
  const Clock::time_point now = Clock::now();
  {
    const Lock lock(this);
    for (const auto& [number, account] : accounts_) {
      if (account.session != nullptr) account.session->ForgetSizes(now - forget);
    }
  }
  // Punches one range at a time: a range cannot be used while it is being punched.
  while (true) {
    std::vector<IdleRange> oldest;
    {
      const Lock lock(this);
      oldest = TakeIdle(now - idle);
    }
    if (oldest.empty() || !PunchAll(oldest)) break;
  }
  // Regions that were unmapped meanwhile have freed descriptors, which others may wait for.
  const Lock lock(this);
  WakeWaiting(/*only_for_total=*/true);
}

void MemoryBudget::OnFreed(uint64_t session, uint64_t bytes, bool gone) {
  const Lock lock(this);
  SubtractResident(session, bytes);
  const auto it = accounts_.find(session);
  if (gone && it != accounts_.end() && --it->second.regions_left == 0) Erase(it->first);
  WakeWaiting(/*only_for_total=*/false);
}

void MemoryBudget::Erase(uint64_t session) {
  Update(&accounts_.at(session), 0, 0);
  accounts_.erase(session);
}

// --- waiting ---

void MemoryBudget::Wait(uint64_t session, WaitingAttempt attempt) {
  ++counters_.failed_attempts;
  const auto [it, added] = waiting_.emplace(session, attempt);
  if (added) return;
  // Several requests of a session may have tried: it is called as soon as one of them could
  // succeed.
  it->second.size = std::min(it->second.size, attempt.size);
  it->second.for_total |= attempt.for_total;
}

void MemoryBudget::WakeIfReady(const SessionMemory* session) {
  const auto it = waiting_.find(session->number_);
  if (it == waiting_.end() || !session->CouldAllocate(it->second)) return;
  waiting_.erase(it);
  ready_.push_back(session->number_);
  tell_ready_ = true;
}

void MemoryBudget::WakeWaiting(bool only_for_total) {
  std::vector<const SessionMemory*> asked;
  for (const auto& [number, attempt] : waiting_) {
    if (attempt.for_total || !only_for_total) asked.push_back(accounts_.at(number).session);
  }
  for (const SessionMemory* session : asked) WakeIfReady(session);
  if (outside_wanted_ > 0 && outside_wanted_ <= limit_ - std::min(limit_, committed_)) {
    outside_wanted_ = 0;
    tell_ready_ = true;
  }
}

std::string MemoryBudget::NewName() const {
  std::array<uint8_t, 16> random;
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw IoError(errno, "cannot get random bytes", "getrandom");
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string name = folder_ ? FolderName(name_prefix_) + "/" : "/" + name_prefix_ + "-";
  for (const uint8_t byte : random) {
    name += kHex[byte >> 4];
    name += kHex[byte & 15];
  }
  return name;
}

}  // namespace graphzero::shm
