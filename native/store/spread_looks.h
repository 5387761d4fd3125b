// Judges many places by a sample of them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace graphzero::store {

// Calls look(i) for at most `most` numbers i below `count`, spread evenly. Returns whether all
// calls returned true.
template <class Look>
bool SpreadLooks(size_t count, size_t most, const Look& look) {
  const size_t looks = std::min(count, most);
  for (size_t i = 0; i < looks; ++i) {
    if (!look(i * count / looks)) return false;
  }
  return true;
}

}  // namespace graphzero::store
