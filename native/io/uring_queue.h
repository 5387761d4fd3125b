// Reads through io_uring: one thread, one ring, up to 256 reads under way.
#pragma once

#include <memory>
#include <vector>

#include "base/file.h"
#include "io/read_queue.h"
#include "io/uring_abi.h"

namespace graphzero::io {

// Belongs to the thread that made it: the kernel is told that no other thread submits, which saves
// locks and interrupts.
class UringQueue : public ReadQueue {
 public:
  // 0, or the errno with which the kernel refuses rings (EPERM and ENOSYS in many containers).
  static int Probe();

  UringQueue();  // throws IoError
  ~UringQueue() override;
  UringQueue(const UringQueue&) = delete;
  UringQueue& operator=(const UringQueue&) = delete;

  void Run(const Source& source, ReadJob& job, uint32_t depth) override;

  // A ring that the kernel failed to serve may still hold submissions: it must not be used again.
  bool broken() const { return broken_; }
  // For a forked child, in which the parent's ring is not mapped.
  void Abandon() { abandoned_ = true; }

 private:
  struct Slot {
    Read read;
    uint64_t started = 0;
  };
  class Pass;

  void MapRings(const abi::Params& params);
  void Push(const Source& source, uint32_t slot);
  // Submits what was pushed and waits for `wanted` completions of the reads under way.
  void Enter(uint32_t wanted, uint32_t under_way);

  base::Fd ring_;
  std::byte* rings_ = nullptr;
  size_t rings_bytes_ = 0;
  abi::Submission* submissions_ = nullptr;
  size_t submissions_bytes_ = 0;
  uint32_t* sq_tail_ = nullptr;
  uint32_t* sq_array_ = nullptr;
  uint32_t sq_mask_ = 0;
  uint32_t* cq_head_ = nullptr;
  uint32_t* cq_tail_ = nullptr;
  uint32_t cq_mask_ = 0;
  abi::Completion* completions_ = nullptr;

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  uint32_t pushed_ = 0;   // reads that were pushed and not submitted yet
  bool refused_ = false;  // the kernel took no more reads the last time
  bool broken_ = false;
  bool abandoned_ = false;
};

}  // namespace graphzero::io
