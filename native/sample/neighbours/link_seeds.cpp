#include "sample/neighbours/link_seeds.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/threads.h"

namespace graphzero::sample {
namespace {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;

struct End {
  uint64_t key;
  uint32_t place;
};

// Flipping this bit sorts negative ids, which a later check refuses, before all others.
constexpr uint64_t kSign = uint64_t{1} << 63;

// One stable pass of a radix sort.
void SortByDigit(const base::Buffer<End>& from, base::Buffer<End>& to, size_t count, int shift) {
  std::array<size_t, kDigits> next{};
  const auto digit = [&](size_t i) { return (from[i].key >> shift) & (kDigits - 1); };
  base::ForEach(count, [&](size_t i) { ++next[digit(i)]; });
  size_t before = 0;
  for (size_t& place : next) before += std::exchange(place, before);
  base::ForEach(count, [&](size_t i) { to[next[digit(i)]++] = from[i]; });
}

}  // namespace

NumberedEnds NumberEnds(std::span<const int64_t> ends, std::span<int64_t> index) {
  const size_t count = ends.size();
  if (count > UINT32_MAX || index.size() != count) {
    throw std::invalid_argument(std::to_string(count) + " ends of links, expected fewer than 2^32");
  }
  const base::ThreadLease lease(1);
  const bool negative = std::any_of(ends.begin(), ends.end(), [](int64_t id) { return id < 0; });
  base::Buffer<End> sorted;
  base::Buffer<End> other;
  sorted.Reserve(std::max<size_t>(count, 1));
  other.Reserve(std::max<size_t>(count, 1));
  uint64_t all = 0;
  base::ForEach(count, [&](size_t i) {
    const uint64_t key = static_cast<uint64_t>(ends[i]) ^ (negative ? kSign : 0);
    sorted[i] = {key, static_cast<uint32_t>(i)};
    all |= key;
  });
  const int bits = static_cast<int>(std::bit_width(all));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    SortByDigit(sorted, other, count, shift);
    std::swap(sorted, other);
  }
  NumberedEnds result;
  result.seeds.Reserve(std::max<size_t>(count, 1));
  base::ForEach(count, [&](size_t i) {
    const End& end = sorted[i];
    if (i == 0 || sorted[i - 1].key != end.key) {
      result.seeds[result.count++] = static_cast<int64_t>(end.key ^ (negative ? kSign : 0));
    }
    index[end.place] = static_cast<int64_t>(result.count - 1);
  });
  return result;
}

}  // namespace graphzero::sample
