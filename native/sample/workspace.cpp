#include "sample/workspace.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace graphzero::sample {
namespace {

constexpr size_t kMostKept = 16;
constexpr size_t kLargestKept = size_t{256} << 20;

struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Workspace>> free;
};

std::atomic<Pool*> current = nullptr;

Pool& Shared() {
  static std::once_flag once;
  std::call_once(once, [] {
    current = new Pool;
    // A thread of the parent may have held the lock at the fork; the child starts with a new pool.
    pthread_atfork(nullptr, nullptr, [] { current = new Pool; });
  });
  return *current;
}

}  // namespace

size_t Workspace::bytes() const {
  return nodes.bytes() + occurrence.bytes() + tree.bytes() + first_edge.bytes() + slots.bytes() +
         neighbours.bytes() + row_begin.bytes() + row_degree.bytes() + short_by.bytes() +
         drawn.bytes() + narrow_table.bytes() + wide_table.bytes();
}

WorkspacePointer TakeWorkspace() {
  Pool& pool = Shared();
  {
    const std::lock_guard lock(pool.mutex);
    if (!pool.free.empty()) {
      WorkspacePointer taken(pool.free.back().release());
      pool.free.pop_back();
      return taken;
    }
  }
  return WorkspacePointer(new Workspace);
}

void ReturnWorkspace::operator()(Workspace* workspace) const {
  std::unique_ptr<Workspace> owned(workspace);
  if (owned->bytes() > kLargestKept) return;
  Pool& pool = Shared();
  const std::lock_guard lock(pool.mutex);
  if (pool.free.size() < kMostKept) pool.free.push_back(std::move(owned));
}

}  // namespace graphzero::sample
