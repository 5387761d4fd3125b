#include "sample/subgraph.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>

#include "store/errors.h"

namespace graphzero::sample {
namespace {

// Nodes whose rows a thread scans at a time: rows differ a lot in length.
constexpr size_t kGrain = 64;

// Stable, in time proportional to items and keys: `key` gives numbers below `keys`.
template <class Item, class Key>
std::vector<Item> CountingSort(const std::vector<Item>& items, size_t keys, const Key& key) {
  std::vector<size_t> next(keys + 1);
  for (const Item& item : items) ++next[key(item) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Item> sorted(items.size());
  for (const Item& item : items) sorted[next[key(item)]++] = item;
  return sorted;
}

}  // namespace

std::vector<SubgraphBuilder::Edge> SubgraphBuilder::DrawnAndReversed() const {
  const Workspace& work = *sample_.work_;
  const bool has_slots = sample_.has_edge_ids() || sample_.has_weights();
  std::vector<Edge> edges;
  edges.reserve(2 * sample_.num_edges_);
  for (size_t i = 0; i < sample_.expanded_; ++i) {
    for (uint64_t e = work.first_edge[i]; e < work.first_edge[i + 1]; ++e) {
      edges.push_back({static_cast<LocalId>(i), work.neighbours[e], has_slots ? work.slots[e] : 0});
    }
  }
  for (size_t e = 0; e < sample_.num_edges_; ++e) {
    const Edge drawn = edges[e];
    const Edge reverse{drawn.neighbour, drawn.node, drawn.slot};
    const bool excluded = !excluded_.empty() && excluded_.Contains(work.nodes[reverse.node],
                                                                   work.nodes[reverse.neighbour]);
    if (!excluded) edges.push_back(reverse);
  }
  return edges;
}

void SubgraphBuilder::Bidirectional(uint64_t max_edges) const {
  const size_t nodes = sample_.num_nodes_;
  if (sample_.num_edges_ > max_edges / 2) {
    throw InputError(std::to_string(sample_.num_edges_) +
                     " edges and their reverses are more than the limit of " +
                     std::to_string(max_edges) +
                     "; use fewer seeds, a smaller fanout or a higher max_edges");
  }
  std::vector<Edge> edges = DrawnAndReversed();
  // By neighbour, then by node: both keep the order of equal ones, in which drawn edges come first.
  edges = CountingSort(edges, nodes, [](const Edge& edge) { return edge.neighbour; });
  edges = CountingSort(edges, nodes, [](const Edge& edge) { return edge.node; });
  const auto same = [](const Edge& a, const Edge& b) {
    return a.node == b.node && a.neighbour == b.neighbour;
  };
  edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
  Replace({&edges, 1}, edges.size());
}

template <class Id, class Table>
void SubgraphBuilder::FindEdges(const Table& table, size_t begin, size_t end, uint64_t most,
                                std::vector<Edge>* found) const {
  const Workspace& work = *sample_.work_;
  std::vector<uint64_t> left_out;
  // Rows may be long: with more than `most`, which is an error, no further one is read.
  for (size_t i = begin; i < end && found->size() <= most; ++i) {
    const uint64_t node = work.nodes[i];
    const uint64_t first_key = sample_.disjoint_ ? work.tree[i] * rows_.adjacency.rows : 0;
    const store::SlotRange row = rows_.Row(node);
    excluded_.SlotsIn(rows_.adjacency, node, row, &left_out);
    auto skip = left_out.cbegin();
    for (uint64_t slot = row.begin; slot < row.end; ++slot) {
      if (skip != left_out.cend() && *skip == slot) {
        ++skip;
        continue;
      }
      const LocalId local = table.Find(first_key + rows_.Neighbour<Id>(node, slot));
      if (local != Table::kNone) found->push_back({static_cast<LocalId>(i), local, slot});
    }
  }
}

template <class Table>
void SubgraphBuilder::InducedWith(const Table& table, uint64_t max_edges) const {
  const size_t nodes = sample_.num_nodes_;
  std::vector<std::vector<Edge>> pieces((nodes + kGrain - 1) / kGrain);
  std::atomic<uint64_t> total = 0;
  lease_.For(nodes, kGrain, [&](int, size_t begin, size_t end) {
    std::vector<Edge>& piece = pieces[begin / kGrain];
    WithIdType(rows_.adjacency,
               [&]<class Id>() { FindEdges<Id>(table, begin, end, max_edges, &piece); });
    if (total.fetch_add(piece.size()) + piece.size() > max_edges) {
      throw InputError("the subgraph that " + std::to_string(nodes) +
                       " nodes induce has more edges than the limit of " +
                       std::to_string(max_edges) +
                       "; use fewer seeds, a smaller fanout or a higher max_edges");
    }
  });
  Replace(pieces, total);
}

void SubgraphBuilder::Induced(const IdTable<uint32_t>& table, uint64_t max_edges) const {
  InducedWith(table, max_edges);
}

void SubgraphBuilder::Induced(const IdTable<uint64_t>& table, uint64_t max_edges) const {
  InducedWith(table, max_edges);
}

void SubgraphBuilder::Replace(std::span<const std::vector<Edge>> pieces, size_t count) const {
  Workspace& work = *sample_.work_;
  const size_t nodes = sample_.num_nodes_;
  work.first_edge.Reserve(nodes + 1);
  work.neighbours.Reserve(count);
  work.slots.Reserve(count);
  std::fill_n(work.first_edge.data(), nodes + 1, 0);
  size_t at = 0;
  for (const std::vector<Edge>& piece : pieces) {
    for (const Edge& edge : piece) {
      work.neighbours[at] = edge.neighbour;
      work.slots[at++] = edge.slot;
      ++work.first_edge[edge.node + 1];
    }
  }
  std::partial_sum(work.first_edge.data(), work.first_edge.data() + nodes + 1,
                   work.first_edge.data());
  sample_.num_edges_ = count;
  sample_.expanded_ = nodes;
  sample_.hop_edges_.clear();
}

}  // namespace graphzero::sample
