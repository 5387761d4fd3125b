#include "compile/id_text.h"

#include <algorithm>
#include <charconv>

#include "compile/table_dialect.h"
#include "compile/utf8.h"
#include "store/errors.h"

namespace graphzero::compile {
namespace {

constexpr char kNoDelimiter = '\0';

// Without its end, and without blanks that do not separate fields.
std::string_view TrimEnd(std::string_view text, char delimiter) {
  while (!text.empty() &&
         (IsBlank(text.back(), delimiter) || text.back() == '\r' || text.back() == '\n')) {
    text.remove_suffix(1);
  }
  return text;
}

// A tab is no part of a text; the first comma or semicolon outside quotes decides between these.
char FindDelimiter(std::string_view line, bool whole_lines) {
  char found = whole_lines ? kNoDelimiter : ' ';
  bool quoted = false;
  for (const char c : TrimEnd(line, '\t')) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\t') return c;
    if ((c == ',' || c == ';') && (found == ' ' || found == kNoDelimiter)) found = c;
  }
  return found;
}

// Reads one field after the other from a line.
class FieldReader {
 public:
  FieldReader(std::string_view line, char delimiter)
      : rest_(TrimEnd(line, delimiter)), delimiter_(delimiter) {}

  // False at the end of the line, or if a quote does not end: then broken().
  bool Next(std::string_view* text, bool* quoted) {
    if (ended_) return false;
    SkipBlanks();
    *quoted = !rest_.empty() && rest_.front() == '"';
    const size_t size = *quoted ? QuotedSize() : PlainSize();
    if (size == std::string_view::npos) {
      broken_ = true;
      return false;
    }
    *text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (*quoted) {
      *text = text->substr(1, text->size() - 2);
    } else if (delimiter_ != ' ') {
      *text = TrimEnd(*text, delimiter_);
    }
    EndField();
    return true;
  }
  bool broken() const { return broken_; }
  // What was not read, from its delimiter on; empty at the end of the line.
  std::string_view rest() const { return after_; }

 private:
  void SkipBlanks() {
    while (!rest_.empty() && IsBlank(rest_.front(), delimiter_)) rest_.remove_prefix(1);
  }

  size_t PlainSize() const {
    if (delimiter_ == kNoDelimiter) return rest_.size();
    const size_t at = delimiter_ == ' ' ? rest_.find_first_of(" \t") : rest_.find(delimiter_);
    return std::min(at, rest_.size());
  }

  // With both quotes; npos if what follows them is neither blank nor a delimiter, too.
  size_t QuotedSize() const {
    size_t at = 1;
    while ((at = rest_.find('"', at)) != std::string_view::npos) {
      if (at + 1 >= rest_.size() || rest_[at + 1] != '"') break;
      at += 2;
    }
    if (at == std::string_view::npos) return at;
    size_t next = at + 1;
    while (next < rest_.size() && IsBlank(rest_[next], delimiter_)) ++next;
    const bool ends =
        next == rest_.size() || (delimiter_ == ' ' ? next > at + 1 : rest_[next] == delimiter_);
    return ends ? at + 1 : std::string_view::npos;
  }

  void EndField() {
    SkipBlanks();
    after_ = rest_;
    ended_ = rest_.empty();
    if (!ended_ && delimiter_ != ' ') {
      rest_.remove_prefix(1);
    } else if (delimiter_ == ' ' && !ended_) {
      after_ = {rest_.data() - 1, rest_.size() + 1};  // the blank before it
    }
  }

