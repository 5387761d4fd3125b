// Numbers and sizes as messages show them, and many texts in one array.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace graphzero::base {

inline std::string Number(uint64_t value) { return std::to_string(value); }

// Rounded up: what a message asks for must be enough.
inline std::string MiB(uint64_t bytes) { return Number((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

// Texts one after the other: text i is data[offsets[i] .. offsets[i + 1]). Does not own them.
struct TextView {
  std::span<const int64_t> offsets;
  std::string_view data;

  size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  std::string_view operator[](size_t i) const {
    return data.substr(static_cast<size_t>(offsets[i]),
                       static_cast<size_t>(offsets[i + 1] - offsets[i]));
  }
  // Throws std::invalid_argument unless the offsets rise and lie inside data.
  void Check() const {
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      if (offsets[i] < 0 || offsets[i] > offsets[i + 1]) {
        throw std::invalid_argument("offsets of texts must rise");
      }
    }
    if (!offsets.empty() && static_cast<uint64_t>(offsets.back()) > data.size()) {
      throw std::invalid_argument("offsets of texts must lie inside their data");
    }
  }
};

}  // namespace graphzero::base
