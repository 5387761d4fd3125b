// The format of a text table: detected from its first lines, and the same for all later lines.
//
// Blank lines and lines that begin with '#' or '%' are no part of the table; but see
// record_parser.h about rows below a header. The first other line is a header if its first field is
// not a number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "compile/text/text_source.h"

namespace graphzero::compile {

struct TableDialect {
  // ',', ';', '\t', or ' ' for any run of blanks. Around the others, blanks are ignored.
  char delimiter = ',';
  uint64_t columns = 0;      // of the first data line; 0 when there is none
  uint64_t data_offset = 0;  // where that line begins in the file; the file's size when none
};

// What a line begins with. A value may be NaN, so a line that begins with NaN is then no header.
enum class FirstField { kId, kValue };

TableDialect DetectDialect(const TextSource& source, FirstField first_field = FirstField::kId);

// True if the line (leading blanks allowed) is blank or a comment.
bool IsIgnoredLine(const char* line);

// Fields of one line, without its newline.
uint64_t CountFields(std::string_view line, char delimiter);

// A hint for messages about a field that is no node id: texts as ids need an option.
inline const char* IdHint(std::string_view field) {
  const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  const auto is_text = [&](char c) {
    return is_letter(c) || static_cast<unsigned char>(c) >= 0x80;
  };
  const bool number = !field.empty() && field.find_first_not_of("0123456789+-.eE") == field.npos;
  const bool text = !number && std::any_of(field.begin(), field.end(), is_text);
  return text ? "; --relabel takes texts" : "";
}

// A field without the quotes around it: some programs quote numbers too.
inline std::string_view Unquoted(std::string_view field) {
  const bool quoted = field.size() >= 2 && field.front() == '"' && field.back() == '"';
  return quoted ? field.substr(1, field.size() - 2) : field;
}

// Blanks that surround fields: spaces, and tabs where these do not separate fields.
inline bool IsBlank(char c, char delimiter) { return c == ' ' || (c == '\t' && delimiter != '\t'); }

}  // namespace graphzero::compile
