// From global node id to local id in each tree of a disjoint sample.
//
// Trees share no node, so each has a table of its own. All lie in one array. A tree of a few
// hundred nodes has a table of a few kilobytes: edges come tree by tree, and while those of one
// tree get their local ids, its table is in the L1 cache. One table for all trees would need the
// tree in its keys, and nearly every lookup would miss the L2 cache.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/id_table.h"

namespace graphzero::sample {

// Working memory that is kept between calls; used by one thread at a time.
template <class Key>
class TreeTables {
 public:
  using View = typename IdTable<Key>::View;
  using ConstView = typename IdTable<Key>::ConstView;

  // Makes this many trees, all without ids.
  void Reset(size_t trees) {
    tables_.Reserve(trees);
    base::ForEach(trees, [&](size_t tree) { tables_[tree] = {}; });
    entries_.Reserve(size_t{1} << kLeast);
    Table none;
    ViewOf(none).Clear();
    used_ = size_t{1} << kLeast;
  }

  // Entries that MakeRoom() would add to the array.
  size_t Wanted(LocalId tree, size_t more) const {
    const Table& table = tables_[tree];
    return HasRoom(table, more) ? 0 : size_t{1} << Log2Grown(table, more);
  }
  // Makes the array long enough for `entries` more entries at once: growing step by step would copy
  // it each time and would need its memory twice during the copy.
  void Reserve(size_t entries) { entries_.Reserve(used_ + entries, used_); }

  // Makes room for `more` ids in the table of a tree. Invalidates all views.
  //
  // A table that grows is copied to the end of the array and at least doubles, so that the old
  // tables of a tree together take no more memory than its current one. A small table that grows
  // gets twice the room that it needs, because several relations may find nodes of one type in a
  // hop.
  void MakeRoom(LocalId tree, size_t more) {
    Table& table = tables_[tree];
    if (HasRoom(table, more)) return;
    const int log2_capacity = Log2Grown(table, more);
    Table grown{used_, table.ids, log2_capacity};
    entries_.Reserve(used_ + (size_t{1} << log2_capacity), used_);
    used_ += size_t{1} << log2_capacity;
    const View to = ViewOf(grown);
    to.Clear();
    // Both tables have their entries nearly in the order of hashes, so this loop goes through both
    // from front to back. It first lists the entries that are not free, without a branch, which
    // would be mispredicted often.
    const IdEntry<Key>* const from = entries_.data() + table.begin;
    const size_t capacity = size_t{1} << table.log2_capacity;
    base::CheckedLoop loop;
    for (size_t begin = 0; begin < capacity; begin += kListed) {
      loop.Next();
      IdEntry<Key> listed[kListed];
      size_t count = 0;
      for (size_t i = begin; i < std::min(begin + kListed, capacity); ++i) {
        listed[count] = from[i];
        count += from[i].local != kNoLocalId;
      }
      for (size_t i = 0; i < count; ++i) to.InsertNew(listed[i]);
    }
    table = grown;
  }

  // Records that `ids` ids were inserted, for which MakeRoom() has made room.
  void Added(LocalId tree, size_t ids) { tables_[tree].ids += static_cast<LocalId>(ids); }

  View Of(LocalId tree) { return ViewOf(tables_[tree]); }
  ConstView Of(LocalId tree) const {
    const Table& table = tables_[tree];
    return {entries_.data() + table.begin, table.log2_capacity};
  }

  size_t bytes() const { return tables_.bytes() + entries_.bytes(); }

 private:
  static constexpr int kLeast = 1;
  static constexpr size_t kFewIds = 1024;
  static constexpr size_t kListed = 64;

  // Trees without ids share the first entries, which stay free.
  struct Table {
    uint64_t begin = 0;
    LocalId ids = 0;
    int log2_capacity = kLeast;
  };

  // At most two thirds full, and with a free entry.
  static int Log2CapacityFor(size_t ids) {
    return std::max(kLeast, std::countr_zero(std::bit_ceil(ids + ids / 2 + 1)));
  }

  static bool HasRoom(const Table& table, size_t more) {
    return table.begin > 0 && Log2CapacityFor(table.ids + more) <= table.log2_capacity;
  }
  static int Log2Grown(const Table& table, size_t more) {
    const size_t ids = table.ids + more;
    return Log2CapacityFor(ids) + (table.ids > 0 && ids <= kFewIds);
  }

  View ViewOf(const Table& table) { return {entries_.data() + table.begin, table.log2_capacity}; }

  base::Buffer<Table> tables_;
  base::Buffer<IdEntry<Key>> entries_;
  size_t used_ = 0;  // entries that tables have
};

}  // namespace graphzero::sample
