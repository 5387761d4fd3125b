#include "compile/edges/edge_source.h"

namespace graphzero::compile {

std::string IdRange(uint64_t limit) {
  if (limit == kIdLimit) return "an id from 0 to 2^63 - 1";
  return "an id below " + std::to_string(limit) + ", the given number of nodes";
}

}  // namespace graphzero::compile
