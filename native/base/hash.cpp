#include "base/hash.h"

#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#define XXH_INLINE_ALL
#include "third_party/xxhash/xxhash.h"
#pragma GCC diagnostic pop

namespace graphzero::base {

uint64_t Checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Hash128 LongChecksum(std::initializer_list<std::span<const std::byte>> parts) {
  std::vector<std::byte> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(all.data(), all.size()));
  Hash128 result;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), result.begin());
  return result;
}

}  // namespace graphzero::base
