#include "io/read_queue.h"

#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "base/errors.h"
#include "base/fork.h"
#include "io/pread_queue.h"
#include "io/uring_queue.h"

namespace graphzero::io {
namespace {

constexpr const char* kVariable = "GRAPHZERO_IO_ENGINE";

EngineChoice Choose() {
  const char* asked = std::getenv(kVariable);
  const std::string wanted = asked == nullptr ? "" : asked;
  if (wanted == "pread") return {"pread", std::string(kVariable) + " says so"};
  if (wanted != "" && wanted != "io_uring") {
    throw std::invalid_argument(std::string(kVariable) + " is " + wanted +
                                ", expected io_uring or pread");
  }
  const int refusal = UringQueue::Probe();
  if (refusal == 0) return {"io_uring", ""};
  if (wanted == "io_uring") {
    throw IoError(refusal, std::string(kVariable) + " asks for a ring, which the kernel refuses",
                  "io_uring");
  }
  return {"pread", std::string("the kernel refuses io_uring (") + std::strerror(refusal) + ")"};
}

// A child inherits what its parent chose. Not a function-local static: after a fork in the middle
// of the first choice, the child would wait for ever for the thread that was making it.
struct Chosen {
  explicit Chosen(const Chosen* parents)
      : choice(parents == nullptr ? Choose() : parents->choice) {}
  EngineChoice choice;
};
base::PerProcess<Chosen> chosen;

PreadQueue pread_queue;  // stateless

thread_local uint64_t read_jobs = 0;

// Closes the ring when its thread ends.
struct OwnQueue {
  std::unique_ptr<UringQueue> queue;
  uint64_t forks = 0;  // ForkCount() when the queue was made

  OwnQueue() = default;
  OwnQueue(const OwnQueue&) = delete;
  OwnQueue& operator=(const OwnQueue&) = delete;
  // In a forked child, other mappings may lie by now where the parent's ring was.
  ~OwnQueue() {
    if (queue && forks != base::ForkCount()) queue->Abandon();
  }

  UringQueue& Get() {
    if (queue && forks != base::ForkCount()) {
      queue->Abandon();
      queue.reset();
    }
    if (!queue || queue->broken()) {
      queue = std::make_unique<UringQueue>();
      forks = base::ForkCount();
    }
    return *queue;
  }
};

}  // namespace

const EngineChoice& ChosenEngine() { return chosen.Get().choice; }

ReadQueue& ThreadQueue() {
  ++read_jobs;
  if (ChosenEngine().name == "pread") return pread_queue;
  thread_local OwnQueue own;
  return own.Get();
}

void CountDiskWait() { ++read_jobs; }

uint64_t DiskWaits() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_majflt) + read_jobs;
}

}  // namespace graphzero::io
