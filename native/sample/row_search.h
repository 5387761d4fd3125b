// Whether a row has an edge to some node: searching rising numbers of a file with few reads, each
// of which brings a block of them, or a row that is at hand.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>

namespace graphzero::sample {

// A number of a file as an unsigned one with the same order: ids are that, times have a sign.
template <class T>
constexpr uint64_t SearchKey(T number) {
  constexpr uint64_t kSign = std::is_signed_v<T> ? uint64_t{1} << 63 : 0;
  return static_cast<uint64_t>(number) ^ kSign;
}

// Looks for x among array[begin, end), an array in the mapping; finds what std::lower_bound would.
// In a damaged file whose numbers do not rise it is some position in the range. The caller reads
// the blocks, until it is done. x and the bounds are SearchKey()s.
//
// Where a block lies is guessed from the size of x, because ids and times are spread evenly more
// often than not (two or three reads in a row of a million). The second guess lies between a block
// that was close and the far end, and is mostly right. Every fourth block halves the range, which
// bounds the number of reads.
template <class T>
class RowSearch {
 public:
  RowSearch() = default;
  // No number of the array is above `bound`. A block has at most `most` numbers, a power of two.
  RowSearch(const T* array, uint64_t begin, uint64_t end, uint64_t x, uint64_t bound, uint64_t most)
      : RowSearch(array, begin, end, x, 0, bound, most) {}
  // As above, and none is below `low`.
  RowSearch(const T* array, uint64_t begin, uint64_t end, uint64_t x, uint64_t low, uint64_t high,
            uint64_t most)
      : array_(array), most_(most), x_(x), begin_(begin), end_(end), low_(low), high_(high) {
    ChooseBlock();
  }
  // Where nothing is known about the numbers: their largest and their least are looked at first.
  static RowSearch WithoutBounds(const T* array, uint64_t begin, uint64_t end, uint64_t x,
                                 uint64_t most) {
    RowSearch search(array, begin, end, x, 0, UINT64_MAX, most);
    search.ends_to_see_ = 2;
    search.ChooseBlock();
    return search;
  }

  bool done() const { return begin_ >= end_; }
  // Of the first number that is at least x, or the end; and whether it is x.
  uint64_t position() const { return end_; }
  bool found() const { return equal_; }

  // The block to read, and what it has.
  std::span<const T> block() const { return {array_ + first_, std::min(most_, end_ - first_)}; }
  void Take(const T* numbers) {
    const uint64_t count = block().size();
    const uint64_t below = CountBelow(numbers, count);
    if (below == count) {
      begin_ = first_ + count;
      low_ = std::max(low_, SearchKey(numbers[count - 1]));
    } else {
      // Earlier numbers of the range may be large enough too, unless the block has one that is not.
      if (below > 0) begin_ = first_ + below;
      end_ = first_ + below;
      equal_ = SearchKey(numbers[below]) == x_;
      high_ = std::min(high_, SearchKey(numbers[below]));
    }
    if (ends_to_see_ > 0) {
      --ends_to_see_;
    } else {
      turn_ = turn_ == kHalvingTurn ? 0 : turn_ + 1;
    }
    if (!done()) ChooseBlock();
  }

 private:
  // In blocks of at most so many numbers the smaller ones are counted instead of halving: a cache
  // line of 4-byte ids.
  static constexpr uint64_t kCounted = 16;
  // Of turns that begin with 0 and are guesses otherwise.
  static constexpr int kHalvingTurn = 3;

  uint64_t CountBelow(const T* numbers, uint64_t count) const {
    if (count > kCounted) {
      const auto is_below = [](T number, uint64_t x) { return SearchKey(number) < x; };
      return static_cast<uint64_t>(std::lower_bound(numbers, numbers + count, x_, is_below) -
                                   numbers);
    }
    uint64_t below = 0;  // without branches that would be guessed wrong half the time
    for (uint64_t i = 0; i < count; ++i) below += SearchKey(numbers[i]) < x_;
    return below;
  }

  // About size * numerator / denominator, of which the fraction is below one; below `size`. In
  // floating point, because a division of 64-bit integers takes several times as long; half of a
  // number fits into a signed integer, which is converted in one instruction.
  static uint64_t Part(uint64_t size, uint64_t numerator, uint64_t denominator) {
    const auto half = [](uint64_t number) {
      return static_cast<double>(static_cast<int64_t>(number >> 1));
    };
    const double part = half(size) * half(numerator) / (half(denominator) + 1);
    return std::min(2 * static_cast<uint64_t>(static_cast<int64_t>(part)), size - 1);
  }

  void ChooseBlock() {
    first_ = begin_;
    if (end_ - begin_ <= most_) return;
    if (ends_to_see_ > 0) {
      if (ends_to_see_ == 2) first_ = std::max(begin_, (end_ - 1) & ~(most_ - 1));
      return;
    }
    uint64_t middle = begin_ + (end_ - begin_) / 2;
    if (turn_ < kHalvingTurn && low_ < x_ && x_ < high_) {
      middle = begin_ + Part(end_ - begin_, x_ - low_, high_ - low_);
    }
    // Sections of the file start on a page, so that a block that starts at a multiple of its size
    // lies in one page, or cache line. It must also leave a shorter range: the first block of it
    // starts where it starts.
    first_ = std::max(begin_, middle & ~(most_ - 1));
  }

  const T* array_ = nullptr;
  uint64_t most_ = 1;
  uint64_t x_ = 0;
  uint64_t begin_ = 0;  // no number before it is x or above
  uint64_t end_ = 0;    // the number there, if there is one, is x or above
  uint64_t first_ = 0;  // of the block
  uint64_t low_ = 0;    // no number in the range is below
  uint64_t high_ = 0;   // none is above
  bool equal_ = false;
  int turn_ = 0;
  int ends_to_see_ = 0;  // 2: the last block comes next, then the first
};

// True if x is among the ids of a row: by halving where rows are sorted, else by reading all of it.
template <class Id>
bool Contains(std::span<const Id> row, bool sorted, uint64_t x) {
  if (sorted) return std::binary_search(row.begin(), row.end(), x);
  return std::find(row.begin(), row.end(), x) != row.end();
}

}  // namespace graphzero::sample
