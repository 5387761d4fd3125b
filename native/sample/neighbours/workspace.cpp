#include "sample/neighbours/workspace.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/call.h"
#include "base/fork.h"

namespace graphzero::sample {
namespace {

constexpr size_t kMostKept = 16;
std::atomic<size_t> most_kept_bytes = size_t{512} << 20;

bool DropIdleWorkspace();

struct Pool {
  Pool() { base::SetWorkReclaimer(DropIdleWorkspace); }

  std::mutex mutex;
  std::vector<std::unique_ptr<Workspace>> free;
  size_t bytes = 0;  // of all workspaces in `free`
};

base::PerProcess<Pool> current;

Pool& Shared() { return current.Get(); }

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

size_t ThreadScratch::bytes() const {
  return uniform.bytes() + weighted.bytes() + labor.bytes() + base::BytesOf(without_excluded) +
         narrow_row_ids.bytes() + wide_row_ids.bytes() + row_weights.bytes() + row_slots.bytes();
}

size_t TypeNodes::bytes() const {
  return nodes.bytes() + occurrence.bytes() + tree.bytes() + narrow.bytes() + wide.bytes();
}

size_t RelationEdges::bytes() const {
  return first_edge.bytes() + slots.bytes() + drawn.bytes() + neighbours.bytes() + scales.bytes();
}

void Workspace::Extend(size_t num_types, size_t num_relations, size_t num_threads) {
  types.resize(std::max(types.size(), num_types));
  relations.resize(std::max(relations.size(), num_relations));
  scratch.resize(std::max(scratch.size(), num_threads));
}

size_t Workspace::bytes() const {
  size_t bytes = row_begin.bytes() + row_degree.bytes() + short_by.bytes();
  for (const TypeNodes& type : types) bytes += type.bytes();
  for (const RelationEdges& relation : relations) bytes += relation.bytes();
  for (const ThreadScratch& thread : scratch) bytes += thread.bytes();
  return bytes;
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
