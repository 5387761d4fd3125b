#include "sample/neighbours/subgraph.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "base/errors.h"
#include "sample/rows/row_batches.h"

namespace graphzero::sample {
namespace {

// Nodes whose rows a thread scans at a time: rows differ a lot in length.
constexpr size_t kGrain = 64;
// Slots after which a row is cut, so that the rows of hubs need not fit into memory.
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

// The times at these places of an array of the file; all kNoTime if there is no such array.
base::WorkVector<int64_t> ReadTimes(const Rows& rows, base::ThreadLease& lease,
                                    const int64_t* array, std::span<const uint64_t> places) {
  base::WorkVector<int64_t> times(places.size(), kNoTime);
  if (array != nullptr) ReadSlots(rows, lease, array, places, times.data());
  return times;
}

base::WorkVector<uint64_t> ReadEdgeIds(const Rows& rows, base::ThreadLease& lease,
                                       std::span<const uint64_t> slots) {
  base::WorkVector<uint64_t> ids(slots.size());
  WithType(rows.adjacency.edge_ids, [&]<class Id>(const Id* edge_ids) {
    ReadSlots(rows, lease, edge_ids, slots, ids.data());
  });
  return ids;
}

}  // namespace

SubgraphBuilder::SubgraphBuilder(NeighbourSample& sample, const DrawnRelation& drawn,
                                 const SeedTimes* seeds, base::ThreadLease& lease)
    : drawn_(drawn),
      rows_(drawn.rows),
      seeds_(seeds),
      lease_(lease),
      disjoint_(sample.disjoint_),
      work_(*sample.work_),
      expanded_(work_.types[drawn.expanded_type]),
      found_(work_.types[drawn.found_type]),
      edges_(work_.relations[drawn.number]),
      relation_(sample.relations_[drawn.number]),
      num_expanded_(sample.types_[drawn.expanded_type].num_nodes),
      num_found_(sample.types_[drawn.found_type].num_nodes) {}

SubgraphBuilder::Edges SubgraphBuilder::Drawn() const {
  Edges edges;
  base::CheckedLoop loop;
  edges.reserve(2 * relation_.num_edges);
  for (size_t i = 0; i < relation_.expanded; ++i) {
    for (uint64_t e = edges_.first_edge[i]; e < edges_.first_edge[i + 1]; ++e) {
      loop.Next();
      edges.push_back({static_cast<LocalId>(i), edges_.neighbours[e],
                       relation_.keeps_slots ? edges_.slots[e] : 0});
    }
  }
  return edges;
}

void SubgraphBuilder::AddReverses(const SubgraphBuilder& to, Edges* edges) const {
  const RelationExclusions& excluded = to.drawn_.excluded;
  const std::span<const uint64_t> slots(edges_.slots.data(),
                                        relation_.keeps_slots ? relation_.num_edges : 0);
  base::WorkVector<int64_t> own;         // times of the edges
  base::WorkVector<int64_t> slot_times;  // the later of an edge's and its neighbour's
  base::WorkVector<int64_t> node_times;  // of the nodes that this relation expands
  if (seeds_ != nullptr) {
    own = ReadTimes(rows_, lease_, rows_.adjacency.times, slots);
    slot_times = ReadTimes(rows_, lease_, rows_.adjacency.slot_times, slots);
    node_times = ReadTimes(rows_, lease_, drawn_.expanded_times,
                           {expanded_.nodes.data(), relation_.expanded});
  }
  base::WorkVector<uint64_t> ids;
  if (excluded.in_trees.by_edge_id()) ids = ReadEdgeIds(rows_, lease_, slots);
  const uint64_t mark = &to == this ? 0 : kReversed;
  base::CheckedLoop loop;
  for (size_t i = 0; i < relation_.expanded; ++i) {
    const LocalId tree = Tree(i);
    for (uint64_t e = edges_.first_edge[i]; e < edges_.first_edge[i + 1]; ++e) {
      loop.Next();
      const LocalId from = edges_.neighbours[e];
      const uint64_t node = found_.nodes[from];
      const uint64_t neighbour = expanded_.nodes[i];
      if (excluded.everywhere.Contains(node, neighbour, 0)) continue;
      if (seeds_ != nullptr) {
        // The node that is expanded here is the neighbour in the slot of the reverse, so its time
        // counts.
        const int64_t time = std::max(own[e], node_times[i]);
        if (time != kNoTime && !seeds_->Of(tree).Contains(time)) continue;
      }
      if (excluded.in_trees.Contains(excluded.TreeKey(tree, node), neighbour,
                                     ids.empty() ? 0 : ids[e])) {
        const bool history = excluded.spare_history && [&] {
          const int64_t since = std::max(slot_times[e], node_times[i]);
          return since != kNoTime && since < seeds_->times[tree];
        }();
        if (!history) continue;
      }
      edges->push_back(
          {from, static_cast<LocalId>(i), relation_.keeps_slots ? edges_.slots[e] | mark : 0});
    }
  }
}

SubgraphBuilder::Edges SubgraphBuilder::WithReversesOf(const SubgraphBuilder& other) const {
  Edges edges = Drawn();
  other.AddReverses(*this, &edges);
  // Sorts by neighbour, then by node. Both sorts are stable, so drawn edges stay before reverses.
  edges = CountingSort(edges, num_found_, [](const Edge& edge) { return edge.neighbour; });
  edges = CountingSort(edges, num_expanded_, [](const Edge& edge) { return edge.node; });
  const auto same = [](const Edge& a, const Edge& b) {
    return a.node == b.node && a.neighbour == b.neighbour;
  };
  edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
  return edges;
}

template <class Id, class Table>
void SubgraphBuilder::FindEdges(const Table& table, const Piece& piece, std::span<const Id> ids,
                                std::span<const uint64_t> excluded, Edges* found) const {
  const uint64_t node = expanded_.nodes[piece.node];
  size_t until_check = base::CheckedLoop::kItems;
  for (uint64_t slot = piece.slots.begin; slot < piece.slots.end; ++slot) {
    if (--until_check == 0) [[unlikely]] {
      base::CheckPoint();
      until_check = base::CheckedLoop::kItems;
    }
    const uint64_t id = store::ReadOnce(&ids[slot - piece.slots.begin]);
    rows_.CheckNeighbour(node, slot, id);
    const LocalId local = table.Find(id);
    if (local == kNoLocalId) continue;
    if (!excluded.empty() && std::binary_search(excluded.begin(), excluded.end(), slot)) continue;
    found->push_back({piece.node, local, slot});
  }
}

base::WorkVector<SubgraphBuilder::Piece> SubgraphBuilder::Pieces() const {
  const size_t nodes = num_expanded_;
  const std::span<const uint64_t> ids(expanded_.nodes.data(), nodes);
  work_.row_begin.Reserve(nodes);
  work_.row_degree.Reserve(nodes);
  ReadBounds(rows_, lease_, ids, work_.row_begin.data(), work_.row_degree.data());
  if (seeds_ != nullptr) {
    NarrowToTimes(rows_, lease_, *seeds_, ids, expanded_.tree.data(), work_.row_begin.data(),
                  work_.row_degree.data());
  }
  base::WorkVector<Piece> pieces;
  pieces.reserve(nodes);
  base::ForEach(nodes, [&](size_t i) {
    const uint64_t end = work_.row_begin[i] + work_.row_degree[i];
    for (uint64_t begin = work_.row_begin[i]; begin < end; begin += kPieceSlots) {
      pieces.push_back({static_cast<LocalId>(i), {begin, std::min(begin + kPieceSlots, end)}});
    }
  });
  return pieces;
}

std::unordered_map<LocalId, ExcludedEdges::Slots> SubgraphBuilder::ExcludedSlots() const {
  const RelationExclusions& excluded = drawn_.excluded;
  std::unordered_map<LocalId, ExcludedEdges::Slots> slots_of;
  if (excluded.empty()) return slots_of;
  base::WorkVector<LocalId> places;
  base::WorkVector<uint64_t> nodes;
  base::WorkVector<LocalId> trees;
  base::WorkVector<store::SlotRange> rows;
  base::ForEach(num_expanded_, [&](size_t i) {
    if (!excluded.Touches(expanded_.nodes[i], Tree(i))) return;
    places.push_back(static_cast<LocalId>(i));
    nodes.push_back(expanded_.nodes[i]);
    trees.push_back(Tree(i));
    rows.push_back({work_.row_begin[i], work_.row_begin[i] + work_.row_degree[i]});
  });
  auto slots = excluded.FindSlots(rows_, lease_, nodes, trees, rows);
  for (size_t j = 0; j < places.size(); ++j) {
    if (!slots[j].empty()) slots_of.emplace(places[j], std::move(slots[j]));
  }
  return slots_of;
}

template <class Key>
void SubgraphBuilder::Induce(uint64_t max_edges, uint64_t before) const {
  const LocalIds<Key>& local_ids = found_.local_ids<Key>();
  const auto table = [&](LocalId node) {
    return disjoint_ ? local_ids.in_trees.Of(Tree(node)) : local_ids.all.view();
  };
  const base::WorkVector<Piece> pieces = Pieces();
  const auto excluded = ExcludedSlots();
  const auto excluded_of = [&](LocalId node) -> std::span<const uint64_t> {
    if (excluded.empty()) return {};
    const auto at = excluded.find(node);
    return at == excluded.end() ? std::span<const uint64_t>() : at->second;
  };
  base::WorkVector<Found> found;
  uint64_t total = before;
  std::mutex mutex;
  const auto check = [&](uint64_t count) {
    if (count <= max_edges) return;
    throw TooManyEdges("the subgraph that " + std::to_string(num_expanded_) + " nodes induce" +
                       rows_.OfRelation() + " has more edges than the limit of " +
                       std::to_string(max_edges) +
                       "; use fewer seeds, a smaller fanout or a higher max_edges");
  };
  WithIdType(rows_.adjacency, [&]<class Id>() {
    ForRanges(
        rows_, lease_, rows_.Ids<Id>({}).data(), pieces.size(), kGrain,
        [&](size_t i) { return pieces[i].slots; },
        [&](int, size_t begin, size_t end, const auto& ids) {
          Found more{begin, {}};
          // Rows may be long: once there are too many edges, which is an error, no further row is
          // read.
          for (size_t i = begin; i < end && more.edges.size() <= max_edges; ++i) {
            FindEdges(table(pieces[i].node), pieces[i], ids(i), excluded_of(pieces[i].node),
                      &more.edges);
          }
          const std::lock_guard lock(mutex);
          total += more.edges.size();
          check(total);
          found.push_back(std::move(more));
        });
  });
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.first < b.first; });
  Replace(found);
}

