// The hop of a LABOR sample: short rows are looked at as a whole, of long ones a window
// (labor_window.h), and the edges to the nodes with the smallest numbers are taken (labor_pick.h).
#include <algorithm>
#include <array>
#include <limits>

#include "base/prefetch.h"
#include "sample/neighbours/hop.h"
#include "sample/pick/labor_window.h"
#include "sample/rows/row_batches.h"

namespace graphzero::sample {

// The slots of a row that are looked at: all of them, or those of a window, in rising order.
struct HopDrawer::LookedAt {
  std::array<store::SlotRange, kLaborPieces + 1> pieces;
  size_t count = 0;
  uint64_t slots = 0;  // of all pieces, excluded ones included

  void Add(const store::SlotRange& piece) {
    pieces[count++] = piece;
    slots += piece.size();
  }
  std::span<const store::SlotRange> all() const { return {pieces.data(), count}; }
};

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

// A piece of what is looked at, as it was read.
template <class Id>
struct PieceItems {
  std::span<const Id> ids;
  std::span<const float> weights;
};

// What an array has for the pieces of several rows, read from disk all at once.
template <class T>
class ReadRowPieces {
 public:
  // The bytes that the lists below, and those of wanted ranges and blocks, take for a piece. A
  // short piece lies in one or two blocks.
  static constexpr uint64_t kPieceBytes = sizeof(size_t) + sizeof(store::SlotRange) +
                                          sizeof(std::span<const T>) + sizeof(io::WantedRange) +
                                          2 * sizeof(io::WantedItem);

  // Forgets all pieces; the next ones are those of row `first`.
  void Begin(size_t first) {
    first_row_ = first;
    first_piece_.clear();
    pieces_.Clear();
    count_ = 0;
  }
  // Adds the pieces of the next row.
  void AddRow(std::span<const store::SlotRange> pieces) {
    first_piece_.push_back(count_);
    for (const store::SlotRange& piece : pieces) pieces_.Add(piece);
    count_ += pieces.size();
  }
  void Want(const DiskTopology& disk, const T* array, base::WorkVector<io::WantedRange>& wanted) {
    pieces_.Want(disk, array, wanted);
  }
  std::span<const T> Piece(size_t row, size_t number) const {
    return pieces_[first_piece_[row - first_row_] + number];
  }

 private:
  size_t first_row_ = 0;
  base::WorkVector<size_t> first_piece_;  // of each row
  ReadPieces<T> pieces_;
  size_t count_ = 0;
};

// Calls body(rank, begin, end, items) as ForRanges() does, where items(i, looked, p) are the
// PieceItems of piece p of row i, with weights or without, and `looked` is looked_at(i).
template <class Id, class LookAt, class Body>
void ForPieces(const Rows& rows, base::ThreadLease& lease, size_t count, bool weighted,
               const LookAt& look_at, const Body& body) {
  const Id* const ids = rows.Ids<Id>({}).data();
  const float* const weights = rows.adjacency.weights;
  if (rows.disk == nullptr) {
    const auto items = [&](size_t, const auto& looked, size_t p) -> PieceItems<Id> {
      const store::SlotRange& piece = looked.pieces[p];
      if (!weighted) return {{ids + piece.begin, piece.size()}, {}};
      return {{ids + piece.begin, piece.size()}, {weights + piece.begin, piece.size()}};
    };
    lease.For(count, kGrain,
              [&](int rank, size_t begin, size_t end) { body(rank, begin, end, items); });
    return;
  }
  ReadRowPieces<Id> read_ids;
  ReadRowPieces<float> read_weights;
  base::WorkVector<io::WantedRange> wanted;
  const auto items = [&](size_t i, const auto&, size_t p) -> PieceItems<Id> {
    if (!weighted) return {read_ids.Piece(i, p), {}};
    return {read_ids.Piece(i, p), read_weights.Piece(i, p)};
  };
  const auto read = [&](size_t first, size_t last) {
    read_ids.Begin(first);
    read_weights.Begin(first);
    wanted.clear();
    base::CheckedLoop loop;
    for (size_t i = first; i < last; ++i) {
      loop.Next();
      const auto looked = look_at(i);
      read_ids.AddRow(looked.all());
      if (weighted) read_weights.AddRow(looked.all());
    }
    read_ids.Want(*rows.disk, ids, wanted);
    if (weighted) read_weights.Want(*rows.disk, weights, wanted);
    const base::ThreadLease::Pause pause;
    rows.disk->ReadRanges(wanted);
  };
  const uint64_t slot_bytes = sizeof(Id) + (weighted ? sizeof(float) : 0);
  const uint64_t piece_bytes = (weighted ? 2 : 1) * ReadRowPieces<Id>::kPieceBytes;
  const auto bytes_of = [&](size_t i) {
    const auto looked = look_at(i);
    return looked.count * piece_bytes + looked.slots * slot_bytes;
  };
  ForReadTogether(lease, count, kGrain, bytes_of, read,
                  [&](int rank, size_t begin, size_t end) { body(rank, begin, end, items); });
}

// max(w, 1 / tau), times the number of slots of the row for each that is looked at.
float Scale(float weight, const LaborPicked& picked, double share) {
  const double scale = std::max<double>(weight, picked.inverse_tau) * share;
  return static_cast<float>(std::min<double>(scale, std::numeric_limits<float>::max()));
}

}  // namespace

