// What a single field is: missing, a number, a time, a text that can be stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace graphzero::compile {

// What kSurvey found in a column, as bits.
enum FieldLook : uint8_t {
  kLooksMissing = 1,
  kLooksInteger = 2,        // of 64 bits, as Python prints it
  kLooksPaddedInteger = 4,  // of 64 bits, with a plus or leading zeros
  kLooksNumber = 8,
  kLooksBool = 16,  // true or false, in any case
  kLooksTime = 32,
  kLooksText = 64,
};

// True for spellings of a missing value in columns that are not texts.
bool IsNoValue(std::string_view text);

bool IsDigits(std::string_view text);

// Reads all of the text as an integer of 64 bits; false if it is none.
bool ParseWhole(std::string_view text, int64_t* value);

// The FieldLook bit of a field that is not missing.
uint8_t LookOf(std::string_view text);

// True for printable ASCII of at most TextIdCollector::kMaxBytes, which can always be stored.
bool IsPlain(std::string_view text);

// "" if the text can be stored, else what is wrong with it. `what` is what the message calls it:
// "an id". With `one_line`, line breaks are wrong too.
std::string TextProblem(std::string_view text, const std::string& what, bool one_line);

}  // namespace graphzero::compile
