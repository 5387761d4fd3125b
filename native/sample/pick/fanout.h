// How many edges the row of a node gives to a sample.
#pragma once

#include <cstdint>

namespace graphzero::sample {

struct Fanout {
  static constexpr int64_t kAll = -1;  // all edges, each once, even with replacement

  int64_t edges = kAll;
  bool replace = false;

  // How many edges a row of this degree gives; with weights, at most.
  uint64_t Count(uint64_t degree) const {
    if (edges == kAll || degree == 0) return degree;
    const auto wanted = static_cast<uint64_t>(edges);
    return replace || wanted < degree ? wanted : degree;
  }
};

}  // namespace graphzero::sample
