#include "sample/workspace.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "base/call.h"

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

bool DropIdleWorkspace();

Pool& Shared() {
  static std::once_flag once;
  std::call_once(once, [] {
    current = new Pool;
    base::SetWorkReclaimer(DropIdleWorkspace);
    // A thread of the parent may have held the lock at the fork; the child starts with a new pool.
    pthread_atfork(nullptr, nullptr, [] { current = new Pool; });
  });
  return *current;
}

bool DropIdleWorkspace() {
  Pool& pool = Shared();
  std::unique_ptr<Workspace> dropped;
  const std::lock_guard lock(pool.mutex);
  if (pool.free.empty()) return false;
  dropped = std::move(pool.free.back());
  pool.free.pop_back();
  pool.bytes -= dropped->bytes();
  base::AddIdleWork(-static_cast<int64_t>(dropped->bytes()));
  return true;
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
      base::AddIdleWork(-static_cast<int64_t>(taken->bytes()));
      if (base::Call* const call = base::CurrentCall()) call->Adopt(taken->bytes());
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
  base::AddIdleWork(static_cast<int64_t>(bytes));
  if (base::Call* const call = base::CurrentCall()) call->Disown(bytes);
}

void SetWorkspaceLimit(size_t bytes) { most_kept_bytes = bytes; }

WorkspaceUsage GetWorkspaceUsage() {
  Pool& pool = Shared();
  const std::lock_guard lock(pool.mutex);
  return {pool.free.size(), pool.bytes};
}

}  // namespace graphzero::sample
