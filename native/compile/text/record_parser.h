// Records of a text table -> values by groups of columns.
//
// Lines that begin with '#' or '%' are comments. Below a header they are rows if they have as many
// fields as the table and do not begin with an id that is an integer: keys may be such texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compile/edges/edge_source.h"
#include "compile/text/field_values.h"
#include "compile/text/time_text.h"

namespace graphzero::compile {

// What fields are read as.
enum class FieldKind {
  kIntegerId,  // int64, an original id
  kTextId,     // UTF-8 of 1 to TextIdCollector::kMaxBytes bytes, an original id
  kNodeId,     // int64, from 0 to below TextTableFormat::id_limit
  kWeight,     // float64, finite and not negative
  kNumber,     // float64, NaN where it is missing
  kInteger,    // int64
  kBool,       // int64, 0 or 1
  kTime,       // int64 in FieldGroup::unit; an integer in the text counts as one in that unit
  kText,       // UTF-8
  kSurvey,     // no values, only what the fields look like: see FieldLook
};

// Columns that are read in the same way and come as one array, row by row.
struct FieldGroup {
  FieldKind kind;
  std::vector<size_t> columns;      // places in the line
  std::vector<std::string> labels;  // what messages call the columns
  TimeUnit unit = TimeUnit::kSecond;
  // If false, a missing field makes its line a bad one. Ids and weights must never be missing.
  bool may_be_missing = false;
  std::string missing_hint{};  // what messages about such a line advise
  std::string text_hint{};     // the same for a text where a number is expected
  // Of kNumber: places among the columns whose fields are truth values, which become 1 and 0.
  std::vector<size_t> truths{};
};

struct TextTableFormat {
  bool has_header = false;  // the first line names the columns
  // A line is one field, including its blanks, unless a tab, comma or semicolon separates fields.
  bool whole_lines = false;
  size_t columns = 1;  // of every line
  std::vector<FieldGroup> groups;
  // Texts that stand for a missing value in every column, beside the empty text. In columns of
  // numbers, times and truth values, NA, NaN, NULL and the like do so too.
  std::vector<std::string> missing;
  uint64_t id_limit = kIdLimit;
  bool skip_bad_lines = false;
};

// Values of a group for the rows of a batch, as many for each row as the group has columns.
struct GroupValues {
  std::vector<int64_t> integers;    // kIntegerId, kNodeId, kInteger, kBool, kTime
  std::vector<double> numbers;      // kWeight, kNumber
  std::vector<int64_t> offsets{0};  // kTextId, kText
  std::vector<uint8_t> texts;       // the same
  std::vector<uint8_t> missing;     // 1 where a value is missing; kInteger, kBool, kTime, kText
  std::vector<uint8_t> looks;       // kSurvey: FieldLook bits, for each column
  uint64_t rounded = 0;             // times that were finer than the unit

  void Append(const GroupValues& other);
  // Keeps only the first `rows` rows.
  void Truncate(size_t rows, size_t columns);
};

// Values of no rows yet. Groups of kSurvey have `looks` for each column even then.
std::vector<GroupValues> NoValues(const TextTableFormat& format);

struct BadRecord {
  uint64_t offset;
  std::string message;  // without file and line
};
// The records of a stretch of text.
struct ParsedRecords {
  std::vector<int64_t> rows;  // counted from the first of this stretch
  std::vector<uint64_t> offsets;
  std::vector<GroupValues> groups;
  uint64_t num_records = 0;  // bad ones included
  uint64_t bad_count = 0;
  std::vector<BadRecord> bad;
  size_t unfinished;  // where a record begins that continues beyond the text; else the text's size

  // Forgets everything and keeps the memory.
  void Reset(const TextTableFormat& format);
};

// A record that spans lines has at most this many bytes; a quote that would make it longer is taken
// as a mistake.
inline constexpr size_t kMostRecordBytes = size_t{1} << 20;
// How many messages about bad records are kept.
inline constexpr size_t kShownBad = 5;
// The message about a record with wrong quotes.
inline constexpr const char* kBadQuote = "found a quote that does not end with its field";

// Parses the records of `text`, which begins at `offset` of the whole text, and lies in a TextChunk
// or has TextChunk::kPadding readable bytes after it. Bytes before `data_offset` of the whole text
// are not data. `at_end`: nothing follows, so a quote that is still open is a mistake.
void ParseRecords(const TextTableFormat& format, char delimiter, uint64_t data_offset,
                  std::string_view text, uint64_t offset, bool at_end, ParsedRecords* parsed);

}  // namespace graphzero::compile
