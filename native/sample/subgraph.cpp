#include "sample/subgraph.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "base/errors.h"
#include "sample/row_batches.h"

namespace graphzero::sample {
namespace {

// Nodes whose rows a thread scans at a time: rows differ a lot in length.
constexpr size_t kGrain = 64;
// Slots after which a row is cut, so that those of hubs need not fit into memory.
constexpr uint64_t kPieceSlots = uint64_t{1} << 19;

// Stable, in time proportional to items and keys: `key` gives numbers below `keys`.
template <class Item, class Key>
base::WorkVector<Item> CountingSort(const base::WorkVector<Item>& items, size_t keys,
                                    const Key& key) {
  base::WorkVector<size_t> next(keys + 1);
  base::CheckedLoop loop;
  for (const Item& item : items) {
    loop.Next();
    ++next[key(item) + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  base::WorkVector<Item> sorted(items.size());
  for (const Item& item : items) {
    loop.Next();
    sorted[next[key(item)]++] = item;
  }
  return sorted;
}

}  // namespace

base::WorkVector<SubgraphBuilder::Edge> SubgraphBuilder::DrawnAndReversed() const {
  const Workspace& work = *sample_.work_;
  const bool has_slots = sample_.has_edge_ids() || sample_.has_weights();
  base::WorkVector<Edge> edges;
  base::CheckedLoop loop;
  edges.reserve(2 * sample_.num_edges_);
  for (size_t i = 0; i < sample_.expanded_; ++i) {
    for (uint64_t e = work.first_edge[i]; e < work.first_edge[i + 1]; ++e) {
      loop.Next();
      edges.push_back({static_cast<LocalId>(i), work.neighbours[e], has_slots ? work.slots[e] : 0});
    }
  }
  for (size_t e = 0; e < sample_.num_edges_; ++e) {
    loop.Next();
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
    throw TooManyEdges(std::to_string(sample_.num_edges_) +
                       " edges and their reverses are more than the limit of " +
                       std::to_string(max_edges) +
                       "; use fewer seeds, a smaller fanout or a higher max_edges");
  }
  base::WorkVector<Edge> edges = DrawnAndReversed();
  // By neighbour, then by node: both keep the order of equal ones, in which drawn edges come first.
  edges = CountingSort(edges, nodes, [](const Edge& edge) { return edge.neighbour; });
  edges = CountingSort(edges, nodes, [](const Edge& edge) { return edge.node; });
  const auto same = [](const Edge& a, const Edge& b) {
    return a.node == b.node && a.neighbour == b.neighbour;
  };
  edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
  const Found found{0, std::move(edges)};
  Replace({&found, 1});
}

template <class Id, class Table>
void SubgraphBuilder::FindEdges(const Table& table, const Piece& piece, std::span<const Id> ids,
                                base::WorkVector<Edge>* found) const {
  const Workspace& work = *sample_.work_;
  const uint64_t node = work.nodes[piece.node];
  const uint64_t first_key = sample_.disjoint_ ? work.tree[piece.node] * rows_.adjacency.rows : 0;
  const bool any_excluded = !excluded_.empty() && excluded_.Touches(node);
  size_t until_check = base::CheckedLoop::kItems;
  for (uint64_t slot = piece.slots.begin; slot < piece.slots.end; ++slot) {
    if (--until_check == 0) [[unlikely]] {
      base::CheckPoint();
      until_check = base::CheckedLoop::kItems;
    }
    const uint64_t id = store::ReadOnce(&ids[slot - piece.slots.begin]);
    rows_.CheckNeighbour(node, slot, id);
    const LocalId local = table.Find(first_key + id);
    if (local == Table::kNone || (any_excluded && excluded_.Contains(node, id))) continue;
    found->push_back({piece.node, local, slot});
  }
}

base::WorkVector<SubgraphBuilder::Piece> SubgraphBuilder::Pieces() const {
  Workspace& work = *sample_.work_;
  const size_t nodes = sample_.num_nodes_;
  work.row_begin.Reserve(nodes);
  work.row_degree.Reserve(nodes);
  ReadBounds(rows_, lease_, sample_.nodes(), work.row_begin.data(), work.row_degree.data());
  base::WorkVector<Piece> pieces;
  pieces.reserve(nodes);
  base::ForEach(nodes, [&](size_t i) {
    const uint64_t end = work.row_begin[i] + work.row_degree[i];
    for (uint64_t begin = work.row_begin[i]; begin < end; begin += kPieceSlots) {
      pieces.push_back({static_cast<LocalId>(i), {begin, std::min(begin + kPieceSlots, end)}});
    }
  });
  return pieces;
}

template <class Table>
void SubgraphBuilder::InducedWith(const Table& table, uint64_t max_edges) const {
  const base::WorkVector<Piece> pieces = Pieces();
  base::WorkVector<Found> found;
  uint64_t total = 0;
  std::mutex mutex;
  WithIdType(rows_.adjacency, [&]<class Id>() {
    ForRanges(
        rows_, lease_, rows_.Ids<Id>({}).data(), pieces.size(), kGrain,
        [&](size_t i) { return pieces[i].slots; },
        [&](int, size_t begin, size_t end, const auto& ids) {
          Found more{begin, {}};
          // Rows may be long: with too many edges, which is an error, no further one is read.
          for (size_t i = begin; i < end && more.edges.size() <= max_edges; ++i) {
            FindEdges(table, pieces[i], ids(i), &more.edges);
          }
          const std::lock_guard lock(mutex);
          total += more.edges.size();
          if (total > max_edges) ThrowTooManyEdges(max_edges);
          found.push_back(std::move(more));
        });
  });
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.first < b.first; });
  Replace(found);
}

void SubgraphBuilder::ThrowTooManyEdges(uint64_t max_edges) const {
  throw TooManyEdges("the subgraph that " + std::to_string(sample_.num_nodes_) +
                     " nodes induce has more edges than the limit of " + std::to_string(max_edges) +
                     "; use fewer seeds, a smaller fanout or a higher max_edges");
}

void SubgraphBuilder::Induced(const IdTable<uint32_t>& table, uint64_t max_edges) const {
  InducedWith(table, max_edges);
}

void SubgraphBuilder::Induced(const IdTable<uint64_t>& table, uint64_t max_edges) const {
  InducedWith(table, max_edges);
}

void SubgraphBuilder::Replace(std::span<const Found> found) const {
  Workspace& work = *sample_.work_;
  const size_t nodes = sample_.num_nodes_;
  size_t count = 0;
  for (const Found& piece : found) count += piece.edges.size();
  work.first_edge.Reserve(nodes + 1);
  work.neighbours.Reserve(count);
  work.slots.Reserve(count);
  std::fill_n(work.first_edge.data(), nodes + 1, 0);
  size_t at = 0;
  base::CheckedLoop loop;
  for (const Found& piece : found) {
    for (const Edge& edge : piece.edges) {
      loop.Next();
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
