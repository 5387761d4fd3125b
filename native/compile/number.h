// Numbers from text, at memory speed.
//
// Every function reads eight bytes at a time and may therefore look up to 64 bytes past the text it
// is given: TextChunk::kPadding provides them. Nothing here allocates, throws or depends on the
// locale.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace graphzero::compile {

// Eight characters at once, the first in the lowest byte, with '0'..'9' turned into 0..9.
struct EightDigits {
  static constexpr uint64_t kEach = 0x0101010101010101;

  explicit EightDigits(const char* p) {
    std::memcpy(&bytes, p, sizeof bytes);
    bytes ^= kEach * '0';
  }

  // How many of the eight, from the first on, are digits.
  unsigned Count() const {
    // A byte of 10..127 carries into its top bit; one of 128..255 has it already.
    const uint64_t high = (bytes & (kEach * 0x7f)) + kEach * (0x80 - 10);
    const uint64_t other = (high | bytes) & (kEach * 0x80);
    return static_cast<unsigned>(std::countr_zero(other)) / 8;
  }

  // Value of the first `count` characters, all of them digits; count is 1 to 8.
  uint64_t Value(unsigned count) const {
    // Shifted so that the number ends in the last byte, with zeros in front. Then neighbours are
    // joined: 8 digits to 4 pairs, to 2 fours, to the number.
    const uint64_t digits = bytes << (64 - 8 * count);
    const uint64_t pairs = digits * 10 + (digits >> 8);
    constexpr uint64_t kPairs = 0x000000ff000000ff;
    const uint64_t high = (pairs & kPairs) * (uint64_t{100} + (uint64_t{1'000'000} << 32));
    const uint64_t low = ((pairs >> 16) & kPairs) * (uint64_t{1} + (uint64_t{10'000} << 32));
    return (high + low) >> 32;
  }

  uint64_t bytes;
};

// Reads an unsigned decimal integer at `p` and returns where it ends: the first character that is
// no digit. Null if there is no digit or the number exceeds 2^64 - 1.
inline const char* ParseUnsigned(const char* p, uint64_t* value) {
  const EightDigits first(p);
  const unsigned count = first.Count();
  if (count == 0) return nullptr;
  uint64_t result = first.Value(count);
  p += count;
  if (count == 8) {
    for (unsigned digit; (digit = static_cast<unsigned char>(*p) - unsigned{'0'}) < 10; ++p) {
      if (result > UINT64_MAX / 10) return nullptr;
      result *= 10;
      if (result > UINT64_MAX - digit) return nullptr;
      result += digit;
    }
  }
  *value = result;
  return p;
}

}  // namespace graphzero::compile
