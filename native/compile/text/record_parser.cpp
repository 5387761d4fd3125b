#include "compile/text/record_parser.h"

#include <algorithm>
#include <cmath>

#include "compile/ids/id_collector.h"
#include "compile/matrices/matrix_value.h"
#include "compile/text/field_reader.h"
#include "compile/text/number.h"
#include "compile/text/text_source.h"

namespace graphzero::compile {
namespace {

template <class T>
void AppendAll(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

// Parses one record after the other, and adds the values to the groups of ParsedRecords.
class RecordParser {
 public:
  RecordParser(const TextTableFormat& format, char delimiter, ParsedRecords* parsed)
      : format_(format), delimiter_(delimiter), parsed_(parsed) {
    fields_.reserve(format.columns);
  }

  // Reads the record at the front of `text`. Returns its size, or 0 if a quote is not closed within
  // the text. In that case, and if it sets `problem`, it adds nothing.
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

  // Whether the line at the front of `text`, which looks like a comment, is a row: below a header,
  // a key may begin as comments do. Ids that are integers do not.
  // `whole`: no more text belongs to it. Else a quote may be closed in what follows.
  bool IsRow(std::string_view text, bool whole) const {
    const bool blank = text[text.find_first_not_of(" \t\r")] == '\n';
    if (!format_.has_header || blank || BeginsWithIntegerId()) return false;
    FieldReader reader(text, delimiter_);
    TextField field;
    NextField next;
    size_t count = 0;
    while ((next = reader.Next(&field)) == NextField::kField) ++count;
    if (next == NextField::kUnclosed) return !whole;
    return next == NextField::kEnd && count == format_.columns;
  }

 private:
  bool BeginsWithIntegerId() const {
    return std::any_of(format_.groups.begin(), format_.groups.end(), [](const FieldGroup& group) {
      return (group.kind == FieldKind::kIntegerId || group.kind == FieldKind::kNodeId) &&
             std::count(group.columns.begin(), group.columns.end(), 0) > 0;
    });
  }

  void AddRow(std::string* problem) {
    const size_t row = parsed_->rows.size();
    for (size_t i = 0; i < format_.groups.size(); ++i) {
      const FieldGroup& group = format_.groups[i];
      // A text that stands for a missing value may be a number, such as -999.
      const bool plain = group.kind == FieldKind::kNumber && format_.missing.empty();
      size_t at = plain ? AddPlainNumbers(group, &parsed_->groups[i]) : 0;
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

  // Adds numbers up to the first one that is not in the usual form; in most rows it adds all.
  // Returns how many it added.
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

  // "NA" is a missing value in most columns, but a text in a column of texts. The survey does not
  // know the kind of the column yet, and counts "NA" as missing.
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
    if (!text.empty() &&
        std::find(group.truths.begin(), group.truths.end(), at) != group.truths.end()) {
      bool truth = false;
      if (Value<bool>::Parse(text, &truth) != FieldStatus::kOk) {
        return group.labels[at] + ": found " + Shorten(text) + ", expected " +
               Expected(FieldKind::kBool);
      }
      values->numbers.push_back(truth);
      return "";
    }
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
  ParsedRecords* const parsed_;
  std::vector<TextField> fields_;
  std::string unquoted_;
};

// Reads rows of ids and weights in their usual form, which are nearly all rows of nearly all edge
// tables. It makes no list of fields, which is several times as fast as RecordParser. It leaves
// rows with anything unusual (a quote, a blank, a comment, a bad value) to RecordParser.
class PlainRowParser {
 public:
  PlainRowParser(const TextTableFormat& format, char delimiter, ParsedRecords* parsed)
      : delimiter_(delimiter), parsed_(parsed) {
    const bool separated = delimiter == ',' || delimiter == ';' || delimiter == '\t';
    if (!separated || !format.missing.empty() || format.groups.size() != format.columns) return;
    columns_.resize(format.columns);
    for (size_t i = 0; i < format.groups.size(); ++i) {
      const FieldGroup& group = format.groups[i];
      const bool known = group.kind == FieldKind::kIntegerId || group.kind == FieldKind::kTextId ||
                         group.kind == FieldKind::kWeight;
      Column& column = columns_[group.columns[0]];
      if (!known || group.columns.size() != 1 || column.values != nullptr) {
        columns_.clear();
        return;
      }
      column = {group.kind, &parsed->groups[i]};
    }
  }

  // Reads rows from `begin`, which lies at `offset` of the whole text, to `end` or to the first row
  // that is not in the usual form. Returns where it stopped.
  const char* Read(const char* const begin, const char* end, uint64_t offset) {
    const char* at = begin;
    if (columns_.empty()) return at;
    while (at < end) {
      const char* const next = ReadRow(at);
      if (next == nullptr) {
        for (const Column& column : columns_) column.values->Truncate(parsed_->rows.size(), 1);
        return at;
      }
      parsed_->rows.push_back(static_cast<int64_t>(parsed_->num_records++));
      parsed_->offsets.push_back(offset + static_cast<uint64_t>(at - begin));
      at = next;
    }
    return at;
  }

 private:
  struct Column {
    FieldKind kind;
    GroupValues* values = nullptr;
  };

  const char* ReadRow(const char* p) const {
    if (*p == '#' || *p == '%') return nullptr;
    for (const Column& column : columns_) {
      if (&column != columns_.data()) {
        if (*p != delimiter_) return nullptr;
        ++p;
      }
      p = ReadField(column, p);
      if (p == nullptr) return nullptr;
    }
    if (*p == '\r') ++p;
    return *p == '\n' ? p + 1 : nullptr;
  }

  // Returns where the field ends, or null.
  const char* ReadField(const Column& column, const char* p) const {
    if (column.kind == FieldKind::kIntegerId) {
      uint64_t id;
      const char* const end = ParseUnsigned(p, &id);
      if (end == nullptr || id > INT64_MAX) return nullptr;
      column.values->integers.push_back(static_cast<int64_t>(id));
      return end;
    }
    if (column.kind == FieldKind::kWeight) {
      double weight;
      const char* const end = ParseDecimal(p, &weight);
      if (end == nullptr || !std::isfinite(static_cast<float>(weight)) || weight < 0) {
        return nullptr;
      }
      column.values->numbers.push_back(weight);
      return end;
    }
    const char* end = FindEither(p, delimiter_, '\n');
    if (*end == '\n' && end > p && end[-1] == '\r') --end;
    const auto size = static_cast<size_t>(end - p);
    if (size == 0 || size > TextIdCollector::kMaxBytes || *p == ' ' || *p == '"' ||
        end[-1] == ' ' || !IsPrintable(p, size)) {
      return nullptr;
    }
    std::vector<uint8_t>& texts = column.values->texts;
    texts.insert(texts.end(), p, end);
    column.values->offsets.push_back(static_cast<int64_t>(texts.size()));
    return end;
  }

  const char delimiter_;
  ParsedRecords* const parsed_;
  std::vector<Column> columns_;  // in the order of the line; empty: no row can be plain
};

}  // namespace

std::vector<GroupValues> NoValues(const TextTableFormat& format) {
  std::vector<GroupValues> groups(format.groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    const FieldGroup& group = format.groups[i];
    if (group.kind == FieldKind::kSurvey) groups[i].looks.resize(group.columns.size());
  }
  return groups;
}

void ParsedRecords::Reset(const TextTableFormat& format) {
  rows.clear();
  offsets.clear();
  groups.resize(format.groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    const FieldGroup& group = format.groups[i];
    groups[i].Truncate(0, 1);
    groups[i].rounded = 0;
    groups[i].looks.assign(group.kind == FieldKind::kSurvey ? group.columns.size() : 0, 0);
  }
  num_records = 0;
  bad_count = 0;
  bad.clear();
}

void GroupValues::Append(const GroupValues& other) {
  AppendAll(other.integers, &integers);
  AppendAll(other.numbers, &numbers);
  const auto base = static_cast<int64_t>(texts.size());
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

void ParseRecords(const TextTableFormat& format, char delimiter, uint64_t data_offset,
                  std::string_view text, uint64_t offset, bool at_end, ParsedRecords* parsed) {
  parsed->Reset(format);
  RecordParser parser(format, delimiter, parsed);
  PlainRowParser plain(format, delimiter, parsed);
  size_t at = offset < data_offset ? std::min(data_offset - offset, text.size()) : 0;
  std::string problem;
  parsed->unfinished = text.size();
  const char* const end = text.data() + text.size();
  while (at < text.size()) {
    at = static_cast<size_t>(plain.Read(text.data() + at, end, offset + at) - text.data());
    if (at == text.size()) break;
    const bool whole = at_end || text.size() - at >= kMostRecordBytes;
    if (IsIgnoredLine(text.data() + at) &&
        !parser.IsRow(text.substr(at, kMostRecordBytes), whole)) {
      at = text.find('\n', at) + 1;
      continue;
    }
    size_t size = parser.Read(text.substr(at, kMostRecordBytes), &problem);
    if (size == 0) {
      if (!whole) {
        parsed->unfinished = at;
        return;
      }
      problem = kBadQuote;
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
      if (!format.skip_bad_lines) return;
    }
    ++parsed->num_records;
    at += size;
  }
}

}  // namespace graphzero::compile
