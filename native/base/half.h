// The two 16-bit float formats. Narrowing rounds once, to nearest, ties to even; widening is exact.
//
// Doubles do not go through float32, which would round twice and miss the nearest value for some
// inputs; the compiler's own 16-bit types are not available on every supported machine.
#pragma once

#include <bit>
#include <cstdint>

namespace graphzero::base {

struct Half {  // IEEE 754 binary16
  static constexpr int kExponentBits = 5;
  static constexpr int kMantissaBits = 10;
  uint16_t bits;
};

struct BFloat16 {  // the upper half of a binary32
  static constexpr int kExponentBits = 8;
  static constexpr int kMantissaBits = 7;
  uint16_t bits;
};

template <class Narrow>
inline Narrow NarrowFloat(double value) {
  constexpr int kDoubleMantissa = 52;
  constexpr int kMantissa = Narrow::kMantissaBits;
  constexpr int kTopExponent = (1 << Narrow::kExponentBits) - 1;
  constexpr int kRebias = (kTopExponent >> 1) - 1023;
  constexpr uint64_t kInfinity = uint64_t{kTopExponent} << kMantissa;

  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t sign = bits >> 63 << 15;
  const auto double_exponent = static_cast<int>(bits >> kDoubleMantissa & 0x7ff);
  uint64_t mantissa = bits & ((uint64_t{1} << kDoubleMantissa) - 1);
  const auto with_sign = [&](uint64_t magnitude) {
    return Narrow{static_cast<uint16_t>(sign | magnitude)};
  };

  if (double_exponent == 0x7ff) {
    return with_sign(mantissa == 0 ? kInfinity : kInfinity | uint64_t{1} << (kMantissa - 1));
  }
  const int exponent = double_exponent + kRebias;
  if (exponent >= kTopExponent) return with_sign(kInfinity);
  int shift = kDoubleMantissa - kMantissa;
  uint64_t upper = 0;
  if (exponent > 0) {
    upper = static_cast<uint64_t>(exponent) << kMantissa;
  } else {  // subnormal: the leading one becomes part of the mantissa
    mantissa |= uint64_t{1} << kDoubleMantissa;
    shift += 1 - exponent;
    if (shift > kDoubleMantissa + 1) return with_sign(0);
  }
  const uint64_t kept = upper | mantissa >> shift;
  const uint64_t lost = mantissa & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  // A carry out of the mantissa raises the exponent, up to infinity: that is the correct result.
  return with_sign(kept + (lost > half || (lost == half && (kept & 1) != 0)));
}

// The same for a float. Nearly all results are normal numbers and take a short path: one addition
// to the bits rounds them. A carry raises the exponent, up to infinity, as it should.
template <class Narrow>
inline Narrow NarrowFloat(float value) {
  constexpr int kDropped = 23 - Narrow::kMantissaBits;
  constexpr uint32_t kTopExponent = (1u << Narrow::kExponentBits) - 1;
  constexpr uint32_t kRebias = (127 - (kTopExponent >> 1)) << 23;
  constexpr uint32_t kSmallestNormal = kRebias + (1u << 23);
  constexpr uint32_t kTooLarge = kRebias + (kTopExponent << 23);

  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude - kSmallestNormal >= kTooLarge - kSmallestNormal) {
    return NarrowFloat<Narrow>(static_cast<double>(value));
  }
  const uint32_t half_less = (1u << (kDropped - 1)) - 1;
  const uint32_t odd = magnitude >> kDropped & 1;
  const uint32_t rounded = (magnitude - kRebias + half_less + odd) >> kDropped;
  return Narrow{static_cast<uint16_t>((bits >> 16 & 0x8000) | rounded)};
}

// For values that are known to be finite and not to become infinite. Has no branch, so that the
// compiler vectorises loops over it. Returns the same bits as NarrowFloat<Half>().
inline uint16_t NarrowToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  // For normal numbers one addition to the bits rounds the mantissa; a carry raises the exponent.
  const uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // Below 2^-14 a half counts in steps of 2^-24, as floats do from 0.5 to 1: adding 0.5 rounds.
  const uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - (126u << 23);
  // A choice by ?: would become a branch, because the sum might trap.
  const uint32_t is_small = 0u - static_cast<uint32_t>(magnitude < (113u << 23));
  const uint32_t rounded = (small & is_small) | (normal & ~is_small);
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | rounded);
}

inline float WidenFloat(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

inline float WidenFloat(Half value) {
  const uint32_t magnitude = value.bits & 0x7fffu;
  // Read as a float, the shifted bits have an exponent that is too small by 112. The multiplication
  // corrects it and is exact, also for subnormal halves. Infinity and NaN have the largest exponent
  // of either format.
  const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t widened = magnitude < 0x7c00u ? std::bit_cast<uint32_t>(finite)
                                               : 0x7f800000u | (magnitude & 0x3ffu) << 13;
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits & 0x8000u) << 16 | widened);
}

}  // namespace graphzero::base