template void SubgraphBuilder::Induce<uint32_t>(uint64_t, uint64_t) const;
template void SubgraphBuilder::Induce<uint64_t>(uint64_t, uint64_t) const;

void SubgraphBuilder::Replace(Edges edges) const {
  const Found found{0, std::move(edges)};
  Replace({&found, 1});
}

void SubgraphBuilder::Replace(std::span<const Found> found) const {
  const size_t nodes = num_expanded_;
  size_t count = 0;
  for (const Found& piece : found) count += piece.edges.size();
  edges_.first_edge.Reserve(nodes + 1);
  edges_.neighbours.Reserve(count);
  edges_.slots.Reserve(count);
  std::fill_n(edges_.first_edge.data(), nodes + 1, 0);
  size_t at = 0;
  base::CheckedLoop loop;
  for (const Found& piece : found) {
    for (const Edge& edge : piece.edges) {
      loop.Next();
      edges_.neighbours[at] = edge.neighbour;
      edges_.slots[at++] = edge.slot;
      ++edges_.first_edge[edge.node + 1];
    }
  }
  std::partial_sum(edges_.first_edge.data(), edges_.first_edge.data() + nodes + 1,
                   edges_.first_edge.data());
  relation_.num_edges = count;
  relation_.expanded = nodes;
  relation_.hop_edges.clear();
}

}  // namespace graphzero::sample
