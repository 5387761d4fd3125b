// Which queue a thread gets.
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "base/errors.h"
#include "io/disk_waits.h"
#include "io/pread_queue.h"
#include "io/read_queue.h"
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

std::atomic<uint64_t> forks = 0;

// Closes the ring when its thread ends.
struct OwnQueue {
  std::unique_ptr<UringQueue> queue;
  uint64_t made_after_forks = 0;

  UringQueue& Get() {
    if (queue && made_after_forks != forks) {
      queue->Abandon();
      queue.reset();
    }
    if (!queue || queue->broken()) {
      queue = std::make_unique<UringQueue>();
      made_after_forks = forks;
    }
    return *queue;
  }
};

}  // namespace

const EngineChoice& ChosenEngine() {
  static const EngineChoice choice = Choose();
  return choice;
}

ReadQueue& ThreadQueue() {
  CountReadJob();
  static PreadQueue threads;
  if (ChosenEngine().name == "pread") return threads;
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { ++forks; }); });
  thread_local OwnQueue own;
  return own.Get();
}

}  // namespace graphzero::io
