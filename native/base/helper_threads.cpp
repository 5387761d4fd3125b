#include "base/helper_threads.h"

#include <exception>
#include <optional>

#include "base/fault_guard.h"

namespace graphzero::base {

std::vector<std::jthread> StartHelpers(int count, const std::function<void(int rank)>& work) {
  std::vector<std::jthread> helpers;
  if (count <= 0) return helpers;
  helpers.reserve(static_cast<size_t>(count));
  const bool reads_mappings = MappedAccess::Active();
  for (int rank = 1; rank <= count; ++rank) {
    try {
      helpers.emplace_back([&work, rank, reads_mappings] {
        std::optional<MappedAccess> access;
        if (reads_mappings) access.emplace();
        work(rank);
      });
    } catch (const std::exception&) {  // refused, or there is no memory for it
      break;
    }
  }
  return helpers;
}

}  // namespace graphzero::base
