#include "sample/neighbours/discovery.h"

#include <algorithm>

#include "base/threads.h"

namespace graphzero::sample {
namespace {

// Table entries are prefetched this many edges ahead.
constexpr size_t kTableAhead = 24;

}  // namespace

template <class Key>
void Discovery<Key>::AddSeeds(std::span<const int64_t> seeds) {
  const size_t count = seeds.size();
  nodes_.nodes.Reserve(count + 1);
  nodes_.occurrence.Reserve(2 * count + 1);
  uint32_t* const repeats = nodes_.occurrence.data() + count;  // so far, by first occurrence
  tables_.all.Reset(count);
  const auto table = tables_.all.view();
  base::ForEach(count, [&](size_t i) {
    const auto id = static_cast<uint64_t>(seeds[i]);
    const auto local = static_cast<LocalId>(i);
    nodes_.nodes[i] = id;
    const LocalId first = table.FindOrInsert(id, local);
    repeats[i] = 0;
    nodes_.occurrence[i] = first == local ? 0 : ++repeats[first];
  });
  num_nodes_ = count;
}

template <class Key>
void Discovery<Key>::AddRoots(std::span<const int64_t> seeds, size_t first_tree, size_t num_trees) {
  const size_t count = seeds.size();
  nodes_.nodes.Reserve(count + 1);
  nodes_.tree.Reserve(count + 1);
  tables_.in_trees.Reset(num_trees);
  base::ForEach(count, [&](size_t i) {
    const auto tree = static_cast<LocalId>(first_tree + i);
    nodes_.nodes[i] = static_cast<uint64_t>(seeds[i]);
    nodes_.tree[i] = tree;
    tables_.in_trees.MakeRoom(tree, 1);
    tables_.in_trees.Of(tree).FindOrInsert(nodes_.nodes[i], static_cast<LocalId>(i));
    tables_.in_trees.Added(tree, 1);
  });
  num_nodes_ = count;
}

template <class Key>
void Discovery<Key>::Reserve(size_t edges) {
  nodes_.nodes.Reserve(num_nodes_ + edges + 1, num_nodes_);
  if (disjoint_) nodes_.tree.Reserve(num_nodes_ + edges + 1, num_nodes_);
}

template <class Key>
void Discovery<Key>::Add(const DiscoveredEdges& edges) {
  const size_t count = edges.neighbours.size();
  if (disjoint_) {
    AddTreeByTree(edges);
    return;
  }
  MakeRoom(num_nodes_ + count);
  AddRange(tables_.all.view(), edges, 0, count);
}

template <class Key>
void Discovery<Key>::AddTreeByTree(const DiscoveredEdges& edges) {
  TreeTables<Key>& tables = tables_.in_trees;
  base::CheckedLoop loop;
  base::WorkVector<Run> runs;
  size_t node = edges.begin;
  size_t wanted = 0;
  for (Run run = NextRun(edges, &node); run.size() > 0; run = NextRun(edges, &node)) {
    loop.Next();
    wanted += tables.Wanted(run.tree, run.size());
    runs.push_back(run);
  }
  tables.Reserve(wanted);
  for (size_t r = 0; r < runs.size(); ++r) {
    loop.Next();
    const Run run = runs[r];
    tables.MakeRoom(run.tree, run.size());
    if (r + 1 < runs.size()) {
      const Run next = runs[r + 1];
      tables.MakeRoom(next.tree, next.size());
      const auto table = tables.Of(next.tree);
      const size_t end = next.begin + std::min(next.size(), kTableAhead);
      for (size_t e = next.begin; e < end; ++e) table.Prefetch(edges.neighbours[e]);
    }
    const uint64_t before = num_nodes_;
    AddRange(tables.Of(run.tree), edges, run.begin, run.end);
    std::fill(nodes_.tree.data() + before, nodes_.tree.data() + num_nodes_, run.tree);
    tables.Added(run.tree, num_nodes_ - before);
  }
}

template <class Key>
typename Discovery<Key>::Run Discovery<Key>::NextRun(const DiscoveredEdges& edges, size_t* node) {
  const base::Buffer<LocalId>& trees = edges.expanded.tree;
  const auto first_edge = [&](size_t i) {
    return edges.first_edge[i] - edges.first_edge[edges.begin];
  };
  Run run{0, 0, 0};
  while (run.size() == 0 && *node < edges.end) {
    run.tree = trees[*node];
    run.begin = first_edge(*node);
    while (*node < edges.end && trees[*node] == run.tree) ++*node;
    run.end = first_edge(*node);
  }
  return run;
}

template <class Key>
void Discovery<Key>::AddRange(const typename IdTable<Key>::View& table,
                              const DiscoveredEdges& edges, size_t first, size_t last) {
  const uint64_t* const ids = edges.neighbours.data();
  LocalId* const locals = edges.locals;
  uint64_t* const nodes = nodes_.nodes.data();
  for (size_t begin = first; begin < last; begin += base::CheckedLoop::kItems) {
    if (begin > first) base::CheckPoint();
    const size_t end = std::min(begin + base::CheckedLoop::kItems, last);
    auto next = static_cast<LocalId>(num_nodes_);
    for (size_t e = begin; e < end; ++e) {
      if (e + kTableAhead < last) table.Prefetch(ids[e + kTableAhead]);
      locals[e] = table.FindOrInsert(ids[e], next);
      // No branch, which would be mispredicted half the time: every id is written, and the next new
      // id overwrites one that is not new.
      nodes[next] = ids[e];
      next += locals[e] == next;
    }
    num_nodes_ = next;
  }
}

template <class Key>
void Discovery<Key>::MakeRoom(size_t count) {
  if (tables_.all.HasRoomFor(count)) return;
  tables_.all.Reset(count);
  const auto table = tables_.all.view();
  const uint64_t* const ids = nodes_.nodes.data();
  base::ForEach(num_nodes_, [&](size_t i) {
    if (i + kTableAhead < num_nodes_) table.Prefetch(ids[i + kTableAhead]);
    table.FindOrInsert(ids[i], static_cast<LocalId>(i));
  });
}

template class Discovery<uint32_t>;
template class Discovery<uint64_t>;

}  // namespace graphzero::sample
