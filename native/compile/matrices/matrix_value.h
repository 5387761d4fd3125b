// One value of a feature table: text to the bytes of its type.
//
// Value<T> has three functions that read text, each slower and more general than the one before.
// Short() reads a few characters whose end is known; Fast() reads from the line and finds the end;
// Parse() takes a whole field, accepts every spelling and says what is wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/half.h"
#include "compile/text/number.h"

namespace graphzero::compile {

using base::BFloat16;
using base::Half;

enum class FieldStatus { kOk, kNan, kNotNumber, kNotInteger, kOutOfRange };

inline bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(text[i])) != lower[i]) return false;
  }
  return true;
}

// True for a number too small for a double, false for one too large; `text` is known to be either.
inline bool IsUnderflow(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const size_t lead = mantissa.find_first_of("123456789");
  if (lead == std::string_view::npos) return true;
  const bool negative = e != std::string_view::npos && text[e + 1] == '-';
  // An exponent of ten digits or more outweighs any mantissa a line can hold.
  const size_t digits = text.find_first_of("123456789", e == std::string_view::npos ? e : e + 1);
  int64_t exponent = 0;
  if (e != std::string_view::npos && digits != std::string_view::npos) {
    exponent = std::numeric_limits<int32_t>::max();
    (void)std::from_chars(text.data() + digits, text.data() + text.size(), exponent);
    if (text.size() - digits >= 10) return negative;
  }
  const auto leading = static_cast<int64_t>(point) - static_cast<int64_t>(lead);
  return leading + (negative ? -exponent : exponent) < 0;
}

// A whole field as a double, as Python's float() reads it, but a number beyond all doubles is
// kOutOfRange. Empty and "nan" give kNan.
inline FieldStatus ParseDouble(std::string_view text, double* value) {
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (text.empty() || EqualsIgnoringCase(digits, "nan")) {
    *value = std::numeric_limits<double>::quiet_NaN();
    return FieldStatus::kNan;
  }
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return FieldStatus::kNotNumber;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, *value);
  if (stop != end || error == std::errc::invalid_argument || std::isnan(*value)) {
    return FieldStatus::kNotNumber;
  }
  if (error == std::errc::result_out_of_range) {
    if (!IsUnderflow(digits)) return FieldStatus::kOutOfRange;
    *value = 0.0;
  }
  if (text[0] == '-') *value = -*value;
  return FieldStatus::kOk;
}

template <class T>
T FromDouble(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return base::NarrowFloat<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

// The smallest number that T rounds to infinity: half a step beyond its largest finite value.
template <class T>
inline constexpr double kOverflow = std::numeric_limits<double>::infinity();
template <>
inline constexpr double kOverflow<float> = 0x1.ffffffp127;
template <>
inline constexpr double kOverflow<Half> = 65520;
template <>
inline constexpr double kOverflow<BFloat16> = 0x1.ffp127;

// True for a finite number that would become infinite in T.
template <class T>
bool Overflows(double value) {
  const double size = std::fabs(value);
  return size >= kOverflow<T> && size <= std::numeric_limits<double>::max();
}

// A number before its final division: numerator / kSignedPowers[scale].
struct Decimal {
  double numerator;
  uint64_t scale;
};

// 10^0 .. 10^7, then the same negated: the sign needs no branch, and zero gets a sign too.
inline constexpr std::array<double, 16> kSignedPowers{
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, -1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7};

// float, double, Half, BFloat16.
template <class T>
struct Value {
  using Parsed = Decimal;

  static bool Short(const char* p, unsigned length, Decimal* out) {
    ShortNumber number;
    if (!number.Parse(p, length)) return false;
    out->numerator = static_cast<double>(static_cast<int64_t>(number.digits));
    out->scale = number.fraction + 8 * uint64_t{number.negative};
    return true;
  }
  static const char* Fast(const char* p, Decimal* out) {
    out->scale = 0;
    return ParseDecimal(p, &out->numerator);
  }
  static FieldStatus Parse(std::string_view text, Decimal* out) {
    *out = {0, 0};
    const FieldStatus status = ParseDouble(text, &out->numerator);
    if (Overflows<T>(out->numerator)) return FieldStatus::kOutOfRange;
    return status == FieldStatus::kNan ? FieldStatus::kOk : status;
  }
  // False if one of the values does not fit T.
  static bool Finish(std::span<const Decimal> parsed, T* out) {
    bool fits = true;
    for (const Decimal& decimal : parsed) {
      const double value = decimal.numerator / kSignedPowers[decimal.scale];
      *out++ = FromDouble<T>(value);
      fits &= !Overflows<T>(value);
    }
    return fits;
  }
};

// True if `magnitude`, negated or not, is a value of T.
template <class T>
bool FitsInteger(uint64_t magnitude, bool negative) {
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<T>::max());
  if (!negative) return magnitude <= kMax;
  return magnitude <= (std::is_signed_v<T> ? kMax + 1 : 0);
}

