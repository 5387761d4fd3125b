#include "compile/edges/edge_source.h"

namespace graphzero::compile {

std::string IdRange(uint64_t limit, const std::string& type) {
  if (limit == kIdLimit) return "an id from 0 to 2^63 - 1";
  return "an id below " + std::to_string(limit) + ", the " +
         (type.empty() ? "given number of nodes" : "number of nodes of type " + type);
}

}  // namespace graphzero::compile
