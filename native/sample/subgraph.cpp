#include "sample/subgraph.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>

#include "base/errors.h"

namespace graphzero::sample {
namespace {

// Nodes whose rows a thread scans at a time: rows differ a lot in length.
constexpr size_t kGrain = 64;
// Of a topology that is not in memory: neighbours that are read at a time, and after how many a row
// is cut.
constexpr uint64_t kSlotsAtOnce = uint64_t{1} << 21;
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
  Replace({&edges, 1}, edges.size());
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

template <class Table>
void SubgraphBuilder::InducedWith(const Table& table, uint64_t max_edges) const {
  if (sample_.staged_) {
    InducedStaged(table, max_edges);
    return;
  }
  const size_t nodes = sample_.num_nodes_;
  base::WorkVector<base::WorkVector<Edge>> found((nodes + kGrain - 1) / kGrain);
  std::atomic<uint64_t> total = 0;
  lease_.For(nodes, kGrain, [&](int, size_t begin, size_t end) {
    base::WorkVector<Edge>& edges = found[begin / kGrain];
    // Rows may be long: with too many edges, which is an error, no further one is read.
    for (size_t i = begin; i < end && edges.size() <= max_edges; ++i) {
      const Piece row{static_cast<LocalId>(i), rows_.Row(sample_.work_->nodes[i])};
      WithIdType(rows_.adjacency,
                 [&]<class Id>() { FindEdges(table, row, rows_.Ids<Id>(row.slots), &edges); });
    }
    const uint64_t more = edges.size();
    if (total.fetch_add(more) + more > max_edges) ThrowTooManyEdges(max_edges);
  });
  Replace(found, total);
}

base::WorkVector<SubgraphBuilder::Piece> SubgraphBuilder::RowsStaged() const {
  const size_t nodes = sample_.num_nodes_;
  const std::span<const uint64_t> ids(sample_.work_->nodes.data(), nodes);
  base::WorkVector<uint64_t> begins(nodes);
  base::WorkVector<uint64_t> degrees(nodes);
  size_t damaged = 0;
  bool sound = false;
  {
    const base::ThreadLease::Pause pause;
    sound =
        sample_.staged_->ReadRows(rows_.adjacency, ids, begins.data(), degrees.data(), &damaged);
  }
  if (!sound) {
    rows_.ThrowDamagedRow(ids[damaged], {begins[damaged], begins[damaged] + degrees[damaged]});
  }
  base::WorkVector<Piece> pieces;
  for (size_t i = 0; i < nodes; ++i) {
    const uint64_t end = begins[i] + degrees[i];
    for (uint64_t begin = begins[i]; begin < end; begin += kPieceSlots) {
      pieces.push_back({static_cast<LocalId>(i), {begin, std::min(begin + kPieceSlots, end)}});
    }
  }
  return pieces;
}

template <class Table>
void SubgraphBuilder::InducedStaged(const Table& table, uint64_t max_edges) const {
  const base::WorkVector<Piece> pieces = RowsStaged();
  base::WorkVector<base::WorkVector<Edge>> found(pieces.size());
  std::atomic<uint64_t> total = 0;
  WithIdType(rows_.adjacency, [&]<class Id>() {
    base::Buffer<Id> ids;
    size_t last = 0;
    for (size_t first = 0; first < pieces.size(); first = last) {
      std::vector<uint64_t> places;  // of each piece in `ids`
      uint64_t count = 0;
      for (last = first; last < pieces.size() && count < kSlotsAtOnce; ++last) {
        places.push_back(count);
        count += pieces[last].slots.size();
      }
      ids.Reserve(kSlotsAtOnce + kPieceSlots);
      std::vector<io::WantedRange> wanted;
      for (size_t i = first; i < last; ++i) {
        const auto row = std::as_bytes(rows_.Ids<Id>(pieces[i].slots));
        wanted.push_back({sample_.staged_->OffsetOf(row.data()), row.size(),
                          reinterpret_cast<std::byte*>(ids.data() + places[i - first])});
      }
      {
        const base::ThreadLease::Pause pause;
        sample_.staged_->ReadRanges(wanted);
      }
      lease_.For(last - first, kGrain, [&](int, size_t begin, size_t end) {
        uint64_t more = 0;
        for (size_t i = first + begin; i < first + end; ++i) {
          const std::span<const Id> row(ids.data() + places[i - first], pieces[i].slots.size());
          FindEdges(table, pieces[i], row, &found[i]);
          more += found[i].size();
        }
        if (total.fetch_add(more) + more > max_edges) ThrowTooManyEdges(max_edges);
      });
    }
  });
  Replace(found, total);
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

void SubgraphBuilder::Replace(std::span<const base::WorkVector<Edge>> pieces, size_t count) const {
  Workspace& work = *sample_.work_;
  const size_t nodes = sample_.num_nodes_;
  work.first_edge.Reserve(nodes + 1);
  work.neighbours.Reserve(count);
  work.slots.Reserve(count);
  std::fill_n(work.first_edge.data(), nodes + 1, 0);
  size_t at = 0;
  base::CheckedLoop loop;
  for (const base::WorkVector<Edge>& piece : pieces) {
    for (const Edge& edge : piece) {
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
