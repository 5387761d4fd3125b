// What messages call a row of an input: the input itself, or the one of its files that has the row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace graphzero::compile {

struct RowPlaces {
  // A file of an input that is a folder of them.
  struct Part {
    std::string name;
    uint64_t first_row;  // in the whole input
  };

  std::string name;
  std::vector<Part> parts{};  // ascending; none: the input is one file

  // "edges/part-3.parquet row 17"
  std::string At(uint64_t row) const {
    const auto after =
        std::upper_bound(parts.begin(), parts.end(), row,
                         [](uint64_t value, const Part& part) { return value < part.first_row; });
    if (after == parts.begin()) return name + " row " + std::to_string(row);
    const Part& part = *(after - 1);
    return part.name + " row " + std::to_string(row - part.first_row);
  }
};

}  // namespace graphzero::compile
