// From global node id to local id: a flat open-addressing table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/prefetch.h"
#include "base/threads.h"

namespace graphzero::sample {

using LocalId = uint32_t;

inline constexpr LocalId kNoLocalId = 0xffffffffu;

// Key is uint32_t for graphs whose ids fit, which halves the memory that probes touch.
template <class Key>
struct IdEntry {
  Key key;
  LocalId local;  // kNoLocalId marks a free entry
};

// A table in memory that somebody else owns: 2^n entries, of which at least one is free, so that
// every search ends. `Entry` is an IdEntry, or a const one in a table that is only searched. One
// thread at a time may insert.
template <class Entry>
class IdTableView {
 public:
  using Key = decltype(Entry::key);

  IdTableView(Entry* entries, int log2_capacity)
      : entries_(entries), shift_(64 - log2_capacity), mask_((size_t{1} << log2_capacity) - 1) {}

  // Frees all entries.
  void Clear() const {
    for (size_t begin = 0; begin <= mask_; begin += kClearedAtOnce) {
      if (begin > 0) base::CheckPoint();
      std::memset(static_cast<void*>(entries_ + begin), 0xff,
                  std::min(kClearedAtOnce, mask_ + 1 - begin) * sizeof(Entry));
    }
  }

  [[gnu::always_inline]] void Prefetch(uint64_t id) const {
    base::Prefetch<base::Use::kWrite>(&entries_[Home(id)]);
  }

  // The local id of `id`. Inserts it with the local id `fresh` if it has none; needs room for that.
  LocalId FindOrInsert(uint64_t id, LocalId fresh) const {
    for (size_t at = Home(id);; at = (at + 1) & mask_) {
      Entry& entry = entries_[at];
      const bool is_free = entry.local == kNoLocalId;
      // One branch for both ends of the search, a free entry and the id, because which of them
      // comes is unpredictable.
      if (is_free | (entry.key == static_cast<Key>(id))) {
        entry = {static_cast<Key>(id), is_free ? fresh : entry.local};
        return entry.local;
      }
    }
  }

  // Inserts an id that the table does not have; needs room for it.
  void InsertNew(const Entry& entry) const {
    size_t at = Home(entry.key);
    while (entries_[at].local != kNoLocalId) at = (at + 1) & mask_;
    entries_[at] = entry;
  }

  // The local id of `id`, or kNoLocalId.
  LocalId Find(uint64_t id) const {
    for (size_t at = Home(id);; at = (at + 1) & mask_) {
      const Entry& entry = entries_[at];
      if (entry.local == kNoLocalId || entry.key == static_cast<Key>(id)) return entry.local;
    }
  }

 private:
  static constexpr size_t kClearedAtOnce = size_t{1} << 19;

  // Fibonacci hashing: the high bits of the product depend on every bit of the id.
  size_t Home(uint64_t id) const { return (id * base::kGoldenRatio) >> shift_; }

  Entry* entries_;
  int shift_;
  size_t mask_;
};

// A table with memory of its own, which is kept between calls.
template <class Key>
class IdTable {
 public:
  using View = IdTableView<IdEntry<Key>>;
  using ConstView = IdTableView<const IdEntry<Key>>;

  // Empties the table and makes room for `count` ids, at most two thirds full.
  void Reset(size_t count) {
    log2_capacity_ = Log2CapacityFor(count);
    entries_.Reserve(size_t{1} << log2_capacity_);
    base::CheckPoint();
    view().Clear();
  }

  bool HasRoomFor(size_t count) const { return log2_capacity_ >= Log2CapacityFor(count); }

  View view() { return {entries_.data(), log2_capacity_}; }
  ConstView view() const { return {entries_.data(), log2_capacity_}; }

  size_t bytes() const { return entries_.bytes(); }

 private:
  static int Log2CapacityFor(size_t count) {
    return std::countr_zero(std::bit_ceil(count + count / 2 + 16));
  }

  base::Buffer<IdEntry<Key>> entries_;
  int log2_capacity_ = 0;
};

}  // namespace graphzero::sample