  std::string_view rest_;
  std::string_view after_;
  char delimiter_;
  bool ended_ = false;
  bool broken_ = false;
};

void AppendUnquoted(std::string_view text, bool quoted, std::string* out) {
  if (!quoted) {
    out->append(text);
    return;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    out->push_back(text[i]);
    if (text[i] == '"') ++i;  // doubled
  }
}

void AppendNumber(int64_t value, std::string* out) {
  char digits[24];
  out->append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// Lines of a chunk, each with its newline.
template <class Visit>
void ForEachLine(const TextChunk& chunk, Visit&& visit) {
  for (size_t begin = 0; begin < chunk.text.size();) {
    const size_t end = chunk.text.find('\n', begin) + 1;
    visit(chunk.text.substr(begin, end - begin), chunk.offset + begin);
    begin = end;
  }
}

// The first chunk with a line that is not ignored.
TextChunk FirstLines(const TextSource& source) {
  TextChunk chunk;
  for (uint64_t at = 0; at < source.size(); at += TextSource::kChunkBytes) {
    chunk = source.Peek(at, TextSource::kChunkBytes);
    bool any = false;
    ForEachLine(chunk,
                [&](std::string_view line, uint64_t) { any |= !IsIgnoredLine(line.data()); });
    if (any) break;
  }
  return chunk;
}

char DelimiterOf(const TextSource& source, bool whole_lines) {
  std::optional<char> delimiter;
  const TextChunk chunk = FirstLines(source);
  ForEachLine(chunk, [&](std::string_view line, uint64_t) {
    if (!delimiter && !IsIgnoredLine(line.data())) delimiter = FindDelimiter(line, whole_lines);
  });
  return delimiter.value_or(',');
}

}  // namespace

std::vector<std::vector<std::string>> SampleFields(const TextSource& source, size_t most_lines,
                                                   bool whole_lines) {
  std::vector<std::vector<std::string>> lines;
  const char delimiter = DelimiterOf(source, whole_lines);
  const TextChunk chunk = FirstLines(source);
  ForEachLine(chunk, [&](std::string_view line, uint64_t) {
    if (IsIgnoredLine(line.data()) || lines.size() == most_lines) return;
    FieldReader reader(line, delimiter);
    std::vector<std::string>& fields = lines.emplace_back();
    std::string_view text;
    for (bool quoted; reader.Next(&text, &quoted);) {
      AppendUnquoted(text, quoted, &fields.emplace_back());
    }
  });
  return lines;
}

IdText::IdText(std::unique_ptr<TextSource> source, IdTextFormat format)
    : source_(std::move(source)),
      format_(std::move(format)),
      delimiter_(DelimiterOf(*source_, format_.whole_lines)) {
  columns_needed_ = 1 + *std::max_element(format_.ids.begin(), format_.ids.end());
  for (const size_t column : format_.others.value_or(std::vector<size_t>{})) {
    columns_needed_ = std::max(columns_needed_, column + 1);
  }
}

bool IdText::Next() {
  if (!source_->Next(&chunk_)) return false;
  lines_.clear();
  integers_.clear();
  offsets_.assign(1, 0);
  data_.clear();
  others_.clear();
  ForEachLine(chunk_, [this](std::string_view line, uint64_t offset) { AddLine(line, offset); });
  input_units_ += chunk_.input_units;
  return true;
}

void IdText::AddLine(std::string_view line, uint64_t offset) {
  const bool ignored = IsIgnoredLine(line.data());
  if (ignored || (format_.has_header && !std::exchange(header_seen_, true))) {
    lines_.push_back({offset, others_.size(), false, !ignored});
    return;
  }
  FieldReader reader(line, delimiter_);
  fields_.clear();
  for (Field field; fields_.size() < columns_needed_ && reader.Next(&field.text, &field.quoted);) {
    fields_.push_back(field);
  }
  if (reader.broken()) {
    ThrowAt(offset, line, "found a quote that does not end with its field");
  }
  if (fields_.size() < columns_needed_) {
    ThrowAt(offset, line,
            "expected " + std::to_string(columns_needed_) + " columns" +
                (format_.others ? " or more" : "") + ", found " + std::to_string(fields_.size()));
  }
  for (const size_t column : format_.ids) AddId(fields_[column], line, offset);
  AddOthers(reader.rest());
  lines_.push_back({offset, others_.size(), true, false});
}

void IdText::AddId(const Field& field, std::string_view line, uint64_t offset) {
  const size_t begin = data_.size();
  AppendUnquoted(field.text, field.quoted, &data_);
  const std::string_view id = std::string_view(data_).substr(begin);
  CheckText(id, line, offset);
  if (format_.kind == IdKind::kInteger) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
    if (error != std::errc() || end != id.data() + id.size()) {
      ThrowAt(offset, line,
              "found id " + Shorten(id) +
                  ", expected an integer of 64 bits (--relabel text takes ids as they stand)");
    }
    integers_.push_back(value);
  }
  offsets_.push_back(static_cast<int64_t>(data_.size()));
}

void IdText::CheckText(std::string_view id, std::string_view line, uint64_t offset) const {
  if (id.empty()) ThrowAt(offset, line, "found an empty id");
  if (id.size() > TextIdCollector::kMaxBytes) {
    ThrowAt(offset, line,
            "found an id of " + std::to_string(id.size()) + " bytes, expected at most " +
                std::to_string(TextIdCollector::kMaxBytes));
  }
  if (id.find('\0') != std::string_view::npos)
    ThrowAt(offset, line, "found an id with a zero byte");
  if (id.find('\r') != std::string_view::npos) {
    ThrowAt(offset, line,
            "found a carriage return inside an id; lines end with a line feed, convert the file");
  }
  if (!IsUtf8(id)) {
    ThrowAt(offset, line, "found an id that is not UTF-8; convert the file, as iconv does");
  }
}

void IdText::AddOthers(std::string_view rest) {
  if (!format_.others) {
    others_.append(rest);
    return;
  }
  for (const size_t column : *format_.others) {
    others_.push_back(delimiter_);
    AppendUnquoted(fields_[column].text, fields_[column].quoted, &others_);
  }
}

std::string IdText::Rewritten(std::span<const int64_t> rows) const {
  std::string out;
  out.reserve(others_.size() + lines_.size() * (1 + 9 * format_.ids.size()));
  size_t id = 0;
  size_t others_begin = 0;
  for (const Line& line : lines_) {
    if (line.has_ids) {
      for (size_t i = 0; i < format_.ids.size(); ++i, ++id) {
        if (i > 0) out.push_back(delimiter_);
        if (rows.empty()) {
          out.append(texts()[id]);
        } else {
          AppendNumber(rows[id], &out);
        }
      }
      out.append(others_, others_begin, line.others_end - others_begin);
    }
    if (line.is_header) out.append("names");  // any that a parser of plain text passes over
    others_begin = line.others_end;
    out.push_back('\n');
  }
  return out;
}

void IdText::Refuse(size_t id, const std::string& problem) const {
  size_t line = id / format_.ids.size();
  for (const Line& candidate : lines_) {
    if (candidate.has_ids && line-- == 0) {
      const size_t begin = candidate.offset - chunk_.offset;
      const std::string_view text = chunk_.text.substr(begin);
      ThrowAt(candidate.offset, text.substr(0, text.find('\n')), problem);
    }
  }
  throw InputError(source_->path() + ": " + problem);
}

void IdText::ThrowAt(uint64_t offset, std::string_view line, const std::string& problem) const {
  throw InputError(source_->path() + " line " + std::to_string(source_->LineNumber(offset)) + ": " +
                   problem + ": " + Shorten(line));
}

}  // namespace graphzero::compile