template <class Id>
void HopDrawer::DrawLabor() {
  const LaborRequest& labor = *spec_.labor;
  const LaborNumbers numbers(labor, spec_.found_type, spec_.number);
  const LaborWindows windows(labor, spec_.relation, spec_.expanded_type, spec_.number, spec_.fanout,
                             spec_.weighted);
  const auto look_at = [&](size_t i) {
    const store::SlotRange row = Row(i);
    const uint64_t degree = work_.row_degree[i];
    LookedAt looked;
    if (windows.IsWhole(degree)) {
      looked.Add(row);
      return looked;
    }
    // Positions count only slots that are not excluded.
    const auto slot = [&](uint64_t position) {
      return SlotWithout(Excluded(i), row.begin, position);
    };
    for (const LaborPieces::Piece& piece : windows.Of(Node(i), degree)) {
      looked.Add({slot(piece.begin), slot(piece.end - 1) + 1});
    }
    return looked;
  };
  const bool mapped = rows_.disk == nullptr;
  const auto prefetch = [&](size_t i, LookedAt& looked) {
    looked = look_at(i);
    if (!mapped) return;
    for (const store::SlotRange& piece : looked.all()) PrefetchPiece<Id>(piece);
  };
  ForPieces<Id>(rows_, lease_, spec_.size(), spec_.weighted, look_at,
                [&](int rank, size_t begin, size_t end, const auto& items) {
                  ThreadScratch& scratch = work_.scratch[static_cast<size_t>(rank)];
                  std::array<LookedAt, kRowsAhead + 1> coming;  // row i in place i % size()
                  const size_t primed = std::min(begin + kRowsAhead, end);
                  for (size_t i = begin; i < primed; ++i) prefetch(i, coming[i % coming.size()]);
                  for (size_t i = begin; i < end; ++i) {
                    if ((i - begin) % kCheckedRows == 0) base::CheckStopped();
                    const size_t ahead = i + kRowsAhead;
                    if (ahead < end) prefetch(ahead, coming[ahead % coming.size()]);
                    PickLabor<Id>(i, coming[i % coming.size()], items, numbers, scratch);
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

// The slots that are looked at as one row: as they lie, or a copy of them.
template <class Id, class Items>
LaborRow<Id> HopDrawer::JoinPieces(size_t i, const LookedAt& looked, const Items& items,
                                   ThreadScratch& scratch) {
  const std::span<const uint64_t> excluded = Excluded(i);
  if (looked.count == 1 && excluded.empty()) {
    const PieceItems<Id> whole = items(i, looked, 0);
    return {whole.ids, whole.weights, rows_.sorted};
  }
  base::Buffer<Id>& ids = scratch.row_ids<Id>();
  base::Buffer<float>& weights = scratch.row_weights;
  ids.Reserve(looked.slots);
  if (spec_.weighted) weights.Reserve(looked.slots);
  if (!excluded.empty()) scratch.row_slots.Reserve(looked.slots);
  size_t count = 0;
  for (size_t p = 0; p < looked.count; ++p) {
    const PieceItems<Id> piece = items(i, looked, p);
    if (excluded.empty()) {
      std::copy(piece.ids.begin(), piece.ids.end(), ids.data() + count);
      if (spec_.weighted) {
        std::copy(piece.weights.begin(), piece.weights.end(), weights.data() + count);
      }
      count += piece.ids.size();
      continue;
    }
    for (uint64_t at = 0; at < piece.ids.size(); ++at) {
      const uint64_t slot = looked.pieces[p].begin + at;
      if (std::binary_search(excluded.begin(), excluded.end(), slot)) continue;
      ids[count] = piece.ids[at];
      if (spec_.weighted) weights[count] = piece.weights[at];
      scratch.row_slots[count++] = slot;
    }
  }
  return {{ids.data(), count}, {weights.data(), spec_.weighted ? count : 0}, rows_.sorted};
}

template <class Id, class Items>
void HopDrawer::PickLabor(size_t i, const LookedAt& looked, const Items& items,
                          const LaborNumbers& numbers, ThreadScratch& scratch) {
  const uint64_t most = FirstEdge(i + 1) - FirstEdge(i);
  if (most == 0) {
    if (spec_.weighted) work_.short_by[i] = 0;
    return;
  }
  const LaborRow<Id> row = JoinPieces<Id>(i, looked, items, scratch);
  const bool has_excluded = !Excluded(i).empty();
  const auto slot_at = [&](uint64_t position) {
    if (has_excluded) return scratch.row_slots[position];
    size_t p = 0;
    for (; position >= looked.pieces[p].size(); ++p) position -= looked.pieces[p].size();
    return looked.pieces[p].begin + position;
  };
  uint64_t* const slots = Slots() + FirstEdge(i);
  uint64_t* const drawn = edges_.drawn.data() + FirstEdge(i);
  LaborPicked picked;
  try {
    picked = scratch.labor.Pick(row, most, numbers, slots);
  } catch (const BadWeight& bad) {
    rows_.ThrowBadWeight(Node(i), slot_at(bad.position), bad.weight);
  }
  uint64_t largest = 0;
  for (uint64_t e = 0; e < picked.count; ++e) {
    drawn[e] = store::ReadOnce(&row.ids[slots[e]]);
    largest = std::max(largest, drawn[e]);
  }
  if (scaled()) {
    float* const scales = Scales() + FirstEdge(i);
    const double share = static_cast<double>(work_.row_degree[i]) / static_cast<double>(row.size());
    for (uint64_t e = 0; e < picked.count; ++e) {
      scales[e] = Scale(row.weights[slots[e]], picked, share);
    }
  }
  if (looked.count == 1 && !has_excluded) {
    for (uint64_t e = 0; e < picked.count; ++e) slots[e] += looked.pieces[0].begin;
  } else {
    for (uint64_t e = 0; e < picked.count; ++e) slots[e] = slot_at(slots[e]);
  }
  if (largest >= rows_.adjacency.neighbour_bound) [[unlikely]]
    ThrowIfDamaged(FirstEdge(i), FirstEdge(i) + picked.count);
  if (spec_.weighted) work_.short_by[i] = static_cast<uint32_t>(most - picked.count);
}

}  // namespace graphzero::sample
