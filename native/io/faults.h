// Simulated disk errors. Only tests set them; while none is set, they cost each read one more load.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace graphzero::io {

// Reads of files whose path ends with `path_suffix` that cover or start in [begin, end) give
// `result`: minus an errno, or a count of bytes for a read that comes up short.
struct Fault {
  std::string path_suffix;
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;
  int64_t result = 0;
  uint64_t times = UINT64_MAX;  // how often it happens
};

void SetFault(const Fault& fault);
void ClearFaults();

inline std::atomic<bool> faults_are_set = false;
inline bool FaultsAreSet() { return faults_are_set.load(std::memory_order_relaxed); }
// The result to use for a read of `path` at `offset` that returned `result`: that of the first
// fault that applies, or `result` itself.
int64_t ApplyFaults(const std::string& path, uint64_t offset, int64_t result);

}  // namespace graphzero::io
