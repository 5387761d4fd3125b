// Arithmetic on offsets, sizes and counts, also of files that are not trusted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace graphzero::base {

static_assert(std::endian::native == std::endian::little,
              "files are little endian and are mapped as they are");

// True if `count` items of `width` bytes at `at` lie inside `size` bytes.
// Divides, so a hostile count cannot wrap around.
constexpr bool Fits(uint64_t at, uint64_t count, uint64_t width, uint64_t size) {
  return at <= size && (width == 0 || count <= (size - at) / width);
}

// Items of an array with these extents, or nothing if that many items of `width` bytes cannot be
// addressed: the product of the extents that are not 0 must stay below 2^63 bytes, so that neither
// the product nor a stride can overflow, whatever the extents are.
constexpr std::optional<uint64_t> ItemCount(std::span<const uint64_t> extents, uint64_t width) {
  uint64_t most = static_cast<uint64_t>(INT64_MAX) / width;
  uint64_t count = 1;
  bool empty = false;
  for (const uint64_t extent : extents) {
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (extent > most) return std::nullopt;
    most /= extent;
    count *= extent;
  }
  return empty ? 0 : count;
}

// `value` rounded up to a multiple of `step`, a power of two. The caller knows it cannot overflow.
constexpr uint64_t AlignUp(uint64_t value, uint64_t step) {
  return (value + step - 1) & ~(step - 1);
}

// Size of a huge page. One TLB entry covers it, so random access misses the TLB less often.
inline constexpr uint64_t kHugePage = uint64_t{2} << 20;

constexpr uint64_t DivideUp(uint64_t value, uint64_t step) {
  return value / step + (value % step != 0);
}

}  // namespace graphzero::base
