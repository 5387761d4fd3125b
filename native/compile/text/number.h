// Numbers from text, at memory speed.
//
// Every function reads eight bytes at a time and may therefore look up to 64 bytes past the text it
// is given: TextChunk::kPadding provides them. Nothing here allocates, throws or depends on the
// locale.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace graphzero::compile {

// Eight characters at once, the first in the lowest byte, with '0'..'9' turned into 0..9.
struct EightDigits {
  static constexpr uint64_t kEach = 0x0101010101010101;

  explicit EightDigits(const char* p) {
    std::memcpy(&bytes, p, sizeof bytes);
    bytes ^= kEach * '0';
  }

  // The top bit of each byte that is no digit.
  uint64_t Others() const {
    // A byte of 10..127 carries into its top bit; one of 128..255 has it already.
    const uint64_t high = (bytes & (kEach * 0x7f)) + kEach * (0x80 - 10);
    return (high | bytes) & (kEach * 0x80);
  }

  // How many of the eight, from the first on, are digits.
  unsigned Count() const { return static_cast<unsigned>(std::countr_zero(Others())) / 8; }

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
    constexpr uint64_t kPowers[] = {1,       10,        100,        1'000,      10'000,
                                    100'000, 1'000'000, 10'000'000, 100'000'000};
    const EightDigits second(p);
    const unsigned more = second.Count();
    if (more > 0) result = result * kPowers[more] + second.Value(more);
    p += more;
    if (more < 8) {
      *value = result;
      return p;
    }
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

// Where the first `c` of the 16 characters at `p` is, or 16. A loop over fields needs only this
// result to start on the next field, so the processor works on several fields at once.
inline unsigned FindIn16(const char* p, char c) {
#if defined(__SSE2__)
  const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(c)));
  return static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(found) | 0x10000));
#else
  for (unsigned at = 0; at < 16; at += 8) {
    uint64_t bytes;
    std::memcpy(&bytes, p + at, sizeof bytes);
    bytes ^= EightDigits::kEach * static_cast<unsigned char>(c);
    // The lowest zero byte is the lowest byte whose top bit is set here.
    const uint64_t zeros = (bytes - EightDigits::kEach) & ~bytes & (EightDigits::kEach * 0x80);
    if (zeros != 0) return at + static_cast<unsigned>(std::countr_zero(zeros)) / 8;
  }
  return 16;
#endif
}

// Where the first `a` or `b` from `p` on is; there must be one.
inline const char* FindEither(const char* p, char a, char b) {
#if defined(__SSE2__)
  for (;; p += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8(a)),
                                       _mm_cmpeq_epi8(text, _mm_set1_epi8(b)));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(found));
    if (mask != 0) return p + std::countr_zero(mask);
  }
#else
  while (*p != a && *p != b) ++p;
  return p;
#endif
}

// Whether all of the `size` characters at `p` are printable ASCII.
inline bool IsPrintable(const char* p, size_t size) {
#if defined(__SSE2__)
  for (size_t at = 0; at < size; at += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + at));
    // Compared as signed numbers, bytes from 0x80 on are below the blank too.
    const __m128i bad = _mm_or_si128(_mm_cmplt_epi8(text, _mm_set1_epi8(' ')),
                                     _mm_cmpeq_epi8(text, _mm_set1_epi8(0x7f)));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(bad));
    const unsigned own = size - at < 16 ? (1u << (size - at)) - 1 : 0xffff;
    if ((mask & own) != 0) return false;
  }
  return true;
#else
  bool printable = true;
  for (size_t at = 0; at < size; ++at) printable &= p[at] >= ' ' && p[at] <= '~';
  return printable;
#endif
}

// A number of few characters: [-]digits[.digits], at most eight characters after the sign.
struct ShortNumber {
  uint64_t digits;    // without the point; below 10^8
  unsigned fraction;  // how many of them come after the point
  bool negative;

