// The files of an input, as Python names them.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "compile/row_places.h"

namespace graphzero::bindings {

// `parts` are (file, its first row in the whole input), ascending.
inline compile::RowPlaces PlacesOf(const std::string& name,
                                   const std::vector<std::pair<std::string, uint64_t>>& parts) {
  compile::RowPlaces places{name};
  for (const auto& [file, first_row] : parts) places.parts.push_back({file, first_row});
  return places;
}

}  // namespace graphzero::bindings
