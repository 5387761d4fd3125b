// Searches for a number among rising numbers of a file, with few reads of a block each, and for a
// neighbour in a row that is in memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>

namespace graphzero::sample {

// Maps a number of a file to an unsigned one that keeps the order: ids are unsigned already, times
// have a sign.
template <class T>
constexpr uint64_t SearchKey(T number) {
  constexpr uint64_t kSign = std::is_signed_v<T> ? uint64_t{1} << 63 : 0;
  return static_cast<uint64_t>(number) ^ kSign;
}

// Looks for x among array[begin, end), an array in the mapping; finds the position that
// std::lower_bound would, or some position in the range if the file is damaged and its numbers do
// not rise. The caller reads block() and hands it to Take(), until done(). x and the bounds are
// SearchKey()s.
//
// The next block is guessed by interpolation, because ids and times are spread evenly more often
// than not (two or three reads in a row of a million). The second guess interpolates between the
// first block, which was close, and the far end of the range, and is mostly right. Every fourth
// block halves the range, which bounds the number of reads.
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
  // For numbers of unknown bounds: reads the last block and then the first one before it guesses.
  static RowSearch WithoutBounds(const T* array, uint64_t begin, uint64_t end, uint64_t x,
                                 uint64_t most) {
    RowSearch search(array, begin, end, x, 0, UINT64_MAX, most);
    search.ends_to_see_ = 2;
    search.ChooseBlock();
    return search;
  }

  bool done() const { return begin_ >= end_; }
  // Where the first number is that is at least x, or the end; and whether that number is x.
  uint64_t position() const { return end_; }
  bool found() const { return equal_; }

  // block() is the next block to read; Take() continues the search with its numbers.
  std::span<const T> block() const { return {array_ + first_, std::min(most_, end_ - first_)}; }
  void Take(const T* numbers) {
    const uint64_t count = block().size();
    const uint64_t below = CountBelow(numbers, count);
    if (below == count) {
      begin_ = first_ + count;
      low_ = std::max(low_, SearchKey(numbers[count - 1]));
    } else {
      // If the block has no number below x, numbers before the block may be at least x, too.
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
  // In blocks of at most this many numbers, a cache line of 4-byte ids, the smaller numbers are
  // counted instead of searching by halving.
  static constexpr uint64_t kCounted = 16;
  // Turns count from 0 to this one, which halves the range; the turns before it guess.
  static constexpr int kHalvingTurn = 3;

  uint64_t CountBelow(const T* numbers, uint64_t count) const {
    if (count > kCounted) {
      const auto is_below = [](T number, uint64_t x) { return SearchKey(number) < x; };
      return static_cast<uint64_t>(std::lower_bound(numbers, numbers + count, x_, is_below) -
                                   numbers);
    }
    uint64_t below = 0;  // no branches, which would be mispredicted half the time
    for (uint64_t i = 0; i < count; ++i) below += SearchKey(numbers[i]) < x_;
    return below;
  }

  // About size * numerator / denominator, where numerator < denominator; always below `size`. In
  // floating point, because a division of 64-bit integers takes several times as long. Numbers are
  // halved, so that they fit into signed integers, which one instruction converts.
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
    // lies in one page, or cache line. The first block of a range starts where the range starts, so
    // that every block leaves a shorter range.
    first_ = std::max(begin_, middle & ~(most_ - 1));
  }

  const T* array_ = nullptr;
  uint64_t most_ = 1;
  uint64_t x_ = 0;
  uint64_t begin_ = 0;  // all numbers before it are below x
  uint64_t end_ = 0;    // the number there, if there is one, is at least x
  uint64_t first_ = 0;  // begin of the block
  uint64_t low_ = 0;    // no number in the range is below this
  uint64_t high_ = 0;   // no number in the range is above this
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
