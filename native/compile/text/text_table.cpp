#include "compile/text/text_table.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <mutex>
#include <utility>

#include "base/errors.h"
#include "base/team.h"
#include "compile/job.h"
#include "compile/matrices/matrix_value.h"
#include "compile/text/number.h"
#include "compile/text/utf8.h"

namespace graphzero::compile {
namespace {

constexpr size_t kShownBad = 5;
// Chunks that are parsed before their values are handed on: what is done once for a batch should
// not count, and the values of a batch must fit into the least memory a job has.
constexpr size_t kChunksPerBatch = 8;

// Lines of a chunk, each with its newline.
template <class Visit>
void ForEachLine(const TextChunk& chunk, Visit&& visit) {
  for (size_t begin = 0; begin < chunk.text.size();) {
    const size_t end = chunk.text.find('\n', begin) + 1;
    if (!visit(chunk.text.substr(begin, end - begin), chunk.offset + begin)) return;
    begin = end;
  }
}

// The first chunk with a line that is not ignored, and where that line begins in it; npos if there
// is none.
struct FirstLine {
  TextChunk chunk;
  size_t begin = std::string_view::npos;

  std::string_view rest() const { return chunk.text.substr(begin); }
  std::string_view line() const { return rest().substr(0, rest().find('\n') + 1); }
};

FirstLine FindFirstLine(const TextSource& source) {
  FirstLine first;
  for (uint64_t at = 0; at < source.size(); at += TextSource::kChunkBytes) {
    first.chunk = source.Peek(at, TextSource::kChunkBytes);
    ForEachLine(first.chunk, [&](std::string_view line, uint64_t offset) {
      if (IsIgnoredLine(line.data())) return true;
      first.begin = offset - first.chunk.offset;
      return false;
    });
    if (first.begin != std::string_view::npos) break;
  }
  return first;
}

char DelimiterOf(const TextSource& source, bool whole_lines) {
  const FirstLine first = FindFirstLine(source);
  if (first.begin == std::string_view::npos) return ',';
  return FindFieldDelimiter(first.line(), whole_lines);
}

// Bytes of the record at the front of `text`; of its first line if quotes in it are wrong.
size_t RecordSize(std::string_view text, char delimiter) {
  FieldReader reader(text, delimiter);
  TextField field;
  NextField next;
  while ((next = reader.Next(&field)) == NextField::kField) {
  }
  return next == NextField::kEnd ? reader.size() : text.find('\n') + 1;
}

// Where the data begins: behind the header, if there is one.
uint64_t DataOffset(const TextSource& source, bool has_header, char delimiter) {
  if (!has_header) return 0;
  const FirstLine first = FindFirstLine(source);
  if (first.begin == std::string_view::npos) return 0;
  return first.chunk.offset + first.begin + RecordSize(first.rest(), delimiter);
}

// Spellings of a missing value in columns that are not texts.
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

// A look at one field that is not missing.
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

// Printable ASCII, which can be stored among texts whatever they are.
bool IsPlain(std::string_view text) {
  bool plain = text.size() <= TextIdCollector::kMaxBytes;
  for (const char c : text) plain &= c >= ' ' && c != '\x7f';
  return plain;
}

// "" if it can be stored among texts, else what is wrong with it.
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

// Of no rows yet. A survey has something to say about each column even then.
std::vector<GroupValues> NoValues(const TextTableFormat& format) {
  std::vector<GroupValues> groups(format.groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    const FieldGroup& group = format.groups[i];
    if (group.kind == FieldKind::kSurvey) groups[i].looks.resize(group.columns.size());
  }
  return groups;
}

template <class T>
void AppendAll(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

void GroupValues::Append(const GroupValues& other) {
  AppendAll(other.integers, &integers);
  AppendAll(other.numbers, &numbers);
  const auto base = static_cast<int64_t>(texts.size());
  offsets.reserve(offsets.size() + other.offsets.size());
  for (size_t i = 1; i < other.offsets.size(); ++i) offsets.push_back(base + other.offsets[i]);
  AppendAll(other.texts, &texts);
  AppendAll(other.missing, &missing);
  for (size_t i = 0; i < looks.size(); ++i) looks[i] |= other.looks[i];
  rounded += other.rounded;
}

void GroupValues::Truncate(size_t rows, size_t columns) {
  const size_t values = rows * columns;
  integers.resize(std::min(integers.size(), values));
  numbers.resize(std::min(numbers.size(), values));
  missing.resize(std::min(missing.size(), values));
  offsets.resize(std::min(offsets.size(), values + 1));
  texts.resize(static_cast<size_t>(offsets.back()));
}

std::vector<std::vector<std::string>> SampleFields(const TextSource& source, size_t most_lines,
                                                   bool whole_lines) {
  std::vector<std::vector<std::string>> lines;
  const FirstLine first = FindFirstLine(source);
  if (first.begin == std::string_view::npos) return lines;
  const char delimiter = FindFieldDelimiter(first.line(), whole_lines);
  for (std::string_view rest = first.rest(); !rest.empty() && lines.size() < most_lines;) {
    const size_t size = RecordSize(rest, delimiter);
    if (!IsIgnoredLine(rest.data())) {
      FieldReader reader(rest.substr(0, size), delimiter);
      std::vector<std::string>& fields = lines.emplace_back();
      for (TextField field; reader.Next(&field) == NextField::kField;) {
        field.AppendTo(&fields.emplace_back());
      }
    }
    rest.remove_prefix(size);
  }
  return lines;
}

// Values of records, one after the other, to the groups of a Parsed.
class TextTable::RecordParser {
 public:
  RecordParser(const TextTableFormat& format, char delimiter, Parsed* parsed)
      : format_(format), delimiter_(delimiter), parsed_(parsed) {
    parsed_->groups = NoValues(format);
    fields_.reserve(format.columns);
  }

  // Reads the record at the front of `text`. The result is its size, or 0 if a quote does not end
  // in the text; then, and if `problem` is not empty, nothing was added.
  size_t Read(std::string_view text, std::string* problem) {
    problem->clear();
    FieldReader reader(text, delimiter_);
    fields_.clear();
    TextField field;
    NextField next;
    size_t count = 0;
    for (; (next = reader.Next(&field)) == NextField::kField; ++count) {
      if (count < format_.columns) fields_.push_back(field);
    }
    if (next == NextField::kUnclosed) return 0;
    if (next == NextField::kBroken) {
      *problem = kBadQuote;
      return text.find('\n') + 1;
    }
    if (count != format_.columns) {
      *problem = "expected " + std::to_string(format_.columns) +
                 (format_.columns == 1 ? " column" : " columns") + ", found " +
                 std::to_string(count);
      return reader.size();
    }
    AddRow(problem);
    return reader.size();
  }

  static constexpr const char* kBadQuote = "found a quote that does not end with its field";

 private:
  void AddRow(std::string* problem) {
    const size_t row = parsed_->rows.size();
    for (size_t i = 0; i < format_.groups.size(); ++i) {
      const FieldGroup& group = format_.groups[i];
      size_t at =
          group.kind == FieldKind::kNumber ? AddPlainNumbers(group, &parsed_->groups[i]) : 0;
      for (; at < group.columns.size(); ++at) {
        *problem = AddField(group, at, &parsed_->groups[i]);
        if (problem->empty()) continue;
        for (size_t g = 0; g <= i; ++g) {
          parsed_->groups[g].Truncate(row, format_.groups[g].columns.size());
        }
        return;
      }
    }
  }

  // Adds numbers of the usual form as long as they come, which is all of them in most rows. Returns
  // how many.
  size_t AddPlainNumbers(const FieldGroup& group, GroupValues* values) const {
    size_t at = 0;
    for (; at < group.columns.size(); ++at) {
      const TextField& field = fields_[group.columns[at]];
      double value;
      // A field lies in a chunk, which has readable bytes after it.
      const char* end = field.text.empty() ? nullptr : ParseDecimal(field.text.data(), &value);
      if (end == nullptr || end != field.text.data() + field.text.size()) break;
      values->numbers.push_back(value);
    }
    return at;
  }

  // "" or what is wrong with the field.
  std::string AddField(const FieldGroup& group, size_t at, GroupValues* values) {
    const TextField& field = fields_[group.columns[at]];
    std::string_view text = field.text;
    if (field.quotes_doubled) {
      unquoted_.clear();
      field.AppendTo(&unquoted_);
      text = unquoted_;
    }
    switch (group.kind) {
      case FieldKind::kTextId:
        return AddTextId(text, values);
      case FieldKind::kIntegerId:
        return AddIntegerId(text, values);
      case FieldKind::kNodeId:
        return AddNodeId(text, group.labels[at], values);
      case FieldKind::kWeight:
        return AddWeight(text, values);
      case FieldKind::kSurvey:
        values->looks[at] |= Look(text);
        return "";
      default:
        break;
    }
    const bool is_text = group.kind == FieldKind::kText;
    const bool missing = text.empty() || IsGivenMissing(text) || (!is_text && IsNoValue(text));
    if (missing && !group.may_be_missing) {
      return group.labels[at] + ": found " +
             (text.empty() ? std::string("an empty field") : Shorten(text)) + ", expected " +
             Expected(group.kind) + group.missing_hint;
    }
    if (group.kind == FieldKind::kNumber) {
      return AddNumber(missing ? std::string_view() : text, group, at, values);
    }
    values->missing.push_back(missing);
    if (is_text) return AddText(missing ? std::string_view() : text, group.labels[at], values);
    if (missing) {
      values->integers.push_back(0);
      return "";
    }
    return AddInteger(text, group, group.labels[at], values);
  }

  static std::string Expected(FieldKind kind) {
    switch (kind) {
      case FieldKind::kInteger:
        return "an integer";
      case FieldKind::kBool:
        return "0, 1, true or false";
      case FieldKind::kTime:
        return "a date such as 2013-01-31 or 2013-01-31T05:17:00Z";
      case FieldKind::kText:
        return "a text";
      default:
        return "a number";
    }
  }

  bool IsGivenMissing(std::string_view text) const {
    return std::find(format_.missing.begin(), format_.missing.end(), text) != format_.missing.end();
  }

  // Which spellings mean a missing value depends on what the column turns out to be, so "NA" is
  // one and a text.
  uint8_t Look(std::string_view text) const {
    return IsGivenMissing(text) || IsNoValue(text) ? uint8_t{kLooksMissing} : LookOf(text);
  }

  const char* MissingId(std::string_view text) const {
    if (text.empty()) return "found an empty id";
    return IsGivenMissing(text) ? "found an id that stands for a missing value" : nullptr;
  }

  std::string AddTextId(std::string_view text, GroupValues* values) const {
    if (const char* problem = MissingId(text)) return problem;
    if (!IsPlain(text)) {
      if (std::string problem = TextProblem(text, "an id", true); !problem.empty()) return problem;
    }
    AppendText(text, values);
    return "";
  }

  static void AppendText(std::string_view text, GroupValues* values) {
    values->texts.insert(values->texts.end(), text.begin(), text.end());
    values->offsets.push_back(static_cast<int64_t>(values->texts.size()));
  }

  std::string AddIntegerId(std::string_view text, GroupValues* values) const {
    if (const char* problem = MissingId(text)) return problem;
    int64_t value;
    if (!ParseWhole(text, &value)) {
      return "found id " + Shorten(text) +
             ", expected an integer of 64 bits (--relabel text takes ids as they stand)";
    }
    values->integers.push_back(value);
    return "";
  }

  std::string AddNodeId(std::string_view text, const std::string& label,
                        GroupValues* values) const {
    int64_t value;
    if (ParseWhole(text, &value) && value >= 0 && static_cast<uint64_t>(value) < format_.id_limit) {
      values->integers.push_back(value);
      return "";
    }
    const bool negative = text.size() > 1 && text[0] == '-';
    const bool integer = IsDigits(text.substr(negative ? 1 : 0));
    return "found " + label + " " + Shorten(text) + ", expected " +
           (integer ? IdRange(format_.id_limit) : std::string("an integer id") + IdHint(text));
  }

  static std::string AddWeight(std::string_view text, GroupValues* values) {
    double value = 0;
    const bool number = ParseDouble(text, &value) == FieldStatus::kOk;
    if (!number || !std::isfinite(static_cast<float>(value)) || value < 0) {
      return "found weight " + Shorten(text) + ", expected a finite number >= 0";
    }
    values->numbers.push_back(value);
    return "";
  }

  static std::string AddNumber(std::string_view text, const FieldGroup& group, size_t at,
                               GroupValues* values) {
    double value = 0;
    const FieldStatus status = ParseDouble(text, &value);
    if (status == FieldStatus::kOutOfRange) {
      return group.labels[at] + ": found " + Shorten(text) + ", which does not fit float64";
    }
    if (status == FieldStatus::kNotNumber) {
      return group.labels[at] + ": found " + Shorten(text) + ", expected a number" +
             group.text_hint;
    }
    values->numbers.push_back(value);
    return "";
  }

  static std::string AddText(std::string_view text, const std::string& label, GroupValues* values) {
    if (!IsPlain(text)) {
      const std::string problem = TextProblem(text, "a text", false);
      if (!problem.empty()) return label + ": " + problem;
    }
    AppendText(text, values);
    return "";
  }

  static std::string AddInteger(std::string_view text, const FieldGroup& group,
                                const std::string& label, GroupValues* values) {
    int64_t value = 0;
    std::string problem;
    if (group.kind == FieldKind::kBool) {
      bool truth = false;
      if (Value<bool>::Parse(text, &truth) != FieldStatus::kOk) problem = ", expected ";
      value = truth;
    } else if (group.kind == FieldKind::kTime && !ParseWhole(text, &value)) {
      const TimeStatus status = ParseTime(text, group.unit, &value);
      values->rounded += status == TimeStatus::kRounded;
      if (status == TimeStatus::kOutOfRange) {
        return label + ": found " + Shorten(text) + ", which 64 bits do not hold in that unit";
      }
      if (status == TimeStatus::kNotTime) problem = ", expected ";
    } else if (group.kind == FieldKind::kInteger && !ParseWhole(text, &value)) {
      const FieldStatus status = Value<int64_t>::Parse(text, &value);
      if (status == FieldStatus::kOutOfRange) {
        return label + ": found " + Shorten(text) + ", which does not fit int64";
      }
      if (status != FieldStatus::kOk) problem = ", expected ";
    }
    if (!problem.empty()) {
      return label + ": found " + Shorten(text) + problem + Expected(group.kind);
    }
    values->integers.push_back(value);
    return "";
  }

  const TextTableFormat& format_;
  const char delimiter_;
  Parsed* const parsed_;
  std::vector<TextField> fields_;
  std::string unquoted_;
};

TextTable::TextTable(std::unique_ptr<TextSource> source, TextTableFormat format, int threads)
    : source_(std::move(source)),
      format_(std::move(format)),
      threads_(std::max(threads, 1)),
      delimiter_(DelimiterOf(*source_, format_.whole_lines)),
      data_offset_(DataOffset(*source_, format_.has_header, delimiter_)),
      groups_(format_.groups.size()) {}

bool TextTable::Next() {
  rows_.clear();
  offsets_.clear();
  groups_ = NoValues(format_);
  if (ended_) return false;
  if (ahead_.empty()) ReadAhead();
  ahead_.clear();  // waits for it
  if (ahead_error_) std::rethrow_exception(std::exchange(ahead_error_, nullptr));
  const std::vector<Part> parts = std::exchange(parts_, {});
  ended_ = parts.size() < kChunksPerBatch;
  // The next chunks are parsed while the caller uses the values of these.
  if (!ended_) ahead_ = base::StartHelpers(1, read_ahead_);
  for (const Part& part : parts) {
    input_units_ += part.chunk.input_units;
    if (carry_.empty()) {
      Add(part.parsed);
      carry_ = part.chunk.text.substr(part.parsed.unfinished);
      carry_offset_ = part.chunk.offset + part.parsed.unfinished;
    } else {
      // What a thread made of this chunk is of no use: it began inside of a quoted field.
      AddCarried(part.chunk.text, false);
    }
  }
  if (ended_ && !carry_.empty()) AddCarried({}, true);
  return true;
}

// Parses the next chunks into parts_, several at a time; fewer than kChunksPerBatch at the end.
void TextTable::ReadAhead() {
  try {
    std::mutex mutex;
    std::atomic<bool> ended{false};
    base::RunTeam(threads_, [&](int) {
      while (!ended) {
        Part part;
        size_t place;
        {
          std::lock_guard lock(mutex);
          place = parts_.size();
          if (place == kChunksPerBatch) return;
          if (!source_->Next(&part.chunk)) {
            ended = true;
            return;
          }
          parts_.emplace_back();
        }
        Parse(part.chunk.text, part.chunk.offset, false, &part.parsed);
        std::lock_guard lock(mutex);
        parts_[place] = std::move(part);
      }
    });
  } catch (...) {
    ahead_error_ = std::current_exception();
  }
}

void TextTable::Parse(std::string_view text, uint64_t offset, bool at_end, Parsed* parsed) const {
  RecordParser parser(format_, delimiter_, parsed);
  size_t at = offset < data_offset_ ? std::min(data_offset_ - offset, text.size()) : 0;
  std::string problem;
  parsed->unfinished = text.size();
  while (at < text.size()) {
    if (IsIgnoredLine(text.data() + at)) {
      at = text.find('\n', at) + 1;
      continue;
    }
    size_t size = parser.Read(text.substr(at, kMostRecordBytes), &problem);
    if (size == 0) {
      if (!at_end && text.size() - at < kMostRecordBytes) {
        parsed->unfinished = at;
        return;
      }
      problem = RecordParser::kBadQuote;
      size = text.find('\n', at) + 1 - at;
    }
    if (problem.empty()) {
      parsed->rows.push_back(static_cast<int64_t>(parsed->num_records));
      parsed->offsets.push_back(offset + at);
    } else {
      ++parsed->bad_count;
      if (parsed->bad.size() < kShownBad) {
        const std::string_view line = text.substr(at, text.find('\n', at) - at);
        parsed->bad.push_back({offset + at, problem + ": " + Shorten(line)});
      }
      if (!format_.skip_bad_lines) return;
    }
    ++parsed->num_records;
    at += size;
  }
}

void TextTable::Add(const Parsed& parsed) {
  if (parsed.bad_count != 0 && !format_.skip_bad_lines) {
    throw InputError(Message(parsed.bad.front()));
  }
  for (const int64_t row : parsed.rows) rows_.push_back(static_cast<int64_t>(rows_seen_) + row);
  AppendAll(parsed.offsets, &offsets_);
  for (size_t i = 0; i < groups_.size(); ++i) groups_[i].Append(parsed.groups[i]);
  rows_seen_ += parsed.num_records;
  skipped_ += parsed.bad_count;
  for (const BadRecord& bad : parsed.bad) {
    if (first_bad_.size() < kShownBad) first_bad_.push_back(bad);
  }
}

// Parses what is carried over together with what follows it.
void TextTable::AddCarried(std::string_view more, bool at_end) {
  carry_.append(more);
  const size_t size = carry_.size();
  carry_.append(TextChunk::kPadding, '\0');
  const std::string_view text = std::string_view(carry_).substr(0, size);
  Parsed parsed;
  Parse(text, carry_offset_, at_end, &parsed);
  Add(parsed);
  carry_.resize(size);
  carry_.erase(0, parsed.unfinished);
  carry_offset_ += parsed.unfinished;
}

std::string TextTable::Message(const BadRecord& bad) const {
  return source_->path() + " line " + std::to_string(source_->LineNumber(bad.offset)) + ": " +
         bad.message;
}

std::vector<std::string> TextTable::messages() const {
  std::vector<std::string> messages;
  for (const BadRecord& bad : first_bad_) messages.push_back(Message(bad));
  return messages;
}

uint64_t LineOfRow(std::unique_ptr<TextSource> source, TextTableFormat format, int64_t row) {
  format.groups.clear();
  format.skip_bad_lines = true;
  TextTable table(std::move(source), std::move(format), 1);
  while (table.Next()) {
    const auto found = std::lower_bound(table.rows().begin(), table.rows().end(), row);
    if (found != table.rows().end()) {
      const auto at = static_cast<size_t>(found - table.rows().begin());
      return table.source().LineNumber(table.offsets()[at]);
    }
  }
  throw InputError(table.source().path() + ": changed while it was read");
}

}  // namespace graphzero::compile
