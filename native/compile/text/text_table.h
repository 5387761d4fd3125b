// A text table as columns of values: ids, numbers, times, texts. Its fields are as field_reader.h
// says.
//
// Lines are read in batches; threads parse the chunks of a batch side by side, and the values come
// in the order of the text, whatever the number of threads. A bad line ends the reading with an
// InputError that names it or, on request, is counted and left out of all columns.
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

#include "compile/text/record_parser.h"
#include "compile/text/text_source.h"

namespace graphzero::compile {

// Fields of the first lines, for detecting the format: at most `most_lines`, and at least one
// unless the text has none.
std::vector<std::vector<std::string>> SampleFields(const TextSource& source, size_t most_lines,
                                                   bool whole_lines);

// Used by one thread.
class TextTable {
 public:
  TextTable(std::unique_ptr<TextSource> source, TextTableFormat format, int threads);
  TextTable(const TextTable&) = delete;
  TextTable& operator=(const TextTable&) = delete;
  // Waits for a thread that may be reading ahead.
  ~TextTable() { ahead_.clear(); }

  // Reads the next rows; false at the end. Throws InputError for a bad line unless bad lines are
  // skipped. A batch may be empty.
  bool Next();

  // About the current batch.
  size_t num_rows() const { return rows_.size(); }
  // Row numbers in the whole table, ascending. Bad lines are numbered too.
  const std::vector<int64_t>& rows() const { return rows_; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }  // in the text
  // The caller may move values out of them.
  std::vector<GroupValues>& groups() { return groups_; }

  // About all batches so far.
  uint64_t rows_seen() const { return rows_seen_; }  // bad lines included
  uint64_t input_units() const { return input_units_; }
  uint64_t skipped() const { return skipped_; }
  std::vector<std::string> messages() const;  // about the first skipped lines
  const TextSource& source() const { return *source_; }

 private:
  struct Part {
    TextChunk chunk;
    ParsedRecords parsed;
  };

  void ReadAhead();
  void ReserveFor(const std::vector<Part>& parts);
  void Add(const ParsedRecords& parsed);
  void AddCarried(std::string_view more, bool at_end);
  std::string Message(const BadRecord& bad) const;

  std::unique_ptr<TextSource> source_;
  const TextTableFormat format_;
  const int threads_;
  const char delimiter_;
  const uint64_t data_offset_;  // before it are only comments and the header

  std::vector<Part> parts_;  // of the next batch, written by ReadAhead()
  std::vector<Part> used_;   // of this batch; the batch after the next reuses their memory
  std::vector<Part> spare_;  // whose memory ReadAhead() uses again
  std::exception_ptr ahead_error_;
  const std::function<void(int)> read_ahead_ = [this](int) { ReadAhead(); };
  std::vector<std::jthread> ahead_;  // one thread that reads the next batch, or none
  std::string carry_;                // the start of a record whose end was not read yet
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
