#include "io/disk_waits.h"

#include <sys/resource.h>

namespace graphzero::io {
namespace {

thread_local uint64_t read_jobs = 0;

}  // namespace

uint64_t DiskWaits() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_majflt) + read_jobs;
}

void CountReadJob() { ++read_jobs; }

}  // namespace graphzero::io
