#include "io/uring_queue.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <numeric>

#include "io/read_result.h"

namespace graphzero::io {
namespace {

// Completions to wait for at a time. Each wait may be a context switch, and the disk stays busy
// while an eighth of the queue is empty.
constexpr uint32_t kWaitFor = 32;
const std::string kWhere = "io_uring";

int Setup(uint32_t entries, abi::Params* params) {
  // From kernel 6.1 on: completions are handled when this thread asks for them, and only then.
  *params = {};
  params->flags = abi::kSetupClamp | abi::kSetupSingleIssuer | abi::kSetupDeferTaskrun;
  long fd = ::syscall(abi::kSysSetup, entries, params);
  if (fd < 0 && errno == EINVAL) {
    *params = {};
    params->flags = abi::kSetupClamp;
    fd = ::syscall(abi::kSysSetup, entries, params);
  }
  return static_cast<int>(fd);
}

uint32_t LoadAcquire(uint32_t* at) {
  return std::atomic_ref<uint32_t>(*at).load(std::memory_order_acquire);
}

void StoreRelease(uint32_t* at, uint32_t value) {
  std::atomic_ref<uint32_t>(*at).store(value, std::memory_order_release);
}

}  // namespace

int UringQueue::Probe() {
  try {
    UringQueue queue;
    return 0;
  } catch (const IoError& error) {
    return error.code();
  }
}

UringQueue::UringQueue() : slots_(kMostDepth), free_slots_(kMostDepth) {
  abi::Params params;
  ring_ = base::Fd(Setup(kMostDepth, &params));
  if (!ring_.valid()) throw IoError(errno, "cannot set up a ring", kWhere);
  // Kernels have both from 5.5 on. Without kFeatNoDrop, completions could be lost.
  const uint32_t needed = abi::kFeatSingleMmap | abi::kFeatNoDrop;
  if ((params.features & needed) != needed || params.sq_entries < kMostDepth) {
    throw IoError(ENOSYS, "the kernel's rings are too old", kWhere);
  }
  MapRings(params);
}

void UringQueue::MapRings(const abi::Params& params) {
  rings_bytes_ = std::max(params.sq.array + params.sq_entries * sizeof(uint32_t),
                          params.cq.cqes + params.cq_entries * sizeof(abi::Completion));
  submissions_bytes_ = params.sq_entries * sizeof(abi::Submission);
  const auto map = [&](size_t bytes, uint64_t offset) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      ring_.get(), static_cast<off_t>(offset));
    if (at == MAP_FAILED) throw IoError(errno, "cannot map a ring", kWhere);
    // A forked child must not write to its parent's ring.
    ::madvise(at, bytes, MADV_DONTFORK);
    return static_cast<std::byte*>(at);
  };
  rings_ = map(rings_bytes_, abi::kOffsetSqRing);
  try {
    submissions_ = reinterpret_cast<abi::Submission*>(map(submissions_bytes_, abi::kOffsetSqes));
  } catch (...) {
    ::munmap(rings_, rings_bytes_);
    throw;
  }
  const auto word = [&](uint32_t offset) { return reinterpret_cast<uint32_t*>(rings_ + offset); };
  sq_tail_ = word(params.sq.tail);
  sq_array_ = word(params.sq.array);
  sq_mask_ = *word(params.sq.ring_mask);
  cq_head_ = word(params.cq.head);
  cq_tail_ = word(params.cq.tail);
  cq_mask_ = *word(params.cq.ring_mask);
  completions_ = reinterpret_cast<abi::Completion*>(rings_ + params.cq.cqes);
  for (uint32_t i = 0; i < params.sq_entries; ++i) sq_array_[i] = i;
}

UringQueue::~UringQueue() {
  if (abandoned_ || rings_ == nullptr) return;
  ::munmap(submissions_, submissions_bytes_);
  ::munmap(rings_, rings_bytes_);
}

