// From global node id to local id: a flat open-addressing table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/threads.h"

namespace graphzero::sample {

using LocalId = uint32_t;

// Key is uint32_t for graphs whose ids fit, which halves the memory that a probe may miss.
// Working memory that is kept between calls; used by one thread at a time.
template <class Key>
class IdTable {
 public:
  static constexpr LocalId kNone = 0xffffffffu;

  // Empties the table and makes room for `count` ids, at most two thirds full.
  void Reset(size_t count) {
    const size_t capacity = CapacityFor(count);
    entries_.Reserve(capacity);
    for (size_t begin = 0; begin < capacity; begin += kClearedAtOnce) {
      base::CheckPoint();
      std::memset(static_cast<void*>(entries_.data() + begin), 0xff,
                  std::min(kClearedAtOnce, capacity - begin) * sizeof(Entry));
    }
    shift_ = 64 - std::countr_zero(capacity);
    mask_ = capacity - 1;
  }

  bool HasRoomFor(size_t count) const { return mask_ + 1 >= CapacityFor(count); }

  void Prefetch(uint64_t id) const { __builtin_prefetch(&entries_.data()[Home(id)], 1); }

  // The local id of `id`, which becomes `fresh` if it has none yet. Needs room.
  LocalId FindOrInsert(uint64_t id, LocalId fresh) {
    Entry* const entries = entries_.data();
    for (size_t at = Home(id);; at = (at + 1) & mask_) {
      Entry& entry = entries[at];
      const bool is_free = entry.local == kNone;
      // One branch for both ends of the search: which of them it is cannot be guessed.
      if (is_free | (entry.key == static_cast<Key>(id))) {
        entry = {static_cast<Key>(id), is_free ? fresh : entry.local};
        return entry.local;
      }
    }
  }

  // The local id of `id`, or kNone.
  LocalId Find(uint64_t id) const {
    const Entry* const entries = entries_.data();
    for (size_t at = Home(id);; at = (at + 1) & mask_) {
      const Entry& entry = entries[at];
      if (entry.local == kNone || entry.key == static_cast<Key>(id)) return entry.local;
    }
  }

  size_t bytes() const { return entries_.bytes(); }

 private:
  struct Entry {
    Key key;
    LocalId local;  // kNone marks a free entry
  };

  static constexpr size_t kClearedAtOnce = size_t{1} << 19;

  static size_t CapacityFor(size_t count) { return std::bit_ceil(count + count / 2 + 16); }

  // Fibonacci hashing: the high bits of the product depend on every bit of the id.
  size_t Home(uint64_t id) const { return (id * base::kGoldenRatio) >> shift_; }

  base::Buffer<Entry> entries_;
  int shift_ = 63;
  size_t mask_ = 0;
};

}  // namespace graphzero::sample
