// Working memory of neighbour sampling, reused between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "sample/id_table.h"
#include "sample/uniform_pick.h"
#include "sample/weighted_pick.h"

namespace graphzero::sample {

// What one thread of a call needs for itself.
struct ThreadScratch {
  UniformPicker uniform;
  WeightedPicker weighted;
  std::vector<float> without_excluded;  // weights of the row at hand, zero where excluded
};

// All sizes follow the batch, none the graph. Used by one call at a time.
struct Workspace {
  // The sample so far. Node i of the batch has the edges [first_edge[i], first_edge[i + 1]).
  base::Buffer<uint64_t> nodes;       // global ids: seeds, then by discovery
  base::Buffer<uint32_t> occurrence;  // of a seed among equal seeds, from 0
  base::Buffer<LocalId> tree;         // of a disjoint sample: the seed that a node was found from
  base::Buffer<uint64_t> first_edge;
  base::Buffer<uint64_t> slots;      // where in the adjacency each edge was found
  base::Buffer<LocalId> neighbours;  // local ids, one per edge

  // The hop being drawn: one entry per expanded node, one per edge.
  base::Buffer<uint64_t> row_begin;
  base::Buffer<uint64_t> row_degree;
  base::Buffer<uint32_t> short_by;  // edges that zero weights left out
  base::Buffer<uint64_t> drawn;     // global ids of the neighbours

  IdTable<uint32_t> narrow_table;
  IdTable<uint64_t> wide_table;
  std::vector<ThreadScratch> scratch;

  size_t bytes() const;
};

// Takes a workspace from the pool of this process, or makes one; returns it when destroyed. A few
// are kept, and not those that huge requests have blown up. Thread-safe, also after a fork.
struct ReturnWorkspace {
  void operator()(Workspace* workspace) const;
};
using WorkspacePointer = std::unique_ptr<Workspace, ReturnWorkspace>;
WorkspacePointer TakeWorkspace();

// What workspaces that nobody uses may hold, all together. Takes effect as they are returned.
void SetWorkspaceLimit(size_t bytes);

struct WorkspaceUsage {
  size_t kept;  // that nobody uses
  size_t bytes;
};
WorkspaceUsage GetWorkspaceUsage();

}  // namespace graphzero::sample
