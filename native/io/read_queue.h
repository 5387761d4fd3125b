// Keeps many reads of one file under way at a time, so that the disk stays busy.
//
// A job hands out reads one by one and is told as each ends, in any order; a queue keeps as many
// under way as its depth allows. Two queues do the same: io_uring (uring_queue.h), and threads that
// call pread(2) where io_uring is not permitted (pread_queue.h). Which one a process uses is
// decided once, by trying; README.md beside this file has the reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace graphzero::io {

// The file that a queue reads. Offsets and lengths are multiples of `align`, which is 1, or more
// for a descriptor with O_DIRECT.
struct Source {
  int fd;
  uint32_t align;
  const std::string& path;  // for messages
};

struct Read {
  uint64_t offset = 0;
  std::byte* to = nullptr;
  uint32_t bytes = 0;
  // The read is complete once this many bytes have arrived: a read of whole sectors may go beyond
  // the end of the file, and then gets fewer than `bytes`.
  uint32_t least = 0;
};

// Calls come one at a time, though maybe from different threads. They do not throw.
class ReadJob {
 public:
  virtual ~ReadJob() = default;
  // Fills in the next read; false if no reads are left. `slot` is below the depth of the queue's
  // Run(), and belongs to this read until Done(slot).
  virtual bool Next(uint32_t slot, Read* read) noexcept = 0;
  // The read is complete: at least `least` bytes are there. It took `nanoseconds`.
  virtual void Done(uint32_t slot, uint64_t nanoseconds) noexcept = 0;
};

class ReadQueue {
 public:
  static constexpr uint32_t kMostDepth = 256;

  virtual ~ReadQueue() = default;
  // Performs the whole job with at most `depth` reads under way. If one fails, hands out no more,
  // waits for those under way (they write to the job's memory) and throws IoError with the file and
  // the offset.
  virtual void Run(const Source& source, ReadJob& job, uint32_t depth) = 0;
};

// The queue of the calling thread, for one job. After a fork the child makes one of its own.
ReadQueue& ThreadQueue();

// A count of the calling thread's page faults that read from a disk, and of its calls of
// ThreadQueue() (what it then reads may be in memory all the same). It tells a thread that serves
// everyone, and must not wait for a disk, whether it did. Costs a system call of less than a
// microsecond.
uint64_t DiskWaits();
// Counts a wait for reads that another thread does for this one.
void CountDiskWait();

// Which kind of queue this process uses: "io_uring" or "pread", and why not io_uring: the error of
// the kernel, or the environment variable GRAPHZERO_IO_ENGINE that says so; "" for io_uring.
struct EngineChoice {
  std::string name;
  std::string reason;
};
// Throws std::invalid_argument if the variable has another value than those two, IoError if it
// demands io_uring and the kernel refuses.
const EngineChoice& ChosenEngine();

}  // namespace graphzero::io
