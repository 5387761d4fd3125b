#include "compile/job.h"

#include <algorithm>
#include <stdexcept>

namespace graphzero::compile {

Resources Resources::Make(uint64_t memory, int threads, std::string temp_dir) {
  if (memory < kMinimumMemory) {
    throw std::invalid_argument("found a memory limit of " + std::to_string(memory) +
                                " bytes, expected at least " +
                                std::to_string(kMinimumMemory >> 20) + " MiB");
  }
  if (threads < 1) {
    throw std::invalid_argument("found " + std::to_string(threads) +
                                " threads, expected at least 1");
  }
  const auto most = std::min<uint64_t>(memory / kMemoryPerThread, INT32_MAX);
  return {memory, std::min(threads, static_cast<int>(most)), std::move(temp_dir)};
}

}  // namespace graphzero::compile
