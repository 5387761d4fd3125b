// A text table as columns of values: ids, numbers, times, texts. Its fields are as field_reader.h
// says.
//
// Lines are read in batches; threads parse the chunks of a batch side by side, and the values come
// in the order of the text whatever their number. A bad line ends the reading with an InputError
// that names it or, on request, is left out and counted: a line then is bad for all columns at
// once.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "compile/edges/edge_source.h"
#include "compile/ids/id_collector.h"
#include "compile/text/field_reader.h"
#include "compile/text/text_source.h"
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

// Bits of what kSurvey found, for each column of its group.
enum FieldLook : uint8_t {
  kLooksMissing = 1,
  kLooksInteger = 2,        // of 64 bits, as Python prints it
  kLooksPaddedInteger = 4,  // of 64 bits, with a plus or leading zeros
  kLooksNumber = 8,
  kLooksBool = 16,  // true or false, in any case
  kLooksTime = 32,
  kLooksText = 64,
};

// Columns that are read in the same way and come as one array, row by row.
struct FieldGroup {
  FieldKind kind;
  std::vector<size_t> columns;      // places in the line
  std::vector<std::string> labels;  // what messages call the columns
  TimeUnit unit = TimeUnit::kSecond;
  // Else a field that is missing makes its line a bad one. Ids and weights are never missing.
  bool may_be_missing = false;
  std::string missing_hint{};  // what messages about such a line advise
  std::string text_hint{};     // the same for a text where a number is expected
};

struct TextTableFormat {
  bool has_header = false;  // the first line names the columns
  // A line is one field, blanks and all, unless something else than blanks separates fields.
  bool whole_lines = false;
  size_t columns = 1;  // of every line
  std::vector<FieldGroup> groups;
  // Texts that stand for a missing value in every column, beside the empty one. In columns of
  // numbers, times and truth values also NA, NaN, NULL and the like do.
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
  // Leaves the first `rows` rows.
  void Truncate(size_t rows, size_t columns);
};

// Fields of the first lines, one at least unless there is none: for finding out about the format.
std::vector<std::vector<std::string>> SampleFields(const TextSource& source, size_t most_lines,
                                                   bool whole_lines);

// Used by one thread.
class TextTable {
 public:
  // A record that goes on over lines is at most so long; a quote that would make it longer is taken
  // as a mistake.
  static constexpr size_t kMostRecordBytes = size_t{1} << 20;

  TextTable(std::unique_ptr<TextSource> source, TextTableFormat format, int threads);
  TextTable(const TextTable&) = delete;
  TextTable& operator=(const TextTable&) = delete;
  // Waits for a thread that may be reading ahead.
  ~TextTable() { ahead_.clear(); }

  // Reads the next rows; false at the end. Throws InputError for a bad line unless these are
  // skipped. A batch may be empty.
  bool Next();

  // Of the batch.
  size_t num_rows() const { return rows_.size(); }
  // Row numbers in the whole table, bad lines counted, ascending.
  const std::vector<int64_t>& rows() const { return rows_; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }  // in the text
  // To be taken from by whoever wants to keep them.
  std::vector<GroupValues>& groups() { return groups_; }

  // Of all batches so far.
  uint64_t rows_seen() const { return rows_seen_; }  // bad lines counted
  uint64_t input_units() const { return input_units_; }
  uint64_t skipped() const { return skipped_; }
  std::vector<std::string> messages() const;  // about the first of them
  const TextSource& source() const { return *source_; }

 private:
  struct BadRecord {
    uint64_t offset;
    std::string message;  // without file and line
  };
  // What a stretch of text gave.
  struct Parsed {
    std::vector<int64_t> rows;  // counted from the first of this stretch
    std::vector<uint64_t> offsets;
    std::vector<GroupValues> groups;
    uint64_t num_records = 0;  // bad ones counted
    uint64_t bad_count = 0;
    std::vector<BadRecord> bad;
    size_t unfinished;  // where the record begins that goes on beyond the text; its size if none
  };
  struct Part {
    TextChunk chunk;
    Parsed parsed;
  };
  class RecordParser;

  void ReadAhead();
  void Parse(std::string_view text, uint64_t offset, bool at_end, Parsed* parsed) const;
  void Add(const Parsed& parsed);
  void AddCarried(std::string_view more, bool at_end);
  std::string Message(const BadRecord& bad) const;

  std::unique_ptr<TextSource> source_;
  const TextTableFormat format_;
  const int threads_;
  const char delimiter_;
  const uint64_t data_offset_;  // what lies before is comments and the header

  std::vector<Part> parts_;  // of the next batch, written by ReadAhead()
  std::exception_ptr ahead_error_;
  const std::function<void(int)> read_ahead_ = [this](int) { ReadAhead(); };
  std::vector<std::jthread> ahead_;  // one thread that reads the next batch, or none
  std::string carry_;                // the begin of a record whose end was not read yet
  uint64_t carry_offset_ = 0;
  bool ended_ = false;

  std::vector<int64_t> rows_;
  std::vector<uint64_t> offsets_;
  std::vector<GroupValues> groups_;
  uint64_t rows_seen_ = 0;
  uint64_t input_units_ = 0;
  uint64_t skipped_ = 0;
  std::vector<BadRecord> first_bad_;
};

// Number of the line on which a row begins, for messages: reads the text up to there. `format` is
// that of the table that had the row.
uint64_t LineOfRow(std::unique_ptr<TextSource> source, TextTableFormat format, int64_t row);

}  // namespace graphzero::compile
