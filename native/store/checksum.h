// Checksums of the file formats: XXH3 from xxHash, 64 bits for blocks, 128 for fingerprints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace graphzero::store {

// Data sections are hashed in blocks of this many bytes, counted from the section's start; the last
// block may be shorter. Part of the format.
inline constexpr uint64_t kChecksumBlock = uint64_t{1} << 20;

using Fingerprint = std::array<uint8_t, 16>;

uint64_t Checksum(std::span<const std::byte> bytes);

// Hash of the spans, one after the other.
Fingerprint FingerprintOf(std::initializer_list<std::span<const std::byte>> parts);

}  // namespace graphzero::store