  // Reads all of the `length` characters at `p`. False if they are anything else.
  bool Parse(const char* p, unsigned length) {
    negative = *p == '-';
    p += negative;
    length -= negative;
    if (length - 1 > 7) return false;  // none, or more than eight
    const EightDigits text(p);
    const unsigned unused = 64 - 8 * length;
    const uint64_t others = text.Others() << unused;
    if (others == 0) {
      digits = text.Value(length);
      fraction = 0;
      return true;
    }
    // One character is no digit. It must be a point; the digits before and after it are moved
    // together.
    const unsigned at = static_cast<unsigned>(std::countr_zero(others)) - unused - 7;  // in bits
    if ((others & (others - 1)) != 0 || (text.bytes >> at & 0xff) != ('.' ^ '0')) return false;
    if (length == 1) return false;
    const uint64_t before = (uint64_t{1} << at) - 1;
    EightDigits joined = text;
    joined.bytes = (text.bytes & before) | (text.bytes >> 8 & ~before);
    digits = joined.Value(length - 1);
    fraction = length - 1 - at / 8;
    return true;
  }
};

// A double holds these powers of ten exactly, and every integer up to 2^53. One multiplication or
// division of the two is rounded once, hence correctly.
inline constexpr int kMaxExactPower = 22;
inline constexpr uint64_t kMaxExactInteger = uint64_t{1} << 53;
inline constexpr std::array<double, kMaxExactPower + 1> kExactPowers{
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Sets the sign bit: "-0.0" stays negative, and unpredictable signs cost no branch.
inline double WithSign(double magnitude, bool negative) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) ^ (uint64_t{negative} << 63));
}

// Reads the exponent after the "e", such as "-05", and adds it to `*exponent`. Null if there is
// none, or one beyond 9999.
inline const char* ParseExponent(const char* p, int* exponent) {
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  uint64_t value;
  p = ParseUnsigned(p, &value);
  if (p == nullptr || value > 9999) return nullptr;
  *exponent += negative ? -static_cast<int>(value) : static_cast<int>(value);
  return p;
}

// Reads a decimal number ([-+]digits[.digits][e[-+]digits]) at `p` and returns where it ends, if
// one correctly rounded operation gives the double nearest to it: up to about 16 significant digits
// and a moderate exponent. Null for everything else, numbers or not: the caller then uses a slower
// parser.
inline const char* ParseDecimal(const char* p, double* value) {
  static constexpr std::array<uint64_t, 9> kPowers{1,      10,      100,      1000,     10000,
                                                   100000, 1000000, 10000000, 100000000};
  const bool negative = *p == '-';
  p += negative || *p == '+';
  const EightDigits whole(p);
  const unsigned whole_count = whole.Count();
  if (whole_count == 0 || whole_count == 8) return nullptr;
  uint64_t mantissa = whole.Value(whole_count);
  p += whole_count;
  int exponent = 0;
  if (*p == '.') {
    ++p;
    const EightDigits part(p);
    if (const unsigned count = part.Count(); count != 0) {
      mantissa = mantissa * kPowers[count] + part.Value(count);
      p += count;
      exponent = -static_cast<int>(count);
      if (count == 8) {
        const EightDigits rest(p);
        if (const unsigned more = rest.Count(); more != 0) {
          // 7 + 8 digits so far; four more still fit into 64 bits.
          if (more > 4) return nullptr;
          mantissa = mantissa * kPowers[more] + rest.Value(more);
          p += more;
          exponent -= static_cast<int>(more);
        }
      }
    }
  }
  if ((*p | 0x20) == 'e') {
    p = ParseExponent(p + 1, &exponent);
    if (p == nullptr) return nullptr;
  }
  if (mantissa > kMaxExactInteger) return nullptr;
  if (exponent > kMaxExactPower || exponent < -kMaxExactPower) return nullptr;
  const auto integer = static_cast<double>(static_cast<int64_t>(mantissa));
  const double result = exponent < 0 ? integer / kExactPowers[static_cast<size_t>(-exponent)]
                                     : integer * kExactPowers[static_cast<size_t>(exponent)];
  *value = WithSign(result, negative);
  return p;
}

}  // namespace graphzero::compile
