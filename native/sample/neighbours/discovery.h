// Local ids: the nodes of one type, numbered in the order of their discovery.
//
// Seeds come first, then the neighbours of the drawn edges, in the order of the edges. Each id has
// one number, or one in each tree if the sample is disjoint. One thread does this for a type,
// because the order of discovery is part of the result. Merging in order beats a parallel table
// with atomics, whose order would also depend on the threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sample/neighbours/workspace.h"

namespace graphzero::sample {

// The edges that one hop drew along one relation, in the order of the expanded nodes.
struct DiscoveredEdges {
  std::span<const uint64_t> neighbours;  // global ids
  LocalId* locals;                       // output: the local id of each
  // The nodes [begin, end) were expanded. Their type may be the one whose nodes are discovered.
  const TypeNodes& expanded;
  size_t begin;
  size_t end;
  const uint64_t* first_edge;  // of each expanded node, as in RelationEdges
};

// `Key` is a type that all ids fit into. The state is in `nodes`, of which the first `num_nodes`
// exist.
template <class Key>
class Discovery {
 public:
  Discovery(TypeNodes& nodes, uint64_t& num_nodes, bool disjoint)
      : nodes_(nodes),
        tables_(nodes.local_ids<Key>()),
        num_nodes_(num_nodes),
        disjoint_(disjoint) {}

  // Makes every occurrence of a seed a node. A neighbour that is a repeated seed gets the local id
  // of its first occurrence.
  void AddSeeds(std::span<const int64_t> seeds);
  // For a disjoint sample of num_trees trees: seed i becomes the root of tree first_tree + i.
  void AddRoots(std::span<const int64_t> seeds, size_t first_tree, size_t num_trees);

  // Makes room in `nodes` for the neighbours of this many edges, but not in the tables of ids.
  void Reserve(size_t edges);
  // Gives the neighbours of these edges their local ids and adds those that are new. Needs room for
  // them. Nodes of other types may be discovered at the same time.
  void Add(const DiscoveredEdges& edges);

 private:
  // Consecutive edges of one tree.
  struct Run {
    LocalId tree;
    size_t begin;
    size_t end;

    size_t size() const { return end - begin; }
  };

  // Returns the next run that has edges, from expanded node `*node` on, and moves `*node` behind
  // it. The run is empty if there is none.
  static Run NextRun(const DiscoveredEdges& edges, size_t* node);
  void AddTreeByTree(const DiscoveredEdges& edges);
  // Adds the neighbours [begin, end), which all belong into one table.
  void AddRange(const typename IdTable<Key>::View& table, const DiscoveredEdges& edges,
                size_t begin, size_t end);
  void MakeRoom(size_t count);

  TypeNodes& nodes_;
  LocalIds<Key>& tables_;
  uint64_t& num_nodes_;
  const bool disjoint_;
};

}  // namespace graphzero::sample
