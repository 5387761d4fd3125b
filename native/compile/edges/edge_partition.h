// Edges divided by the row they belong to, and handed back row range by row range in order.
//
// The first division relies on a largest id that was guessed from a sample. A wrong guess costs
// only time: a bucket that exceeds its share of memory is divided again, by row, then within one
// row by the further levels of the requested order (row_order.h). So a graph of one hub needs no
// more memory than any other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/errors.h"
#include "compile/edges/edge_record.h"
#include "compile/edges/row_order.h"
#include "compile/spill/partition.h"

namespace graphzero::compile {

// Records that fit into memory, in no order.
template <class Record>
struct Leaf {
  KeyRange range;
  std::vector<std::span<const Record>> pieces;
  uint64_t size;  // of all pieces together
};

// How a bucket is divided: into leaves of at most `bytes`, and into at most `fan_out` parts at a
// time, each of which needs an open buffer. Only speed depends on these limits.
struct LeafLimits {
  uint64_t bytes;
  size_t fan_out;  // at least 2
};

template <class Record>
class EdgePartition {
 public:
  // Rows up to `expected_max_row` spread over at most `buckets` buckets; one more bucket takes
  // larger rows.
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

  // Ends writing. `bounds` must cover every record.
  void Close(const KeyBounds& bounds) {
    partition_.Close();
    bounds_ = bounds;
  }

  size_t buckets() const { return partition_.buckets(); }
  uint64_t total_records() const { return partition_.total_records(); }
  uint64_t records(size_t bucket) const { return partition_.records(bucket); }

  // Moves a bucket out as leaves within the limits, one after the other in the given order: calls
  // visit(leaf), or repeat(record, count) for `count` identical plain records that exceed a leaf.
  // Buckets may be visited by several threads, each bucket once.
  template <class Order, class Visit, class Repeat>
  void ForEachLeaf(size_t bucket, const Order& order, const LeafLimits& limits, Visit&& visit,
                   Repeat&& repeat) {
    const uint64_t low = uint64_t{bucket} << shift_;
    const uint64_t high = bucket < regular_ ? low + (uint64_t{1} << shift_) - 1 : bounds_.max_row;
    Descend(partition_, bucket, {0, low, high}, order, limits, visit, repeat);
  }

 private:
  static int ShiftFor(uint64_t max_row, size_t buckets) {
    int shift = 0;
    while ((max_row >> shift) >= buckets) ++shift;
    return shift;
  }

  template <class Order, class Visit, class Repeat>
  void Descend(Partition& from, size_t bucket, KeyRange range, const Order& order,
               const LeafLimits& limits, Visit& visit, Repeat& repeat) {
    const uint64_t count = from.records(bucket);
    if (count == 0) return;
    if (count * sizeof(Record) <= limits.bytes) {
      const Partition::View view = from.Take(bucket);
      visit(Leaf<Record>{range, view.template pieces<Record>(), count});
      return;
    }
    if (range.low == range.high) {
      if (range.level + 1 < Order::kLevels) {
        return Descend(from, bucket, order.Whole(range.level + 1, bounds_), order, limits, visit,
                       repeat);
      }
      if (!Record::kRich) return DescendIdentical(from, bucket, count, repeat);
      ThrowRepeatedNumber(from, bucket, count);
    }
    const uint64_t width = (range.high - range.low) / limits.fan_out + 1;
    Partition finer(store_, limits.fan_out, sizeof(Record), 1);
    from.Stream(bucket, [&](std::span<const std::byte> piece) {
      for (size_t at = 0; at < piece.size(); at += sizeof(Record)) {
        Record record;
        std::memcpy(&record, piece.data() + at, sizeof record);
        finer.writer(0).Push((order.Key(record, range.level) - range.low) / width, record);
      }
    });
    finer.Close();
    for (size_t i = 0; i < limits.fan_out; ++i) {
      // Times may use all 64 bits, so the sums below could wrap for a part beyond the range.
      if (i > (range.high - range.low) / width) break;
      const uint64_t low = range.low + i * width;
      const uint64_t high = range.high - low < width ? range.high : low + width - 1;
      Descend(finer, i, {range.level, low, high}, order, limits, visit, repeat);
    }
  }

  // Returns one record of a bucket whose records have all keys in common, and empties the bucket.
  static Record TakeOne(Partition& from, size_t bucket) {
    Record record{};
    from.Stream(bucket, [&](std::span<const std::byte> piece) {
      std::memcpy(&record, piece.data(), sizeof(Record));
    });
    return record;
  }

  template <class Repeat>
  static void DescendIdentical(Partition& from, size_t bucket, uint64_t count, Repeat& repeat) {
    repeat(TakeOne(from, bucket), count);
  }

  [[noreturn]] static void ThrowRepeatedNumber(Partition& from, size_t bucket, uint64_t count) {
    uint64_t edge = 0;
    if constexpr (Record::kRich) edge = TakeOne(from, bucket).rest.edge();
    throw InputError("found " + std::to_string(count) + " edges with the number " +
                     std::to_string(edge) + " between the same two nodes, expected one");
  }

  ExtentStore* store_;
  int shift_;
  uint64_t regular_;
  Partition partition_;
  KeyBounds bounds_;
};

}  // namespace graphzero::compile
