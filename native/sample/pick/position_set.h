// A small set of positions in one row, for drawing without replacement.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/buffer.h"
#include "base/hash.h"

namespace graphzero::sample {

// How a set is kept. The choice changes time and memory, never an answer.
enum class SetKind {
  kScan,    // a list, searched from end to end: fastest while it fits a few cache lines
  kBitmap,  // one bit per position of the row, when the row is short for the number of draws
  kHash,    // open addressing, for the rest
};

// Memory is proportional to the positions it will hold, not to the row. One thread uses it.
class PositionSet {
 public:
  static constexpr uint64_t kScanLimit = 48;

  static SetKind KindFor(uint64_t positions, uint64_t degree) {
    if (positions <= kScanLimit && degree <= UINT32_MAX) return SetKind::kScan;
    return degree / 64 <= positions ? SetKind::kBitmap : SetKind::kHash;
  }

  // Empties it for up to `positions` positions below `degree`.
  void Start(uint64_t positions, uint64_t degree, SetKind kind) {
    kind_ = kind;
    size_ = 0;
    if (kind_ == SetKind::kBitmap) {
      words_.Reserve(degree / 64 + 1);
      std::memset(words_.data(), 0, (degree / 64 + 1) * sizeof(uint64_t));
    } else if (kind_ == SetKind::kHash) {
      const uint64_t capacity = std::bit_ceil(2 * positions + 2);
      words_.Reserve(capacity);
      std::memset(words_.data(), 0xff, capacity * sizeof(uint64_t));
      mask_ = capacity - 1;
    } else {
      list_.Reserve(positions);
    }
  }

  size_t bytes() const { return list_.bytes() + words_.bytes(); }

  bool Contains(uint64_t position) const {
    switch (kind_) {
      case SetKind::kScan:
        return ListContains(static_cast<uint32_t>(position));
      case SetKind::kBitmap:
        return words_[position / 64] >> (position % 64) & 1;
      case SetKind::kHash:
        break;
    }
    return words_[Find(position)] == position;
  }

  // Needs a position that is not in the set.
  void Insert(uint64_t position) {
    switch (kind_) {
      case SetKind::kScan:
        list_[size_++] = static_cast<uint32_t>(position);
        return;
      case SetKind::kBitmap:
        words_[position / 64] |= uint64_t{1} << (position % 64);
        return;
      case SetKind::kHash:
        words_[Find(position)] = position;
        return;
    }
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;

  // Without an early exit, so that the compiler compares several at a time.
  bool ListContains(uint32_t position) const {
    uint32_t found = 0;
    for (size_t i = 0; i < size_; ++i) found |= static_cast<uint32_t>(list_[i] == position);
    return found != 0;
  }

  // The entry that holds `position`, or the free one where it belongs.
  size_t Find(uint64_t position) const {
    size_t at = (position * base::kGoldenRatio >> 32) & mask_;
    while (words_[at] != kFree && words_[at] != position) at = (at + 1) & mask_;
    return at;
  }

  SetKind kind_ = SetKind::kScan;
  size_t size_ = 0;
  size_t mask_ = 0;
  base::Buffer<uint32_t> list_;
  base::Buffer<uint64_t> words_;
};

}  // namespace graphzero::sample
