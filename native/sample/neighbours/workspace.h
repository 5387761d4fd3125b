// Working memory of neighbour sampling, reused between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "sample/id_table.h"
#include "sample/neighbours/tree_tables.h"
#include "sample/pick/labor_pick.h"
#include "sample/pick/uniform_pick.h"
#include "sample/pick/weighted_pick.h"

namespace graphzero::sample {

// What one thread of a call needs for itself.
struct ThreadScratch {
  UniformPicker uniform;
  WeightedPicker weighted;
  base::WorkVector<float> without_excluded;  // weights of the current row, zero where excluded
  LaborPicker labor;
  // A copy of the current row, made if LABOR cannot pick from the row as it lies in the file: some
  // of its slots are excluded, or only the pieces of a window are looked at.
  base::Buffer<uint32_t> narrow_row_ids;
  base::Buffer<uint64_t> wide_row_ids;
  base::Buffer<float> row_weights;
  base::Buffer<uint64_t> row_slots;  // if some are excluded

  template <class Id>
  base::Buffer<Id>& row_ids() {
    if constexpr (sizeof(Id) == sizeof(uint32_t)) {
      return narrow_row_ids;
    } else {
      return wide_row_ids;
    }
  }

  size_t bytes() const;
};

// From global to local id, for nodes of one type. A call uses one of the two.
template <class Key>
struct LocalIds {
  IdTable<Key> all;
  TreeTables<Key> in_trees;  // of a disjoint sample

  size_t bytes() const { return all.bytes() + in_trees.bytes(); }
};

// The nodes of one type in the sample so far: seeds, then by discovery. Positions are local ids.
struct TypeNodes {
  base::Buffer<uint64_t> nodes;       // global ids
  base::Buffer<uint32_t> occurrence;  // of a seed among equal seeds, from 0
  base::Buffer<LocalId> tree;         // of a disjoint sample: the seed that a node was found from
  // From global to local id. A call uses `narrow` if all ids of the graph fit, else `wide`.
  LocalIds<uint32_t> narrow;
  LocalIds<uint64_t> wide;

  template <class Key>
  LocalIds<Key>& local_ids() {
    if constexpr (sizeof(Key) == sizeof(uint32_t)) {
      return narrow;
    } else {
      return wide;
    }
  }

  size_t bytes() const;
};

// The edges of one relation in the sample so far. Node i of the type that the relation expands has
// the edges [first_edge[i], first_edge[i + 1]).
struct RelationEdges {
  base::Buffer<uint64_t> first_edge;
  base::Buffer<uint64_t> slots;      // where in the adjacency each edge was found
  base::Buffer<uint64_t> drawn;      // global ids of the neighbours, for edges of the last hop
  base::Buffer<LocalId> neighbours;  // local ids, one per edge
  base::Buffer<float> scales;        // of LABOR samples by weight, one per edge

  size_t bytes() const;
};

// All sizes depend on the batch, none on the graph. Used by one call at a time.
struct Workspace {
  std::vector<TypeNodes> types;
  std::vector<RelationEdges> relations;

  // The hop of one relation that is being drawn: one entry per expanded node.
  base::Buffer<uint64_t> row_begin;
  base::Buffer<uint64_t> row_degree;
  base::Buffer<uint32_t> short_by;  // edges not drawn because of zero weights

  std::vector<ThreadScratch> scratch;

  // Makes sure that there are at least this many types, relations and threads.
  void Extend(size_t num_types, size_t num_relations, size_t num_threads);
  size_t bytes() const;
};

// Takes a workspace from the pool of this process, or makes one; returns it when destroyed. The
// pool keeps a few, but none that a huge request has made too large. Thread-safe, also after a
// fork.
struct ReturnWorkspace {
  void operator()(Workspace* workspace) const;
};
using WorkspacePointer = std::unique_ptr<Workspace, ReturnWorkspace>;
WorkspacePointer TakeWorkspace();

// Limits the memory of all idle workspaces together. Takes effect as workspaces are returned.
void SetWorkspaceLimit(size_t bytes);

struct WorkspaceUsage {
  size_t kept;  // idle workspaces
  size_t bytes;
};
WorkspaceUsage GetWorkspaceUsage();

}  // namespace graphzero::sample
