// The seeds of a sample around links: the different ends of all links and negatives.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"

namespace graphzero::sample {

struct NumberedEnds {
  base::Buffer<int64_t> seeds;  // the different ends, rising
  size_t count = 0;             // how many seeds there are
};

// Sorts the ends, keeps each once, and writes to index[i] the place of ends[i] among them. Needs
// fewer than 2^32 ends and as many places in `index`.
NumberedEnds NumberEnds(std::span<const int64_t> ends, std::span<int64_t> index);

}  // namespace graphzero::sample
