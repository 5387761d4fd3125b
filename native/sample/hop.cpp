#include "sample/hop.h"

#include <algorithm>
#include <span>
#include <vector>

namespace graphzero::sample {
namespace {

// Nodes handled together: enough to hide a cache miss behind the others, few enough that what was
// asked for is still in the cache when its turn comes.
constexpr size_t kGroup = 32;
constexpr size_t kRowsAhead = 24;
// Nodes that a thread takes at a time.
constexpr size_t kGrain = 512;
constexpr size_t kCacheLine = 64;
// Weights that are read at a time. A single row may be longer.
constexpr size_t kLoadedBytes = size_t{16} << 20;

}  // namespace

uint64_t HopDrawer::Count() {
  work_.row_begin.Reserve(spec_.size());
  work_.row_degree.Reserve(spec_.size());
  if (staged_ == nullptr) {
    LookRowsUp();
  } else {
    ReadRowsStaged();
  }
  if (spec_.excluded != nullptr) LeaveExcludedOut();
  unsigned __int128 edges = 0;
  work_.first_edge.Reserve(spec_.end + 1, spec_.begin);
  uint64_t* const first_edge = work_.first_edge.data() + spec_.begin;
  base::ForEach(spec_.size(), [&](size_t i) {
    first_edge[i] = spec_.edges_before + static_cast<uint64_t>(edges);
    edges += spec_.fanout.Count(work_.row_degree[i]);
  });
  first_edge[spec_.size()] = spec_.edges_before + static_cast<uint64_t>(edges);
  return static_cast<uint64_t>(std::min<unsigned __int128>(edges, UINT64_MAX));
}

void HopDrawer::LookRowsUp() {
  lease_.For(spec_.size(), 4 * kGrain, [&](int, size_t begin, size_t end) {
    const size_t primed = std::min(begin + kRowsAhead, end);
    for (size_t i = begin; i < primed; ++i) rows_.PrefetchRow(Node(i));
    for (size_t i = begin; i < end; ++i) {
      if (i + kRowsAhead < end) rows_.PrefetchRow(Node(i + kRowsAhead));
      const store::SlotRange row = rows_.Row(Node(i));
      work_.row_begin[i] = row.begin;
      work_.row_degree[i] = row.size();
    }
  });
}

void HopDrawer::LeaveExcludedOut() {
  std::vector<size_t> places;
  std::vector<uint64_t> nodes;
  std::vector<store::SlotRange> rows;
  base::ForEach(spec_.size(), [&](size_t i) {
    if (!spec_.excluded->Touches(Node(i))) return;
    places.push_back(i);
    nodes.push_back(Node(i));
    rows.push_back({work_.row_begin[i], work_.row_begin[i] + work_.row_degree[i]});
  });
  auto slots = spec_.excluded->FindSlots(rows_, lease_, nodes, rows);
  for (size_t j = 0; j < places.size(); ++j) {
    if (slots[j].empty()) continue;
    work_.row_degree[places[j]] -= slots[j].size();
    excluded_.emplace(places[j], std::move(slots[j]));
  }
}

std::span<const uint64_t> HopDrawer::ExcludedSlots(size_t i) const {
  if (excluded_.empty()) return {};
  const auto found = excluded_.find(i);
  return found == excluded_.end() ? std::span<const uint64_t>() : found->second;
}

uint64_t HopDrawer::Draw() {
  const size_t edges = FirstEdge(spec_.size());
  const size_t kept = spec_.keep_slots ? spec_.edges_before : 0;
  work_.slots.Reserve(kept + edges, kept);
  work_.drawn.Reserve(edges);
  if (spec_.weighted) work_.short_by.Reserve(spec_.size());
  if (staged_ != nullptr) {
    WithIdType(rows_.adjacency, [&]<class Id>() { DrawStaged<Id>(); });
    return FirstEdge(spec_.size());
  }
  lease_.For(spec_.size(), kGrain, [&](int rank, size_t begin, size_t end) {
    ThreadScratch& scratch = work_.scratch[static_cast<size_t>(rank)];
    WithIdType(rows_.adjacency, [&]<class Id>() { DrawRange<Id>(begin, end, scratch); });
  });
  return spec_.weighted ? CloseGaps() : edges;
}

template <class Id>
void HopDrawer::DrawRange(size_t begin, size_t end, ThreadScratch& scratch) {
  for (size_t group = begin; group < end; group += kGroup) {
    base::CheckStopped();
    const size_t group_end = std::min(group + kGroup, end);
    if (plain_) {
      for (size_t i = group; i < group_end; ++i) PickPlainSlots<Id>(i, scratch);
    } else {
      for (size_t i = group; i < group_end; ++i) PickSlots<Id>(i, scratch);
    }
    for (size_t i = group; i < group_end; ++i) ReadNeighbours<Id>(i);
  }
}

void HopDrawer::ReadRowsStaged() {
  const std::span<const uint64_t> nodes(work_.nodes.data() + spec_.begin, spec_.size());
  size_t damaged = 0;
  bool sound = false;
  {
    const base::ThreadLease::Pause pause;
    sound = staged_->ReadRows(rows_.adjacency, nodes, work_.row_begin.data(),
                              work_.row_degree.data(), &damaged);
  }
  if (!sound) {
    const uint64_t begin = work_.row_begin[damaged];
    rows_.ThrowDamagedRow(nodes[damaged], {begin, begin + work_.row_degree[damaged]});
  }
}

// Slots are picked for all nodes before the first neighbour is read: then all reads are known.
template <class Id>
void HopDrawer::DrawStaged() {
  size_t last = 0;
  for (size_t first = 0; first < spec_.size(); first = last) {
    last = spec_.weighted ? LoadWeights(first) : spec_.size();
    lease_.For(last - first, kGrain, [&](int rank, size_t begin, size_t end) {
      ThreadScratch& scratch = work_.scratch[static_cast<size_t>(rank)];
      for (size_t i = first + begin; i < first + end; ++i) PickSlots<Id>(i, scratch);
    });
  }
  const uint64_t edges = spec_.weighted ? CloseGaps() : FirstEdge(spec_.size());
  {
    const base::ThreadLease::Pause pause;
    staged_->ReadSlots(static_cast<const Id*>(rows_.adjacency.neighbours.data),
                       std::span<const uint64_t>(Slots(), edges), work_.drawn.data());
  }
  CheckNeighbours<Id>(edges);
}

size_t HopDrawer::LoadWeights(size_t begin) {
  std::vector<io::WantedRange> wanted;
  weight_rows_.clear();
  weights_begin_ = begin;
  size_t count = 0;
  size_t end = begin;
  for (; end < spec_.size(); ++end) {
    const uint64_t degree = work_.row_degree[end] + ExcludedSlots(end).size();
    if (end > begin && (count + degree) * sizeof(float) > kLoadedBytes) break;
    weight_rows_.push_back(rows_.Weights({work_.row_begin[end], work_.row_begin[end] + degree}));
    count += degree;
  }
  weights_.Reserve(count);
  float* to = weights_.data();
  for (std::span<const float>& row : weight_rows_) {
    if (row.empty()) continue;
    wanted.push_back(
        {staged_->OffsetOf(row.data()), row.size_bytes(), reinterpret_cast<std::byte*>(to)});
    row = {to, row.size()};
    to += row.size();
  }
  const base::ThreadLease::Pause pause;
  staged_->ReadRanges(wanted);
  return end;
}

template <class Id>
void HopDrawer::CheckNeighbours(uint64_t edges) const {
  const uint64_t* const drawn = work_.drawn.data();
  const uint64_t bound = rows_.adjacency.neighbour_bound;
  const uint64_t bad = static_cast<uint64_t>(
      std::find_if(drawn, drawn + edges, [&](uint64_t id) { return id >= bound; }) - drawn);
  if (bad == edges) return;
  size_t i = 0;
  while (FirstEdge(i + 1) <= bad) ++i;
  const size_t kept = spec_.keep_slots ? spec_.edges_before : 0;
  rows_.ThrowDamagedNeighbour(Node(i), work_.slots[kept + bad], drawn[bad]);
}

Draws HopDrawer::NodeDraws(size_t i) const {
  if (spec_.disjoint) {
    return RequestDraws(spec_.seed, Domain::kDisjoint)
        .Child(static_cast<uint64_t>(domain_))
        .Child(work_.tree[spec_.begin + i])
        .Child(spec_.number)
        .Child(Node(i));
  }
  const bool repeated = spec_.number == 0 && work_.occurrence[i] > 0;
  if (!repeated) return draws_.Child(Node(i));
  return RequestDraws(spec_.seed, Domain::kRepeatedSeeds)
      .Child(static_cast<uint64_t>(domain_))
      .Child(Node(i))
      .Child(work_.occurrence[i]);
}

template <class Id>
inline void HopDrawer::PrefetchSlots(const store::SlotRange& row, const uint64_t* slots,
                                     uint64_t count) const {
  // Whole rows lie in a few consecutive lines.
  const bool whole = count == row.size();
  const uint64_t stride = whole ? kCacheLine / sizeof(Id) : 1;
  for (uint64_t e = 0; e < count; e += stride) rows_.PrefetchSlot<Id>(slots[e]);
  if (whole && count > 0) rows_.PrefetchSlot<Id>(slots[count - 1]);
}

template <class Id>
void HopDrawer::PickPlainSlots(size_t i, ThreadScratch& scratch) {
  const store::SlotRange row{work_.row_begin[i], work_.row_begin[i] + work_.row_degree[i]};
  uint64_t* const slots = Slots() + FirstEdge(i);
  scratch.uniform.Pick(row, spec_.fanout, NodeDraws(i), slots, spec_.forced_set);
  PrefetchSlots<Id>(row, slots, spec_.fanout.Count(row.size()));
}

template <class Id>
void HopDrawer::PickSlots(size_t i, ThreadScratch& scratch) {
  const std::span<const uint64_t> excluded = ExcludedSlots(i);
  const uint64_t begin = work_.row_begin[i];
  const store::SlotRange row{begin, begin + work_.row_degree[i] + excluded.size()};
  uint64_t* const slots = Slots() + FirstEdge(i);
  uint64_t count = 0;
  if (spec_.weighted) {
    count = PickWeighted(i, row, excluded, slots, scratch);
    const uint64_t most = FirstEdge(i + 1) - FirstEdge(i);
    work_.short_by[i] = static_cast<uint32_t>(most - count);
  } else {
    count = PickUniform(i, row, excluded, slots, scratch);
  }
  if (staged_ == nullptr) PrefetchSlots<Id>(row, slots, count);
}

// Excluded edges are left out of the row first, so that a node draws as many of the others as if
// they were all it had.
uint64_t HopDrawer::PickUniform(size_t i, const store::SlotRange& row,
                                std::span<const uint64_t> excluded, uint64_t* slots,
                                ThreadScratch& scratch) {
  const store::SlotRange kept{row.begin, row.begin + work_.row_degree[i]};
  scratch.uniform.Pick(kept, spec_.fanout, NodeDraws(i), slots, spec_.forced_set);
  const uint64_t count = spec_.fanout.Count(kept.size());
  if (!excluded.empty()) {
    for (uint64_t e = 0; e < count; ++e) {
      slots[e] = SlotWithout(excluded, row.begin, slots[e] - row.begin);
    }
  }
  return count;
}

uint64_t HopDrawer::PickWeighted(size_t i, const store::SlotRange& row,
                                 std::span<const uint64_t> excluded, uint64_t* slots,
                                 ThreadScratch& scratch) {
  std::span<const float> weights =
      staged_ == nullptr ? rows_.Weights(row) : weight_rows_[i - weights_begin_];
  if (!excluded.empty()) {
    scratch.without_excluded.assign(weights.begin(), weights.end());
    for (const uint64_t slot : excluded) scratch.without_excluded[slot - row.begin] = 0;
    weights = scratch.without_excluded;
  }
  try {
    scratch.weighted.Load(weights);
  } catch (const BadWeight& bad) {
    rows_.ThrowBadWeight(Node(i), row.begin + bad.position, bad.weight);
  }
  const uint64_t count = scratch.weighted.Pick(spec_.fanout, NodeDraws(i), slots);
  for (uint64_t e = 0; e < count; ++e) slots[e] += row.begin;
  return count;
}

template <class Id>
void HopDrawer::ReadNeighbours(size_t i) {
  const uint64_t* const slots = Slots() + FirstEdge(i);
  uint64_t* const drawn = work_.drawn.data() + FirstEdge(i);
  const uint64_t count = Drawn(i);
  for (uint64_t e = 0; e < count; ++e) drawn[e] = rows_.Neighbour<Id>(Node(i), slots[e]);
}

// Edges of weight zero were counted and not drawn: moves the others together, in order.
uint64_t HopDrawer::CloseGaps() {
  uint64_t to = 0;
  base::CheckedLoop loop;
  for (size_t i = 0; i < spec_.size(); ++i) {
    loop.Next();
    const size_t from = FirstEdge(i);
    const uint64_t count = Drawn(i);
    std::copy_n(work_.drawn.data() + from, count, work_.drawn.data() + to);
    std::copy_n(Slots() + from, count, Slots() + to);
    work_.first_edge[spec_.begin + i] = spec_.edges_before + to;
    to += count;
  }
  work_.first_edge[spec_.end] = spec_.edges_before + to;
  return to;
}

}  // namespace graphzero::sample
