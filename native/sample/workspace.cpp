#include "sample/workspace.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace graphzero::sample {
namespace {

constexpr size_t kMostKept = 16;
std::atomic<size_t> most_kept_bytes = size_t{512} << 20;

struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Workspace>> free;
  size_t bytes = 0;  // of all in `free`
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
      pool.bytes -= taken->bytes();
      return taken;
    }
  }
  return WorkspacePointer(new Workspace);
}

void ReturnWorkspace::operator()(Workspace* workspace) const {
  std::unique_ptr<Workspace> owned(workspace);
  const size_t bytes = owned->bytes();
  Pool& pool = Shared();
  const std::lock_guard lock(pool.mutex);
  if (pool.free.size() == kMostKept || pool.bytes + bytes > most_kept_bytes) return;
  pool.free.push_back(std::move(owned));
  pool.bytes += bytes;
}

void SetWorkspaceLimit(size_t bytes) { most_kept_bytes = bytes; }

WorkspaceUsage GetWorkspaceUsage() {
  Pool& pool = Shared();
  const std::lock_guard lock(pool.mutex);
  return {pool.free.size(), pool.bytes};
}

}  // namespace graphzero::sample
