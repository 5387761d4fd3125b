#include "sample/neighbours/hop.h"

#include <algorithm>
#include <utility>

#include "base/prefetch.h"
#include "sample/rows/row_batches.h"

namespace graphzero::sample {
namespace {

// Nodes that pick before the first of them reads: enough to hide a cache miss, few enough that
// prefetched lines are still in the cache when they are read.
constexpr size_t kGroup = 32;
// Nodes that a thread takes at a time.
constexpr size_t kGrain = 512;
// The first weights of a row are prefetched this many rows ahead. The hardware prefetcher fetches
// the rest.
constexpr size_t kWeightsAhead = 2;
constexpr size_t kWeightBytesAhead = 1024;

// Prefetches the neighbours in these slots of a row; `together` says that the slots are
// consecutive.
template <class Id>
[[gnu::always_inline]] inline void PrefetchSlots(const Rows& rows, bool together,
                                                 const uint64_t* slots, uint64_t count) {
  // Consecutive slots share cache lines: one prefetch per line suffices.
  const uint64_t stride = together ? base::kCacheLine / sizeof(Id) : 1;
  for (uint64_t e = 0; e < count; e += stride) rows.PrefetchSlot<Id>(slots[e]);
  if (together && count > 0) rows.PrefetchSlot<Id>(slots[count - 1]);
}

}  // namespace

uint64_t HopDrawer::Count() {
  if (spec_.fanout.edges == 0) {
    edges_.first_edge.Reserve(spec_.end + 1, spec_.begin);
    std::fill(edges_.first_edge.data() + spec_.begin, edges_.first_edge.data() + spec_.end + 1,
              spec_.edges_before);
    return 0;
  }
  work_.row_begin.Reserve(spec_.size());
  work_.row_degree.Reserve(spec_.size());
  ReadBounds(rows_, lease_, {nodes_.nodes.data() + spec_.begin, spec_.size()},
             work_.row_begin.data(), work_.row_degree.data());
  if (spec_.times != nullptr) {
    NarrowToTimes(rows_, lease_, *spec_.times, {nodes_.nodes.data() + spec_.begin, spec_.size()},
                  nodes_.tree.data() + spec_.begin, work_.row_begin.data(),
                  work_.row_degree.data());
  }
  if (spec_.excluded != nullptr) LeaveExcludedOut();
  unsigned __int128 edges = 0;
  edges_.first_edge.Reserve(spec_.end + 1, spec_.begin);
  uint64_t* const first_edge = edges_.first_edge.data() + spec_.begin;
  base::ForEach(spec_.size(), [&](size_t i) {
    first_edge[i] = spec_.edges_before + static_cast<uint64_t>(edges);
    edges += spec_.fanout.Count(work_.row_degree[i]);
  });
  first_edge[spec_.size()] = spec_.edges_before + static_cast<uint64_t>(edges);
  return static_cast<uint64_t>(std::min<unsigned __int128>(edges, UINT64_MAX));
}

void HopDrawer::LeaveExcludedOut() {
  base::WorkVector<size_t> places;
  base::WorkVector<uint64_t> nodes;
  base::WorkVector<LocalId> trees;
  base::WorkVector<store::SlotRange> rows;
  base::ForEach(spec_.size(), [&](size_t i) {
    if (!spec_.excluded->Touches(Node(i), Tree(i))) return;
    places.push_back(i);
    nodes.push_back(Node(i));
    trees.push_back(Tree(i));
    rows.push_back(Row(i));
  });
  auto slots = spec_.excluded->FindSlots(rows_, lease_, nodes, trees, rows);
  for (size_t j = 0; j < places.size(); ++j) {
    if (slots[j].empty()) continue;
    work_.row_degree[places[j]] -= slots[j].size();
    excluded_.emplace(places[j], std::move(slots[j]));
  }
}

uint64_t HopDrawer::Draw() {
  const size_t most = FirstEdge(spec_.size());
  if (most == 0) return 0;
  const size_t kept = spec_.keep_slots ? spec_.edges_before : 0;
  edges_.slots.Reserve(kept + most, kept);
  edges_.drawn.Reserve(most);
  if (spec_.weighted) work_.short_by.Reserve(spec_.size());
  if (scaled()) edges_.scales.Reserve(spec_.edges_before + most, spec_.edges_before);
  WithIdType(rows_.adjacency, [&]<class Id>() {
    if (spec_.labor != nullptr) {
      DrawLabor<Id>();
      if (spec_.weighted) CloseGaps();
      return;
    }
    if (spec_.weighted) {
      DrawByWeight<Id>();
      CloseGaps();
    } else {
      DrawUniformly<Id>();
    }
    if (rows_.disk != nullptr) ReadFromDisk<Id>();
  });
  return FirstEdge(spec_.size());
}

template <class Id>
void HopDrawer::DrawUniformly() {
  lease_.For(spec_.size(), kGrain, [&](int rank, size_t begin, size_t end) {
    ThreadScratch& scratch = work_.scratch[static_cast<size_t>(rank)];
    NodeDraws draws(*this);
    if (excluded_.empty()) {
      PickAndRead<Id>(begin, end, [&](size_t i) { return PickFromWholeRow(i, draws, scratch); });
    } else {
      PickAndRead<Id>(begin, end, [&](size_t i) { return PickWithoutExcluded(i, draws, scratch); });
    }
  });
}

template <class Id>
void HopDrawer::DrawByWeight() {
  ForRanges(
      rows_, lease_, rows_.adjacency.weights, spec_.size(), kGrain,
      [&](size_t i) { return Row(i); },
      [&](int rank, size_t begin, size_t end, const auto& weights) {
        ThreadScratch& scratch = work_.scratch[static_cast<size_t>(rank)];
        NodeDraws draws(*this);
        PickAndRead<Id>(begin, end, [&](size_t i) {
          if (rows_.disk == nullptr && i + kWeightsAhead < end) {
            const std::span<const float> row = rows_.Weights(Row(i + kWeightsAhead));
            base::PrefetchLines(row.data(), std::min(row.size_bytes(), kWeightBytesAhead));
          }
          return PickByWeight(i, weights(i), draws, scratch);
        });
      });
}

template <class Id, class Pick>
void HopDrawer::PickAndRead(size_t begin, size_t end, const Pick& pick) {
  const bool read = rows_.disk == nullptr;
  for (size_t group = begin; group < end; group += kGroup) {
    base::CheckStopped();
    const size_t group_end = std::min(group + kGroup, end);
    for (size_t i = group; i < group_end; ++i) {
      const uint64_t count = pick(i);
      const bool together = spec_.last || count == work_.row_degree[i];
      if (read) PrefetchSlots<Id>(rows_, together, Slots() + FirstEdge(i), count);
    }
    if (!read) continue;
    if (!spec_.weighted) {
      ReadDrawn<Id>(FirstEdge(group), FirstEdge(group_end));
      continue;
    }
    for (size_t i = group; i < group_end; ++i) {  // weights of zero leave gaps between rows
      ReadDrawn<Id>(FirstEdge(i), FirstEdge(i) + Drawn(i));
    }
  }
}

template <class Id>
void HopDrawer::ReadDrawn(size_t begin, size_t end) {
  const Id* const neighbours = rows_.Ids<Id>({}).data();
  const uint64_t bound = rows_.adjacency.neighbour_bound;
  const uint64_t* const slots = Slots();
  uint64_t* const drawn = edges_.drawn.data();
  bool damaged = false;
  for (size_t e = begin; e < end; ++e) {
    drawn[e] = store::ReadOnce(neighbours + slots[e]);
    damaged |= drawn[e] >= bound;
  }
  if (damaged) [[unlikely]]
    ThrowIfDamaged(begin, end);
}

void HopDrawer::ThrowIfDamaged(size_t begin, size_t end) {
  const uint64_t* const drawn = edges_.drawn.data();
  const uint64_t bound = rows_.adjacency.neighbour_bound;
  const auto bad = static_cast<size_t>(
      std::find_if(drawn + begin, drawn + end, [&](uint64_t id) { return id >= bound; }) - drawn);
  if (bad == end) return;
  size_t i = 0;
  while (FirstEdge(i + 1) <= bad) ++i;
  rows_.ThrowDamagedNeighbour(Node(i), Slots()[bad], drawn[bad]);
}

uint64_t HopDrawer::PickFromWholeRow(size_t i, NodeDraws& draws, ThreadScratch& scratch) {
  const store::SlotRange row{work_.row_begin[i], work_.row_begin[i] + work_.row_degree[i]};
  if (spec_.last) {
    const uint64_t count = spec_.fanout.Count(row.size());
    uint64_t* const slots = Slots() + FirstEdge(i);
    base::ForEach(count, [&](uint64_t e) { slots[e] = row.end - count + e; });
    return count;
  }
  scratch.uniform.Pick(row, spec_.fanout, draws.Of(i), Slots() + FirstEdge(i), spec_.forced_set);
  return spec_.fanout.Count(row.size());
}

// Draws positions as if the row had never had its excluded edges, then maps each position to its
// slot, which skips excluded slots.
uint64_t HopDrawer::PickWithoutExcluded(size_t i, NodeDraws& draws, ThreadScratch& scratch) {
  const uint64_t count = PickFromWholeRow(i, draws, scratch);
  const std::span<const uint64_t> excluded = Excluded(i);
  if (excluded.empty()) return count;
  const uint64_t begin = work_.row_begin[i];
  for (uint64_t& slot : std::span(Slots() + FirstEdge(i), count)) {
    slot = SlotWithout(excluded, begin, slot - begin);
  }
  return count;
}

uint64_t HopDrawer::PickByWeight(size_t i, std::span<const float> weights, NodeDraws& draws,
                                 ThreadScratch& scratch) {
  const uint64_t begin = work_.row_begin[i];
  if (const std::span<const uint64_t> excluded = Excluded(i); !excluded.empty()) {
    scratch.without_excluded.assign(weights.begin(), weights.end());
    for (const uint64_t slot : excluded) scratch.without_excluded[slot - begin] = 0;
    weights = scratch.without_excluded;
  }
  try {
    scratch.weighted.Load(weights);
  } catch (const BadWeight& bad) {
    rows_.ThrowBadWeight(Node(i), begin + bad.position, bad.weight);
  }
  uint64_t* const slots = Slots() + FirstEdge(i);
  const uint64_t count = scratch.weighted.Pick(spec_.fanout, draws.Of(i), slots);
  for (uint64_t e = 0; e < count; ++e) slots[e] += begin;
  work_.short_by[i] = static_cast<uint32_t>(FirstEdge(i + 1) - FirstEdge(i) - count);
  return count;
}

void HopDrawer::CloseGaps() {
  uint64_t to = 0;
  base::CheckedLoop loop;
  for (size_t i = 0; i < spec_.size(); ++i) {
    loop.Next();
    const size_t from = FirstEdge(i);
    const uint64_t count = Drawn(i);
    std::copy_n(edges_.drawn.data() + from, count, edges_.drawn.data() + to);
    std::copy_n(Slots() + from, count, Slots() + to);
    if (scaled()) std::copy_n(Scales() + from, count, Scales() + to);
    edges_.first_edge[spec_.begin + i] = spec_.edges_before + to;
    to += count;
  }
  edges_.first_edge[spec_.end] = spec_.edges_before + to;
}

template <class Id>
void HopDrawer::ReadFromDisk() {
  const std::span<const uint64_t> slots(Slots(), FirstEdge(spec_.size()));
  ReadSlots(rows_, lease_, rows_.Ids<Id>({}).data(), slots, edges_.drawn.data());
  ThrowIfDamaged(0, slots.size());
}

Draws HopDrawer::NodeDraws::Of(size_t i) {
  const HopSpec& spec = hop_.spec_;
  const uint64_t node = hop_.Node(i);
  if (spec.disjoint) {
    const LocalId tree = hop_.Tree(i);
    if (tree != tree_) {
      tree_ = tree;
      of_tree_ = hop_.tree_draws_.Child(tree).Child(spec.number);
    }
    return of_tree_.Child(node);
  }
  const bool repeated = spec.number == 0 && hop_.nodes_.occurrence[i] > 0;
  if (!repeated) return hop_.draws_.Child(node);
  return RequestDraws(spec.seed, Domain::kRepeatedSeeds, spec.relation)
      .Child(static_cast<uint64_t>(hop_.domain_))
      .Child(node)
      .Child(hop_.nodes_.occurrence[i]);
}

}  // namespace graphzero::sample
