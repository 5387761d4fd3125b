#include "io/faults.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace graphzero::io {
namespace {

std::mutex mutex;
std::vector<Fault> faults;

}  // namespace

void SetFault(const Fault& fault) {
  const std::lock_guard lock(mutex);
  faults.push_back(fault);
  faults_are_set = true;
}

void ClearFaults() {
  const std::lock_guard lock(mutex);
  faults.clear();
  faults_are_set = false;
}

int64_t ApplyFaults(const std::string& path, uint64_t offset, int64_t result) {
  const std::lock_guard lock(mutex);
  for (Fault& fault : faults) {
    const uint64_t last = offset + (result > 0 ? static_cast<uint64_t>(result) - 1 : 0);
    if (!path.ends_with(fault.path_suffix) || last < fault.begin || offset >= fault.end) continue;
    if (fault.times == 0) continue;
    --fault.times;
    return fault.result < 0 ? fault.result : std::min(fault.result, result);
  }
  return result;
}

}  // namespace graphzero::io