void UringQueue::Push(const Source& source, uint32_t slot) {
  const Read& read = slots_[slot].read;
  const uint32_t tail = *sq_tail_;  // only this thread writes it
  abi::Submission& submission = submissions_[tail & sq_mask_];
  submission = {};
  submission.opcode = abi::kOpRead;
  submission.fd = source.fd;
  submission.offset = read.offset;
  submission.address = reinterpret_cast<uint64_t>(read.to);
  submission.length = read.bytes;
  submission.user_data = slot;
  StoreRelease(sq_tail_, tail + 1);
  ++pushed_;
}

void UringQueue::Enter(uint32_t wanted, uint32_t under_way) {
  for (;;) {
    const uint32_t in_kernel = under_way - pushed_;
    const uint32_t offered = refused_ && in_kernel > 0 ? 0 : pushed_;
    const long taken =
        ::syscall(abi::kSysEnter, ring_.get(), offered, wanted, abi::kEnterGetEvents, nullptr, 0);
    refused_ = false;
    if (taken >= 0) {
      pushed_ -= static_cast<uint32_t>(taken);
      return;
    }
    if (errno == EINTR) continue;
    // The kernel has no memory for more requests, or completions must be taken first: the reads
    // under way will make room as they complete.
    const bool may_pass = errno == EAGAIN || errno == EBUSY || errno == ENOMEM;
    broken_ = true;
    if (in_kernel == 0) throw IoError(errno, "cannot submit reads", kWhere);
    // Nobody can stop the reads under way, which write to memory that the caller would free.
    if (!may_pass) std::abort();
    broken_ = false;
    refused_ = true;
    wanted = 1;
  }
}

// One run of a job over the ring.
class UringQueue::Pass {
 public:
  Pass(UringQueue& queue, const Source& source, ReadJob& job, uint32_t depth)
      : queue_(queue), source_(source), job_(job) {
    queue_.free_slots_.resize(depth);
    std::iota(queue_.free_slots_.rbegin(), queue_.free_slots_.rend(), 0u);
  }

  void Run() {
    for (;;) {
      Fill();
      if (under_way_ == 0) break;
      queue_.Enter(std::min(under_way_, more_ ? kWaitFor : under_way_ / 2 + 1), under_way_);
      Reap();
    }
    if (error_) throw *error_;
  }

 private:
  void Fill() {
    while (more_ && !error_ && !queue_.free_slots_.empty()) {
      const uint32_t number = queue_.free_slots_.back();
      Slot& slot = queue_.slots_[number];
      more_ = job_.Next(number, &slot.read);
      if (!more_) return;
      queue_.free_slots_.pop_back();
      slot.started = NowNanoseconds();
      queue_.Push(source_, number);
      ++under_way_;
    }
    if (error_) more_ = false;
  }

  void Reap() {
    uint32_t head = *queue_.cq_head_;  // only this thread writes it
    const uint32_t tail = LoadAcquire(queue_.cq_tail_);
    const uint64_t now = NowNanoseconds();
    for (; head != tail; ++head) {
      const abi::Completion& completion = queue_.completions_[head & queue_.cq_mask_];
      Complete(static_cast<uint32_t>(completion.user_data), completion.result, now);
    }
    StoreRelease(queue_.cq_head_, head);
  }

  void Complete(uint32_t number, int32_t result, uint64_t now) {
    Slot& slot = queue_.slots_[number];
    const Outcome outcome = Judge(source_, slot.read, result, error_);
    if (outcome == Outcome::kAgain && !error_) {
      queue_.Push(source_, number);
      return;
    }
    --under_way_;
    queue_.free_slots_.push_back(number);
    if (outcome == Outcome::kDone) job_.Done(number, now - slot.started);
  }

  UringQueue& queue_;
  const Source& source_;
  ReadJob& job_;
  uint32_t under_way_ = 0;
  bool more_ = true;
  std::optional<IoError> error_;
};

void UringQueue::Run(const Source& source, ReadJob& job, uint32_t depth) {
  Pass(*this, source, job, std::clamp(depth, 1u, kMostDepth)).Run();
}

}  // namespace graphzero::io
