// The hop of a LABOR sample: every row, or a window of a long one, is read as a whole, and the
// edges to the nodes with the smallest numbers are taken (labor_pick.h).
#include <algorithm>
#include <array>
#include <limits>

#include "base/prefetch.h"
#include "sample/neighbours/hop.h"
#include "sample/rows/row_batches.h"

namespace graphzero::sample {
namespace {

// Nodes that a thread takes at a time: fewer than for independent draws (hop.cpp), which read only
// few slots of a row.
constexpr size_t kGrain = 128;
// Rows between two looks at whether the call was stopped; some 100 microseconds at most.
constexpr size_t kCheckedRows = 32;
// The first cache lines of a row are prefetched this many rows ahead. The hardware prefetcher
// fetches the rest.
constexpr size_t kRowsAhead = 4;
constexpr size_t kLinesAhead = 16;

// The slots of a row that are looked at: one range, or one at each end of the row.
struct Window {
  std::array<store::SlotRange, 2> pieces;
  double share = 1;  // slots of the row for each slot of the window

  uint64_t size() const { return pieces[0].size() + pieces[1].size(); }
  bool is_one_piece() const { return pieces[1].size() == 0; }
  uint64_t SlotAt(uint64_t position) const {
    const uint64_t first = pieces[0].size();
    return position < first ? pieces[0].begin + position : pieces[1].begin + position - first;
  }
};

// The window of one row, as it was read.
template <class Id>
struct WindowItems {
  Window window;
  std::array<std::span<const Id>, 2> ids;
  std::array<std::span<const float>, 2> weights;
};

// What an array has for the windows of rows, read from disk all at once.
template <class T>
class ReadWindows {
 public:
  // The bytes that the lists below, and those of wanted ranges and blocks, take for a window. A
  // short row lies in one or two blocks.
  static constexpr uint64_t kRowBytes = sizeof(store::SlotRange) + sizeof(std::span<const T>) +
                                        sizeof(io::WantedRange) + 2 * sizeof(io::WantedItem);

  // Forgets all windows; the next ones are those of rows from `first` on.
  void Begin(size_t first) {
    first_ = first;
    pieces_.Clear();
    wrapped_.clear();
    second_pieces_.Clear();
  }
  void Add(size_t row, const Window& window) {
    pieces_.Add(window.pieces[0]);
    if (window.is_one_piece()) return;
    wrapped_.push_back(row);
    second_pieces_.Add(window.pieces[1]);
  }
  void Want(const DiskTopology& disk, const T* array, base::WorkVector<io::WantedRange>& wanted) {
    pieces_.Want(disk, array, wanted);
    second_pieces_.Want(disk, array, wanted);
  }
  void Find(size_t row, const Window& window, std::array<std::span<const T>, 2>& found) const {
    found[0] = pieces_[row - first_];
    if (window.is_one_piece()) return;
    const auto at = std::lower_bound(wrapped_.begin(), wrapped_.end(), row);
    found[1] = second_pieces_[static_cast<size_t>(at - wrapped_.begin())];
  }

