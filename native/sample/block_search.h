// Searching rising numbers of a file that is not in memory, with few reads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sample/read_rounds.h"

namespace graphzero::sample {

struct Found {
  uint64_t position;  // of the first number that is at least the one searched for, or the end
  bool equal;         // whether it is that one
};

// Looks for x among array[begin, end), an array in the mapping; gives what std::lower_bound would.
// In a damaged file whose numbers do not rise it is some position in the range.
//
// A read brings a block of numbers, as little as a page holds several of. Where it lies is guessed
// in turns from the size of x, because ids and edge counts are spread evenly more often than not
// (two or three reads in a row of a million), and by halving, which bounds the number of reads.
template <class T>
Reading<Found> LowerBound(ReadRounds& rounds, const T* array, uint64_t begin, uint64_t end,
                          uint64_t x, uint64_t bound) {
  constexpr uint64_t kBlock = 512 / sizeof(T);
  std::array<T, kBlock> block;
  uint64_t low = 0;         // no number in the range is below
  uint64_t high = bound;    // none is above
  bool end_equals = false;  // the number at `end` is x
  for (bool guess = true; begin < end; guess = !guess) {
    uint64_t first = begin;
    if (end - begin > kBlock) {
      uint64_t middle = begin + (end - begin) / 2;
      if (guess && low < x && x < high) {
        const auto part = static_cast<unsigned __int128>(x - low) * (end - begin) / (high - low);
        middle = begin + static_cast<uint64_t>(part);
      }
      // Sections start on a page, so that a block that starts at a multiple of its size lies in one
      // page. It must also leave a shorter range: the first block of it starts where it starts.
      first = std::max(begin, middle / kBlock * kBlock);
    }
    const uint64_t count = std::min(kBlock, end - first);
    co_await rounds.Read(array + first, count * sizeof(T), block.data());
    const T* const numbers = block.data();
    const T* const last = numbers + count;
    const auto below = [](T number, uint64_t wanted) { return number < wanted; };
    const T* const at = std::lower_bound(numbers, last, x, below);
    if (at == last) {
      begin = first + count;
      low = std::max<uint64_t>(low, last[-1]);
    } else if (at != numbers || first == begin) {
      co_return Found{first + static_cast<uint64_t>(at - numbers), *at == x};
    } else {
      end = first;
      end_equals = *at == x;
      high = std::min<uint64_t>(high, *at);
    }
  }
  co_return Found{end, end_equals};
}

}  // namespace graphzero::sample
