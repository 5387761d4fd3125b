// What messages call a row of an input: "edges/part-3.parquet row 17", "edges.csv line 18".
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace graphzero::compile {

struct RowPlaces {
  std::string name;  // of the whole input
  // The place of a row, where its number alone does not tell; may take long and throw.
  std::function<std::string(uint64_t row)> describe{};

  std::string At(uint64_t row) const {
    return describe ? describe(row) : name + " row " + std::to_string(row);
  }
};

}  // namespace graphzero::compile
