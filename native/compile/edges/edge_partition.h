// Edges divided by the row they belong to, and handed back row range by row range in order.
//
// A first division guesses the largest id from a sample. Whatever the guess, the data decides: a
// bucket that exceeds its share of memory is divided again, by row, then by neighbour within one
// row, then by edge number within one pair of nodes. So a graph of one hub needs no more memory
// than any other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/errors.h"
#include "compile/edges/edge_record.h"
#include "compile/spill/partition.h"

namespace graphzero::compile {

// Inclusive limits of the ids seen, for dividing.
struct KeyBounds {
  uint64_t max_row = 0;
  uint64_t max_neighbour = 0;
  uint64_t max_edge = 0;
};

// What a bucket may hold: `level` 0 divides by row, 1 by neighbour, 2 by edge number; on the levels
// above it all records agree.
struct KeyRange {
  int level = 0;
  uint64_t low = 0;
  uint64_t high = 0;  // inclusive
};

// Records that fit into memory, in no order.
template <class Record>
struct Leaf {
  KeyRange range;
  std::vector<std::span<const Record>> pieces;
  uint64_t size;  // of all pieces together
};

// How a bucket may be taken apart: leaves of at most `bytes`, and at most `fan_out` parts at a
// time, for each of which a buffer is open. Only speed depends on it.
struct LeafLimits {
  uint64_t bytes;
  size_t fan_out;  // at least 2
};

template <class Record>
class EdgePartition {
 public:
  // Rows up to `expected_max_row` spread over at most `buckets` buckets; one more takes the rest.
  EdgePartition(ExtentStore* store, uint64_t expected_max_row, size_t buckets, int writers)
      : store_(store),
        shift_(ShiftFor(expected_max_row, buckets)),
        regular_((expected_max_row >> shift_) + 1),
        partition_(store, regular_ + 1, sizeof(Record), writers) {}

  void Push(Partition::Writer& writer, const Record& record) {
    const uint64_t bucket = uint64_t{record.row} >> shift_;
    writer.Push(bucket < regular_ ? bucket : regular_, record);
  }

  Partition::Writer& writer(int rank) { return partition_.writer(rank); }

  // Ends writing; `bounds` are those of every record.
  void Close(const KeyBounds& bounds) {
    partition_.Close();
    bounds_ = bounds;
  }

  size_t buckets() const { return partition_.buckets(); }
  uint64_t total_records() const { return partition_.total_records(); }
  uint64_t records(size_t bucket) const { return partition_.records(bucket); }

  // Moves a bucket out as leaves within the limits, in the order of their keys: calls
  // visit(leaf), or repeat(record, count) for `count` identical plain records that exceed a leaf.
  // Buckets may be visited by several threads, each bucket once.
  template <class Visit, class Repeat>
  void ForEachLeaf(size_t bucket, const LeafLimits& limits, Visit&& visit, Repeat&& repeat) {
    const uint64_t low = uint64_t{bucket} << shift_;
    const uint64_t high = bucket < regular_ ? low + (uint64_t{1} << shift_) - 1 : bounds_.max_row;
    Descend(partition_, bucket, {0, low, high}, limits, visit, repeat);
  }

 private:
  static int ShiftFor(uint64_t max_row, size_t buckets) {
    int shift = 0;
    while ((max_row >> shift) >= buckets) ++shift;
    return shift;
  }

  static uint64_t KeyAt(const Record& record, int level) {
    return level == 0 ? uint64_t{record.row} : level == 1 ? NeighbourOf(record) : record.edge();
  }

  template <class Visit, class Repeat>
  void Descend(Partition& from, size_t bucket, KeyRange range, const LeafLimits& limits,
               Visit& visit, Repeat& repeat) {
    const uint64_t count = from.records(bucket);
    if (count == 0) return;
    if (count * sizeof(Record) <= limits.bytes) {
      const Partition::View view = from.Take(bucket);
      visit(Leaf<Record>{range, view.template pieces<Record>(), count});
      return;
    }
    if (range.low == range.high) {
      if (range.level == 1 && !Record::kRich) return DescendIdentical(from, bucket, count, repeat);
      if (range.level == 2) {
        throw InputError("found " + std::to_string(count) + " edges with the number " +
                         std::to_string(range.low) + " between the same two nodes, expected one");
      }
      const uint64_t high = range.level == 0 ? bounds_.max_neighbour : bounds_.max_edge;
      return Descend(from, bucket, {range.level + 1, 0, high}, limits, visit, repeat);
    }
    const uint64_t width = (range.high - range.low) / limits.fan_out + 1;
    Partition finer(store_, limits.fan_out, sizeof(Record), 1);
    from.Stream(bucket, [&](std::span<const std::byte> piece) {
      for (size_t at = 0; at < piece.size(); at += sizeof(Record)) {
        Record record;
        std::memcpy(&record, piece.data() + at, sizeof record);
        finer.writer(0).Push((KeyAt(record, range.level) - range.low) / width, record);
      }
    });
    finer.Close();
    for (size_t i = 0; i < limits.fan_out; ++i) {
      const uint64_t low = range.low + i * width;
      Descend(finer, i, {range.level, low, std::min(low + width - 1, range.high)}, limits, visit,
              repeat);
    }
  }

  template <class Repeat>
  static void DescendIdentical(Partition& from, size_t bucket, uint64_t count, Repeat& repeat) {
    std::optional<Record> record;
    from.Stream(bucket, [&](std::span<const std::byte> piece) {
      std::memcpy(&record.emplace(), piece.data(), sizeof(Record));
    });
    repeat(*record, count);
  }

  ExtentStore* store_;
  int shift_;
  uint64_t regular_;
  Partition partition_;
  KeyBounds bounds_;
};

}  // namespace graphzero::compile
