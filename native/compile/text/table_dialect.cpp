#include "compile/text/table_dialect.h"

#include <algorithm>
#include <cstring>

namespace graphzero::compile {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool BeginsWithNumber(std::string_view line) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string_view::npos) return false;
  if (line[at] == '"') ++at;
  if (at == line.size()) return false;
  if (line[at] == '-' || line[at] == '+') ++at;
  if (at < line.size() && line[at] == '.') ++at;
  return at < line.size() && IsDigit(line[at]);
}

bool BeginsWithNan(std::string_view line) {
  const size_t at = std::min(line.find_first_not_of(" \t"), line.size());
  const std::string_view first = line.substr(at, line.find_first_of(",;\t \r\n", at) - at);
  return first == "nan" || first == "NaN" || first == "NAN";
}

// The character that ends the first field. A field that ends with a blank may have its delimiter
// after it: "1 , 2".
char FindDelimiter(std::string_view line) {
  size_t at = line.find_first_not_of(" \t");
  at = line.find_first_of(",;\t ", at);
  while (at < line.size() && line[at] == ' ') ++at;
  if (at < line.size() && (line[at] == ',' || line[at] == ';' || line[at] == '\t')) return line[at];
  return ' ';
}

std::string_view WithoutLineEnd(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

bool IsIgnoredLine(const char* line) {
  while (*line == ' ' || *line == '\t' || *line == '\r') ++line;
  return *line == '\n' || *line == '#' || *line == '%';
}

uint64_t CountFields(std::string_view line, char delimiter) {
  line = WithoutLineEnd(line);
  if (delimiter != ' ') {
    return 1 + static_cast<uint64_t>(std::count(line.begin(), line.end(), delimiter));
  }
  uint64_t fields = 0;
  for (size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string_view::npos;
       ++fields) {
    at = std::min(line.find_first_of(" \t", at), line.size());
  }
  return fields;
}

TableDialect DetectDialect(const TextSource& source, FirstField first_field) {
  TableDialect dialect;
  bool may_be_header = true;
  for (uint64_t at = 0; at < source.size(); at += TextSource::kChunkBytes) {
    const TextChunk chunk = source.Peek(at, TextSource::kChunkBytes);
    for (size_t begin = 0; begin < chunk.text.size();) {
      const size_t end = chunk.text.find('\n', begin) + 1;
      const std::string_view line = chunk.text.substr(begin, end - begin);
      const uint64_t offset = chunk.offset + begin;
      begin = end;
      if (IsIgnoredLine(line.data())) continue;
      if (std::exchange(may_be_header, false) && !BeginsWithNumber(line) &&
          !(first_field == FirstField::kValue && BeginsWithNan(line))) {
        continue;
      }
      dialect.delimiter = FindDelimiter(WithoutLineEnd(line));
      dialect.columns = CountFields(line, dialect.delimiter);
      dialect.data_offset = offset;
      return dialect;
    }
  }
  dialect.data_offset = source.size();
  return dialect;
}

}  // namespace graphzero::compile
