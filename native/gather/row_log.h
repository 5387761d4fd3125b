// Rows of any length in a circular buffer: the oldest is at the tail, the next goes to the head.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/prefetch.h"

namespace graphzero::gather {

// Positions are in units of 16 bytes. A row may lie across
// the end of the memory; its header never does.
class RowLog {
 public:
  static constexpr uint64_t kUnit = 16;

  struct Header {
    uint64_t key;
    uint32_t bytes;
    uint32_t uses;  // since the row came in; counted up to a few
  };
  static_assert(sizeof(Header) == kUnit);

  RowLog() = default;
  explicit RowLog(std::span<std::byte> memory) : memory_(memory.data()), units_(Units(memory)) {}

  static uint64_t UnitsFor(size_t bytes) { return 1 + (bytes + kUnit - 1) / kUnit; }

  uint64_t units() const { return units_; }
  uint64_t free_units() const { return units_ - used_; }
  bool empty() const { return used_ == 0; }

  Header& At(uint32_t position) const {
    return *reinterpret_cast<Header*>(memory_ + position * kUnit);
  }
  uint32_t tail() const { return tail_; }

  // Prefetches the first kPrefetchBytes of a row. The hardware prefetcher fetches the rest.
  void Prefetch(uint32_t position, size_t bytes) const {
    const std::byte* const begin = memory_ + position * kUnit;
    const size_t length = std::min(kUnit + bytes, kPrefetchBytes);
    base::PrefetchLines(begin, length);
  }

  // Needs UnitsFor(row) free units. Returns the row's position.
  uint32_t Append(uint64_t key, std::span<const std::byte> row) {
    const uint32_t position = head_;
    At(position) = {key, static_cast<uint32_t>(row.size()), 0};
    CopyIn(Advance(position, 1), row);
    const uint64_t units = UnitsFor(row.size());
    head_ = Advance(position, units);
    used_ += units;
    return position;
  }

  void DropTail() {
    const uint64_t units = UnitsFor(At(tail_).bytes);
    tail_ = Advance(tail_, units);
    used_ -= units;
  }

  // Copies the first out.size() bytes of the row.
  void CopyOut(uint32_t position, std::span<std::byte> out) const {
    const uint64_t begin = Advance(position, 1) * kUnit;
    const size_t first = std::min<uint64_t>(out.size(), units_ * kUnit - begin);
    std::memcpy(out.data(), memory_ + begin, first);
    if (first < out.size()) std::memcpy(out.data() + first, memory_, out.size() - first);
  }

 private:
  static constexpr size_t kPrefetchBytes = 576;

  static uint64_t Units(std::span<std::byte> memory) { return memory.size() / kUnit; }

  uint32_t Advance(uint32_t position, uint64_t units) const {
    const uint64_t next = position + units;
    return static_cast<uint32_t>(next < units_ ? next : next - units_);
  }

  void CopyIn(uint32_t at, std::span<const std::byte> row) {
    const uint64_t begin = at * kUnit;
    const size_t first = std::min<uint64_t>(row.size(), units_ * kUnit - begin);
    std::memcpy(memory_ + begin, row.data(), first);
    if (first < row.size()) std::memcpy(memory_, row.data() + first, row.size() - first);
  }

  std::byte* memory_ = nullptr;
  uint64_t units_ = 0;
  uint64_t used_ = 0;
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
};

}  // namespace graphzero::gather
