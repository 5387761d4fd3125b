// Fields of a text table one after the other, where a field may be any text.
//
// Blank lines, comments and delimiters are as table_dialect.h says, except that blanks separate
// fields only where no tab, comma or semicolon does. A field may be quoted, such as "Smith, John",
// with quotes inside it doubled; a quoted field may span several lines. Blanks around a field are
// not part of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "compile/text/number.h"
#include "compile/text/table_dialect.h"

namespace graphzero::compile {

// For FieldReader: the whole line is one field.
inline constexpr char kNoDelimiter = '\0';

// What separates the fields of a line: a tab if there is one outside quotes, else the first comma
// or semicolon outside quotes, else blanks. With `whole_lines`, blanks separate nothing.
inline char FindFieldDelimiter(std::string_view line, bool whole_lines) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) {
    line.remove_suffix(1);
  }
  char found = whole_lines ? kNoDelimiter : ' ';
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\t') return c;
    if ((c == ',' || c == ';') && (found == ' ' || found == kNoDelimiter)) found = c;
  }
  return found;
}

struct TextField {
  std::string_view text;        // without quotes around it
  bool quotes_doubled = false;  // quotes inside are still doubled

  void AppendTo(std::string* out) const {
    if (!quotes_doubled) {
      out->append(text);
      return;
    }
    for (size_t i = 0; i < text.size(); ++i) {
      out->push_back(text[i]);
      if (text[i] == '"') ++i;
    }
  }
};

enum class NextField {
  kField,
  kEnd,       // of the record: there is no further field
  kUnclosed,  // a quote is not closed within the text
  kBroken,    // a quote ends, but what follows it is neither blank nor a delimiter
};

// Reads the fields of one record.
class FieldReader {
 public:
  // `text` begins with the record and ends with the newline of this or a later record. It lies in a
  // TextChunk or has TextChunk::kPadding readable bytes after it.
  FieldReader(std::string_view text, char delimiter)
      : begin_(text.data()),
        at_(text.data()),
        end_(text.data() + text.size()),
        delimiter_(delimiter) {}

  NextField Next(TextField* field) {
    if (ended_) return NextField::kEnd;
    while (IsBlank(*at_, delimiter_)) ++at_;
    if (*at_ == '"') return Quoted(field);
    if (delimiter_ == ' ' && AtLineEnd(at_)) {
      EndAt(at_);
      return NextField::kEnd;
    }
    const char* stop = at_;
    if (delimiter_ == ' ') {
      while (*stop != ' ' && *stop != '\t' && *stop != '\n') ++stop;
    } else {
      stop = FindEither(at_, delimiter_, '\n');
    }
    const char* last = stop;
    while (last > at_ && (IsBlank(last[-1], delimiter_) || (*stop == '\n' && last[-1] == '\r'))) {
      --last;
    }
    *field = {{at_, static_cast<size_t>(last - at_)}, false};
    Pass(stop);
    return NextField::kField;
  }

  // After kEnd: the size of the record in bytes, with the newline that ends it.
  size_t size() const { return static_cast<size_t>(at_ - begin_); }

 private:
  // A text ends with a newline, so that there is a character after '\r'.
  static bool AtLineEnd(const char* p) { return *p == '\n' || (*p == '\r' && p[1] == '\n'); }

  void EndAt(const char* p) {
    ended_ = true;
    at_ = p + (*p == '\r') + 1;
  }

  // Moves past the delimiter or the newline that ends a field.
  void Pass(const char* p) {
    while (IsBlank(*p, delimiter_)) ++p;
    if (AtLineEnd(p)) {
      EndAt(p);
    } else {
      at_ = delimiter_ == ' ' ? p : p + 1;
    }
  }

  NextField Quoted(TextField* field) {
    const char* const first = at_ + 1;
    const char* quote = first;
    bool doubled = false;
    for (;; quote += 2) {
      // The text may end between two quotes if it is part of a longer text.
      if (quote >= end_) return NextField::kUnclosed;
      quote = static_cast<const char*>(std::memchr(quote, '"', static_cast<size_t>(end_ - quote)));
      if (quote == nullptr) return NextField::kUnclosed;
      if (quote[1] != '"') break;
      doubled = true;
    }
    const char* after = quote + 1;
    while (IsBlank(*after, delimiter_)) ++after;
    const bool ends = AtLineEnd(after) ||
                      (delimiter_ == ' ' ? after > quote + 1
                                         : delimiter_ != kNoDelimiter && *after == delimiter_);
    if (!ends) return NextField::kBroken;
    *field = {{first, static_cast<size_t>(quote - first)}, doubled};
    Pass(after);
    return NextField::kField;
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
  const char delimiter_;
  bool ended_ = false;
};

}  // namespace graphzero::compile
