// Turns the records of a leaf into rows in the order of the format: by row, then neighbour, then
// edge number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "compile/edge_partition.h"

namespace graphzero::compile {

struct RowCount {
  uint64_t row;
  uint64_t count;
};

// Reused from leaf to leaf by one thread.
template <class Record>
class RowSorter {
 public:
  using Slot = typename Record::Slot;

  // Afterwards rows() lists the non-empty rows in order and slots() their slots one after the
  // other.
  void Sort(const Leaf<Record>& leaf) {
    const uint64_t span = leaf.range.level == 0 ? leaf.range.high - leaf.range.low + 1 : 1;
    const uint64_t first = leaf.range.level == 0 ? leaf.range.low : leaf.records.front().row;
    rows_.clear();
    slots_.resize(leaf.records.size());
    // Counting touches every id of the range; far more ids than records are better sorted.
    if (span / 8 <= leaf.records.size() + 1024) {
      SortByCounting(leaf.records, first, span);
    } else {
      SortByComparing(leaf.records);
    }
    uint64_t begin = 0;
    for (const RowCount& row : rows_) {
      SortRow(std::span(slots_).subspan(begin, row.count));
      begin += row.count;
    }
  }

  // Keeps the first of the slots of each row that have the same neighbour.
  void DropRepeats() {
    uint64_t from = 0;
    uint64_t to = 0;
    for (RowCount& row : rows_) {
      const uint64_t row_begin = to;
      for (uint64_t i = 0; i < row.count; ++i, ++from) {
        if (to == row_begin || slots_[to - 1].neighbour != slots_[from].neighbour) {
          slots_[to++] = slots_[from];
        }
      }
      row.count = to - row_begin;
    }
    slots_.resize(to);
  }

  std::span<const RowCount> rows() const { return rows_; }
  std::span<const Slot> slots() const { return slots_; }

 private:
  void SortByCounting(std::span<const Record> records, uint64_t first, uint64_t span) {
    starts_.assign(span + 1, 0);
    for (const Record& record : records) ++starts_[record.row - first + 1];
    for (uint64_t i = 0; i < span; ++i) {
      if (starts_[i + 1] != 0) rows_.push_back({first + i, starts_[i + 1]});
      starts_[i + 1] += starts_[i];
    }
    for (const Record& record : records) {
      slots_[starts_[record.row - first]++] = record.slot();
    }
  }

  void SortByComparing(std::span<const Record> records) {
    order_.resize(records.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](size_t a, size_t b) { return records[a].row < records[b].row; });
    for (size_t i = 0; i < order_.size(); ++i) {
      const Record& record = records[order_[i]];
      if (rows_.empty() || rows_.back().row != record.row) rows_.push_back({record.row, 0});
      ++rows_.back().count;
      slots_[i] = record.slot();
    }
  }

  static void SortRow(std::span<Slot> row) {
    constexpr size_t kSmall = 16;
    if (row.size() > kSmall) return std::sort(row.begin(), row.end());
    for (size_t i = 1; i < row.size(); ++i) {
      const Slot slot = row[i];
      size_t at = i;
      for (; at > 0 && slot < row[at - 1]; --at) row[at] = row[at - 1];
      row[at] = slot;
    }
  }

  std::vector<uint64_t> starts_;
  std::vector<size_t> order_;
  std::vector<RowCount> rows_;
  std::vector<Slot> slots_;
};

}  // namespace graphzero::compile