template <class T>
T SignedInteger(uint64_t magnitude, bool negative) {
  return static_cast<T>(negative ? uint64_t{0} - magnitude : magnitude);
}

template <class T>
  requires std::is_integral_v<T>
struct Value<T> {
  using Parsed = T;

  static bool Short(const char* p, unsigned length, T* out) {
    ShortNumber number;
    if (!number.Parse(p, length) || number.fraction != 0) return false;
    if (!FitsInteger<T>(number.digits, number.negative)) return false;
    *out = SignedInteger<T>(number.digits, number.negative);
    return true;
  }
  static const char* Fast(const char* p, T* out) {
    const bool negative = *p == '-';
    uint64_t magnitude;
    p = ParseUnsigned(p + negative, &magnitude);
    if (p == nullptr || !FitsInteger<T>(magnitude, negative)) return nullptr;
    *out = SignedInteger<T>(magnitude, negative);
    return p;
  }

  // `text` needs no readable bytes after it: fill values do not come from a chunk.
  static FieldStatus Parse(std::string_view text, T* out) {
    double approximate = 0;
    if (const FieldStatus status = ParseDouble(text, &approximate); status != FieldStatus::kOk) {
      return status;
    }
    const bool negative = text[0] == '-';
    std::string_view digits = text.substr(negative || text[0] == '+');
    // Plain digits, at most with zeros after the point, are read exactly. Other spellings ("1e3")
    // use the double, which is exact up to 2^53.
    const std::string_view whole = digits.substr(0, digits.find('.'));
    const std::string_view rest = digits.substr(whole.size());
    uint64_t magnitude = 0;
    const char* end = whole.data() + whole.size();
    const auto [stop, error] = std::from_chars(whole.data(), end, magnitude);
    if (stop != end || rest.find_first_not_of(".0") != std::string_view::npos || whole.empty()) {
      const double size = std::fabs(approximate);
      if (size != std::floor(size)) return FieldStatus::kNotInteger;
      if (!(size <= static_cast<double>(kMaxExactInteger))) return FieldStatus::kOutOfRange;
      magnitude = static_cast<uint64_t>(size);
    } else if (error == std::errc::result_out_of_range) {
      return FieldStatus::kOutOfRange;
    }
    if (!FitsInteger<T>(magnitude, negative)) return FieldStatus::kOutOfRange;
    *out = SignedInteger<T>(magnitude, negative);
    return FieldStatus::kOk;
  }
  static bool Finish(std::span<const T> parsed, T* out) {
    std::copy(parsed.begin(), parsed.end(), out);
    return true;
  }
};

template <>
struct Value<bool> {
  using Parsed = bool;

  static bool Short(const char* p, unsigned length, bool* out) {
    *out = *p == '1';
    return length == 1 && (*p == '0' || *p == '1');
  }
  static const char* Fast(const char* p, bool* out) {
    if (*p != '0' && *p != '1') return nullptr;
    *out = *p == '1';
    return p + 1;
  }
  static FieldStatus Parse(std::string_view text, bool* out) {
    if (EqualsIgnoringCase(text, "true") || EqualsIgnoringCase(text, "false")) {
      *out = text.size() == 4;
      return FieldStatus::kOk;
    }
    uint8_t value = 0;
    const FieldStatus status = Value<uint8_t>::Parse(text, &value);
    if (status == FieldStatus::kOk && value > 1) return FieldStatus::kOutOfRange;
    *out = value != 0;
    return status;
  }
  static bool Finish(std::span<const bool> parsed, bool* out) {
    std::copy(parsed.begin(), parsed.end(), out);
    return true;
  }
};

}  // namespace graphzero::compile