 private:
  size_t first_ = 0;
  ReadPieces<T> pieces_;
  // Few windows go on from the last slot of their row to the first: these rows, and what lies
  // there.
  base::WorkVector<size_t> wrapped_;
  ReadPieces<T> second_pieces_;
};

// Calls body(rank, begin, end, items) as ForRanges() does, where items(i, window_of(i)) are the
// WindowItems of row i, with weights or without.
template <class Id, class WindowOf, class Body>
void ForWindows(const Rows& rows, base::ThreadLease& lease, size_t count, bool weighted,
                const WindowOf& window_of, const Body& body) {
  const Id* const ids = rows.Ids<Id>({}).data();
  const float* const weights = rows.adjacency.weights;
  if (rows.disk == nullptr) {
    const auto items = [&](size_t, const Window& window) {
      WindowItems<Id> found{window, {}, {}};
      for (size_t p = 0; p < 2; ++p) {
        const store::SlotRange& range = window.pieces[p];
        found.ids[p] = {ids + range.begin, range.size()};
        if (weighted) found.weights[p] = {weights + range.begin, range.size()};
      }
      return found;
    };
    lease.For(count, kGrain,
              [&](int rank, size_t begin, size_t end) { body(rank, begin, end, items); });
    return;
  }
  ReadWindows<Id> read_ids;
  ReadWindows<float> read_weights;
  base::WorkVector<io::WantedRange> wanted;
  const auto items = [&](size_t i, const Window& window) {
    WindowItems<Id> found{window, {}, {}};
    read_ids.Find(i, window, found.ids);
    if (weighted) read_weights.Find(i, window, found.weights);
    return found;
  };
  const auto read = [&](size_t first, size_t last) {
    read_ids.Begin(first);
    read_weights.Begin(first);
    wanted.clear();
    base::CheckedLoop loop;
    for (size_t i = first; i < last; ++i) {
      loop.Next();
      const Window window = window_of(i);
      read_ids.Add(i, window);
      if (weighted) read_weights.Add(i, window);
    }
    read_ids.Want(*rows.disk, ids, wanted);
    if (weighted) read_weights.Want(*rows.disk, weights, wanted);
    const base::ThreadLease::Pause pause;
    rows.disk->ReadRanges(wanted);
  };
  const uint64_t slot_bytes = sizeof(Id) + (weighted ? sizeof(float) : 0);
  const uint64_t row_bytes = (weighted ? 2 : 1) * ReadWindows<Id>::kRowBytes;
  ForReadTogether(
      lease, count, kGrain, [&](size_t i) { return row_bytes + window_of(i).size() * slot_bytes; },
      read, [&](int rank, size_t begin, size_t end) { body(rank, begin, end, items); });
}

// max(w, 1 / tau), times the number of slots of the row for which one slot of the window stands.
float Scale(float weight, const LaborPicked& picked, double share) {
  const double scale = std::max<double>(weight, picked.inverse_tau) * share;
  return static_cast<float>(std::min<double>(scale, std::numeric_limits<float>::max()));
}

}  // namespace

template <class Id>
void HopDrawer::DrawLabor() {
  const LaborRequest& labor = *spec_.labor;
  const LaborNumbers numbers(labor, spec_.found_type, spec_.number);
  const LaborPeriods periods(labor, spec_.expanded_type);
  const Draws starts = RequestDraws(labor.run_seed, Domain::kLaborWindows, spec_.relation);
  const bool all = spec_.fanout.edges == Fanout::kAll;
  const uint64_t most =
      all ? UINT64_MAX : std::max(kLaborWindow, static_cast<uint64_t>(spec_.fanout.edges) + 1);
  const auto window_of = [&](size_t i) -> Window {
    const uint64_t degree = work_.row_degree[i];
    const store::SlotRange row = Row(i);
    if (degree <= most) return {{row, {row.end, row.end}}};
    const uint64_t start = LaborWindowStart(labor, periods, starts, spec_.number, Node(i), degree);
    // Positions count only slots that are not excluded.
    const auto slot = [&](uint64_t position) {
      return SlotWithout(Excluded(i), row.begin, position);
    };
    const double share = static_cast<double>(degree) / static_cast<double>(most);
    if (start <= degree - most) {
      return {{{{slot(start), slot(start + most - 1) + 1}, {row.end, row.end}}}, share};
    }
    return {{{{row.begin, slot(start + most - 1 - degree) + 1}, {slot(start), row.end}}}, share};
  };
  const bool mapped = rows_.disk == nullptr;
  const auto prefetched = [&](size_t i) {
    const Window window = window_of(i);
    if (mapped) {
      for (const store::SlotRange& piece : window.pieces) PrefetchPiece<Id>(piece);
    }
    return window;
  };
  ForWindows<Id>(rows_, lease_, spec_.size(), spec_.weighted, window_of,
                 [&](int rank, size_t begin, size_t end, const auto& items) {
                   ThreadScratch& scratch = work_.scratch[static_cast<size_t>(rank)];
                   std::array<Window, kRowsAhead> ahead;
                   const size_t primed = std::min(begin + kRowsAhead, end);
                   for (size_t i = begin; i < primed; ++i) ahead[i % kRowsAhead] = prefetched(i);
                   for (size_t i = begin; i < end; ++i) {
                     if ((i - begin) % kCheckedRows == 0) base::CheckStopped();
                     Window& next = ahead[i % kRowsAhead];
                     const Window window = next;
                     if (i + kRowsAhead < end) next = prefetched(i + kRowsAhead);
                     PickLabor<Id>(i, items(i, window), numbers, scratch);
                   }
                 });
}
template void HopDrawer::DrawLabor<uint32_t>();
template void HopDrawer::DrawLabor<uint64_t>();

template <class Id>
void HopDrawer::PrefetchPiece(const store::SlotRange& slots) const {
  const size_t bytes = std::min<size_t>(slots.size() * sizeof(Id), kLinesAhead * base::kCacheLine);
  base::PrefetchLines(rows_.Ids<Id>({}).data() + slots.begin, bytes);
}

template <class Id, class Items>
void HopDrawer::PickLabor(size_t i, const Items& row, const LaborNumbers& numbers,
                          ThreadScratch& scratch) {
  const Window& window = row.window;
  const std::span<const uint64_t> excluded = Excluded(i);
  // Two pieces need not be joined, unless a neighbour at the end of the first goes on in the
  // second.
  const bool apart = window.is_one_piece() ||
                     (!spec_.weighted && rows_.sorted && row.ids[0].back() != row.ids[1].front());
  const bool as_it_lies = apart && excluded.empty();
  auto& row_ids = scratch.row_ids<Id>();
  if (!as_it_lies) {
    row_ids.clear();
    scratch.row_weights.clear();
    scratch.row_slots.clear();
    for (size_t p = 0; p < 2; ++p) {
      if (excluded.empty()) {
        row_ids.insert(row_ids.end(), row.ids[p].begin(), row.ids[p].end());
        scratch.row_weights.insert(scratch.row_weights.end(), row.weights[p].begin(),
                                   row.weights[p].end());
        continue;
      }
      for (uint64_t at = 0; at < window.pieces[p].size(); ++at) {
        const uint64_t slot = window.pieces[p].begin + at;
        if (std::binary_search(excluded.begin(), excluded.end(), slot)) continue;
        row_ids.push_back(row.ids[p][at]);
        if (spec_.weighted) scratch.row_weights.push_back(row.weights[p][at]);
        scratch.row_slots.push_back(slot);
      }
    }
  }
  uint64_t* const slots = Slots() + FirstEdge(i);
  uint64_t* const drawn = edges_.drawn.data() + FirstEdge(i);
  const uint64_t most = FirstEdge(i + 1) - FirstEdge(i);
  const auto slot_at = [&](uint64_t at) {
    return excluded.empty() ? window.SlotAt(at) : scratch.row_slots[at];
  };
  const auto take = [&](const LaborRow<Id>& some) {
    LaborPicked picked;
    try {
      picked = scratch.labor.Pick(some, most, numbers, slots);
    } catch (const BadWeight& bad) {
      rows_.ThrowBadWeight(Node(i), slot_at(bad.position), bad.weight);
    }
    for (uint64_t e = 0; e < picked.count; ++e) {
      const uint64_t at = slots[e];
      const uint64_t id = store::ReadOnce(some.At(at));
      slots[e] = slot_at(at);
      rows_.CheckNeighbour(Node(i), slots[e], id);
      drawn[e] = id;
      if (scaled()) Scales()[FirstEdge(i) + e] = Scale(some.weights[at], picked, window.share);
    }
    if (spec_.weighted) work_.short_by[i] = static_cast<uint32_t>(most - picked.count);
  };
  if (as_it_lies) {
    take(LaborRow<Id>{row.ids[0], row.weights[0], rows_.sorted, row.ids[1]});
  } else {
    take(LaborRow<Id>{row_ids, scratch.row_weights, rows_.sorted, {}});
  }
}

}  // namespace graphzero::sample
