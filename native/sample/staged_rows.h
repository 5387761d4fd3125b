// Checked rows of an adjacency that is not in memory: as rows.h, for programs that wait for reads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "sample/block_search.h"
#include "sample/read_rounds.h"
#include "sample/rows.h"

namespace graphzero::sample {

template <class Id>
class StagedRows {
 public:
  // `sorted` says of the file that its rows are.
  StagedRows(ReadRounds& rounds, const Rows& rows, bool sorted)
      : rounds_(rounds), rows_(rows), sorted_(sorted) {}

  ReadRounds& rounds() const { return rounds_; }
  const Rows& rows() const { return rows_; }
  bool sorted() const { return sorted_; }

  // Needs node < adjacency.rows. Throws FormatError.
  Reading<store::SlotRange> Row(uint64_t node) const {
    std::array<uint64_t, 2> pair;
    co_await rounds_.Read(rows_.adjacency.indptr + node, sizeof(pair), pair.data());
    const store::SlotRange row{pair[0], pair[1]};
    if (row.begin > row.end || row.end > rows_.adjacency.edges) rows_.ThrowDamagedRow(node, row);
    co_return row;
  }

  // Below the bound. Throws FormatError.
  Reading<uint64_t> Neighbour(uint64_t node, uint64_t slot) const {
    Id id;
    co_await rounds_.Read(Ids() + slot, sizeof(id), &id);
    if (id >= rows_.adjacency.neighbour_bound) rows_.ThrowDamagedNeighbour(node, slot, id);
    co_return id;
  }

  // Whether the row has an edge to x.
  Reading<bool> Contains(store::SlotRange row, uint64_t x) const {
    if (sorted_) {
      const Found found = co_await FirstFrom(row, x);
      co_return found.equal;
    }
    const ReadRounds::Ranges loaded = co_await rounds_.Load({IdBytes(row)});
    const std::span<const Id> ids = As<Id>(loaded[0]);
    co_return std::find(ids.begin(), ids.end(), x) != ids.end();
  }

  // In a sorted row: the first slot whose neighbour is at least x.
  Reading<Found> FirstFrom(store::SlotRange row, uint64_t x) const {
    return LowerBound(rounds_, Ids(), row.begin, row.end, x, rows_.adjacency.neighbour_bound);
  }

  // What Load() takes, and what it gives.
  std::span<const std::byte> IdBytes(const store::SlotRange& row) const {
    return std::as_bytes(std::span<const Id>(Ids() + row.begin, row.size()));
  }
  std::span<const std::byte> WeightBytes(const store::SlotRange& row) const {
    return std::as_bytes(rows_.Weights(row));
  }
  template <class T>
  static std::span<const T> As(std::span<const std::byte> loaded) {
    return {reinterpret_cast<const T*>(loaded.data()), loaded.size() / sizeof(T)};
  }

 private:
  const Id* Ids() const { return static_cast<const Id*>(rows_.adjacency.neighbours.data); }

  ReadRounds& rounds_;
  const Rows& rows_;
  const bool sorted_;
};

}  // namespace graphzero::sample
