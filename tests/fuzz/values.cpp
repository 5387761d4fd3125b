// Single fields: numbers against the C library's, times against each other in all units.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "compile/matrices/matrix_parser.h"
#include "compile/matrices/matrix_value.h"
#include "compile/text/field_values.h"
#include "compile/text/number.h"
#include "compile/text/time_text.h"
#include "harness.h"

namespace graphzero::fuzz {
namespace {

using compile::TimeStatus;
using compile::TimeUnit;

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// `field` ends with a zero and has as many readable bytes after it as a chunk has.
void CheckNumbers(std::string_view field) {
  double value = 0;
  if (const char* const end = compile::ParseDecimal(field.data(), &value)) {
    const std::string text(field.data(), end);
    char* stop = nullptr;
    const double expected = std::strtod(text.c_str(), &stop);
    Require(*stop == '\0', "what is read as a decimal is one");
    Require(SameBits(value, expected), "a decimal is the nearest double");
  }
  uint64_t whole = 0;
  uint64_t expected = 0;
  const char* const end = compile::ParseUnsigned(field.data(), &whole);
  const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), expected);
  Require((end == nullptr) == (error != std::errc()), "an integer is one for both");
  Require(end == nullptr || (end == stop && whole == expected), "an integer has its value");

  compile::ShortNumber number{};
  if (number.Parse(field.data(), static_cast<unsigned>(field.size()))) {
    const std::string text(field);
    char* last = nullptr;
    const double nearest = std::strtod(text.c_str(), &last);
    Require(*last == '\0', "what is read as a short number is one");
    Require(
        std::abs(nearest) * std::pow(10.0, number.fraction) - static_cast<double>(number.digits) <
            0.5,
        "a short number has its digits");
  }
  double parsed = 0;
  if (compile::ParseDouble(field, &parsed) == compile::FieldStatus::kOk) {
    Require(!std::isnan(parsed), "a number is one");
    const std::string text(field);
    Require(SameBits(parsed, std::strtod(text.c_str(), nullptr)), "a double is the nearest one");
  }
}

void CheckTimes(std::string_view field) {
  constexpr int64_t kPerDay[] = {1, 86'400, 86'400'000, 86'400'000'000, 86'400'000'000'000};
  int64_t days = 0;
  const TimeStatus status = compile::ParseTime(field, TimeUnit::kDay, &days);
  for (int unit = 1; unit < 5; ++unit) {
    int64_t time = 0;
    const TimeStatus other = compile::ParseTime(field, static_cast<TimeUnit>(unit), &time);
    Require((status == TimeStatus::kNotTime) == (other == TimeStatus::kNotTime),
            "a time is one in every unit");
    if (other != TimeStatus::kOk && other != TimeStatus::kRounded) continue;
    int64_t first = 0;
    const bool overflows = __builtin_mul_overflow(days, kPerDay[unit], &first);
    Require(overflows || (first <= time && time - first < kPerDay[unit]), "a time lies in its day");
  }
}

void CheckFields(std::string_view field) {
  (void)compile::LookOf(field);
  (void)compile::IsNoValue(field);
  (void)compile::IsPlain(field);
  (void)compile::TextProblem(field, "a text", true);
  int64_t value = 0;
  (void)compile::ParseWhole(field, &value);
  for (uint32_t type = 0; type < 32; ++type) {
    const auto dtype = static_cast<store::DType>(type);
    if (!store::IsMatrixType(dtype)) continue;
    Tolerate([&] {
      Require(compile::ParseValue(dtype, std::string(field), "a value").size() ==
                  store::ItemSize(dtype),
              "a value has the size of its type");
    });
  }
}

}  // namespace
}  // namespace graphzero::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  std::vector<char> text(size + 1 + 64);
  if (size > 0) std::memcpy(text.data(), data, size);
  const std::string_view field(text.data(), size);
  graphzero::fuzz::CheckNumbers(field);
  graphzero::fuzz::CheckTimes(field);
  graphzero::fuzz::CheckFields(field);
  return 0;
}
