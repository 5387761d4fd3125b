// Hashes of ids for tables in memory. Nothing on disk depends on them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "store/checksum.h"

namespace graphzero::compile {

// A multiplication and two shifts: every bit of the id reaches the low bits.
inline uint64_t HashId(int64_t id) {
  uint64_t hash = static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return hash ^ hash >> 32;
}

inline uint64_t HashId(std::string_view text) {
  return store::Checksum(std::as_bytes(std::span(text)));
}

}  // namespace graphzero::compile
