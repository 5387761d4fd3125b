#include "compile/text/field_values.h"

#include <charconv>

#include "compile/ids/id_collector.h"
#include "compile/matrices/matrix_value.h"
#include "compile/text/time_text.h"

namespace graphzero::compile {
namespace {

// UTF-8 is as RFC 3629 has it: no overlong forms, no surrogates, at most U+10FFFF.
// Bytes of the character that begins at text[0], or 0 if there is none.
size_t Utf8CharacterSize(std::string_view text) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = first == 0xed && byte(1) > 0x9f;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && byte(1) < 0x90;
    const bool beyond = first == 0xf4 && byte(1) > 0x8f;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = Utf8CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace

bool IsNoValue(std::string_view text) {
  if (text.empty()) return true;
  if (text[0] >= '0' && text[0] <= '9') return false;  // the common case
  if (text[0] == '-' || text[0] == '+') text.remove_prefix(1);
  for (const std::string_view word : {"nan", "na", "n/a", "null", "none", "nat", "<na>"}) {
    if (EqualsIgnoringCase(text, word)) return true;
  }
  return false;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool ParseWhole(std::string_view text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

uint8_t LookOf(std::string_view text) {
  int64_t integer;
  const std::string_view digits =
      text.substr(!text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0);
  if (IsDigits(digits) && ParseWhole(text[0] == '+' ? digits : text, &integer)) {
    const bool plain = text[0] != '+' && (digits.size() == 1 || digits[0] != '0') && text != "-0";
    return plain ? kLooksInteger : kLooksPaddedInteger;
  }
  if (EqualsIgnoringCase(text, "true") || EqualsIgnoringCase(text, "false")) return kLooksBool;
  double number;
  if (ParseDouble(text, &number) == FieldStatus::kOk) return kLooksNumber;
  if (ParseTime(text, TimeUnit::kDay, &integer) != TimeStatus::kNotTime) return kLooksTime;
  return kLooksText;
}

bool IsPlain(std::string_view text) {
  bool plain = text.size() <= TextIdCollector::kMaxBytes;
  for (const char c : text) plain &= c >= ' ' && c != '\x7f';
  return plain;
}

std::string TextProblem(std::string_view text, const std::string& what, bool one_line) {
  if (text.size() > TextIdCollector::kMaxBytes) {
    return "found " + what + " of " + std::to_string(text.size()) + " bytes, expected at most " +
           std::to_string(TextIdCollector::kMaxBytes);
  }
  if (text.find('\0') != std::string_view::npos) return "found " + what + " with a zero byte";
  if (one_line && text.find('\r') != std::string_view::npos) {
    return "found a carriage return inside " + what +
           "; lines end with a line feed, convert the file";
  }
  if (one_line && text.find('\n') != std::string_view::npos) {
    return "found a line feed inside " + what;
  }
  if (!IsUtf8(text)) {
    return "found " + what + " that is not UTF-8; convert the file, as iconv does";
  }
  return "";
}

}  // namespace graphzero::compile
