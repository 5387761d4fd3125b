#include "base/call.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include "base/result_memory.h"
#include "base/text.h"

namespace graphzero::base {
namespace {

thread_local Call* current = nullptr;
std::atomic<uint64_t> calls_at_disk = 0;

std::atomic<uint64_t> limit = UINT64_MAX;
std::atomic<uint64_t> claimed = 0;
std::atomic<uint64_t> used = 0;
std::atomic<int64_t> idle = 0;
std::atomic<bool (*)()> reclaimer = nullptr;

// malloc keeps blocks smaller than this when they are freed. Batches of usual size reuse them and
// cause no page faults.
[[maybe_unused]] constexpr int kLargeBlock = 4 << 20;

// After a refusal a call asks for twice its last reservation, even if it needs less, up to this
// part (an eighth) of all working memory.
constexpr uint64_t kLittle = 8;

// Adds `bytes` to `used` if the sum stays within `most`; returns whether it did.
bool TryUse(uint64_t bytes, uint64_t most) {
  uint64_t before = used.load();
  do {
    if (bytes > most || before > most - bytes) return false;
  } while (!used.compare_exchange_weak(before, before + bytes));
  return true;
}

// The same, but frees idle memory, piece by piece, until there is enough.
bool TryUseAll(uint64_t bytes, uint64_t most) {
  if (TryUse(bytes, most)) return true;
  const auto reclaim = reclaimer.load();
  const CallScope nobody(nullptr);  // idle memory is not charged to this call
  while (reclaim != nullptr && reclaim()) {
    if (TryUse(bytes, most)) return true;
  }
  return false;
}

uint64_t Idle() { return static_cast<uint64_t>(std::max<int64_t>(0, idle.load())); }

// Whether, after its client takes `bytes` more, as much stays free for others as the client already
// holds.
bool LeavesEnough(const Share& share, uint64_t bytes, uint64_t most) {
  const uint64_t taken = used.load() - std::min(used.load(), Idle());
  const auto held = static_cast<uint64_t>(std::max<int64_t>(0, share.bytes.load()));
  return taken <= most && held <= most - taken && bytes <= most - taken - held;
}

// Subtracts up to `bytes` from `credit`; returns how many.
uint64_t Spend(std::atomic<uint64_t>& credit, uint64_t bytes) {
  uint64_t before = credit.load();
  uint64_t spent;
  do {
    spent = std::min(before, bytes);
  } while (!credit.compare_exchange_weak(before, before - spent));
  return spent;
}

}  // namespace

Call* CurrentCall() { return current; }

DiskWaitScope::DiskWaitScope() : call_(current) {
  if (call_ != nullptr && call_->threads_at_disk_.fetch_add(1) == 0) ++calls_at_disk;
}

DiskWaitScope::~DiskWaitScope() {
  if (call_ != nullptr && call_->threads_at_disk_.fetch_sub(1) == 1) --calls_at_disk;
}

uint64_t CallsAtDisk() { return calls_at_disk.load(); }

CallScope::CallScope(Call* call) : before_(std::exchange(current, call)) {}
CallScope::~CallScope() { current = before_; }

Call::~Call() { LetGo(); }

bool Call::Reserve(uint64_t bytes) {
  LetGo();
  if (!TryUseAll(bytes, limit.load())) return false;
  reserved_ = bytes;
  credit_ = bytes;
  return true;
}

uint64_t Call::KeepReserved(uint64_t bytes) noexcept {
  const uint64_t held = static_cast<uint64_t>(std::max<int64_t>(0, held_.load()));
  const uint64_t has = credit_.load() + held;
  // Threads that free at the same moment may keep too much together; LetGo() gives all of it back.
  const uint64_t kept = std::min(bytes, reserved_ - std::min(reserved_, has));
  credit_.fetch_add(kept);
  return kept;
}

void Call::LetGo() {
  reserved_ = 0;
  used.fetch_sub(credit_.exchange(0));
  share_->bytes.fetch_sub(held_.exchange(0));
}

void SetWorkLimit(uint64_t bytes) { limit = bytes; }
void SetWorkClaim(uint64_t bytes) { claimed = bytes; }
void SetWorkReclaimer(bool (*reclaim)()) { reclaimer = reclaim; }
void AddIdleWork(int64_t bytes) { idle.fetch_add(bytes); }
WorkMemoryUsage GetWorkMemory() { return {limit.load(), used.load(), Idle()}; }

void ReturnFreedMemory() {
  SetResultMemoryLimit(0);
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
#endif
}

void Call::Adopt(uint64_t bytes) {
  held_.fetch_add(static_cast<int64_t>(bytes));
  share_->bytes.fetch_add(static_cast<int64_t>(bytes));
}

void Call::Disown(uint64_t bytes) {
  held_.fetch_sub(static_cast<int64_t>(bytes));
  share_->bytes.fetch_sub(static_cast<int64_t>(bytes));
}

void TakeWork(uint64_t bytes) {
  Call* const call = current;
  if (call == nullptr) {
    used.fetch_add(bytes);
    return;
  }
  const uint64_t spent = Spend(call->credit_, bytes);
  const uint64_t most = limit.load();
  // The claim does not bind a call with reserved memory: the claim was made for that call, or the
  // call made its reservation before the claim.
  const uint64_t kept = spent > 0 ? 0 : std::min(claimed.load(), most);
  const bool fair = spent > 0 || LeavesEnough(*call->share_, bytes, most);
  if (!fair || !TryUseAll(bytes - spent, most - kept)) {
    call->credit_.fetch_add(spent);
    const uint64_t held = static_cast<uint64_t>(std::max<int64_t>(0, call->held_.load()));
    // Each attempt begins anew. A call with a small reservation asks for twice as much the next
    // time, however little it was refused now.
    call->needed_ = std::max(held + bytes, std::min(2 * call->reserved_, most / kLittle));
    throw NeedsMemory("the request needs at least " + MiB(held + bytes) +
                      " of working memory, of which the daemon has " + MiB(most) +
                      " for all requests; use fewer seeds or a smaller fanout, or raise "
                      "--work-memory");
  }
  call->Adopt(bytes);
}

void GiveWork(uint64_t bytes) noexcept {
  if (current != nullptr) {
    current->Disown(bytes);
    bytes -= current->KeepReserved(bytes);
  }
  used.fetch_sub(bytes);
}

}  // namespace graphzero::base
