// Text with arbitrary ids: the ids of its lines, and the same text with new ones in their place.
//
// Blank lines, comments and delimiters are as table_dialect.h says, except that a field may be a
// text. So blanks separate fields only where no tab, comma or semicolon does, and a field may be
// quoted: "Smith, John", with quotes inside doubled. Blanks around a field are no part of it.
//
// The new text has the lines of the old one, so that what a parser of plain text says about a line
// is true of that line of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile/id_collector.h"
#include "compile/text_source.h"

namespace graphzero::compile {

enum class IdKind { kInteger, kText };

struct IdTextFormat {
  IdKind kind = IdKind::kText;
  bool has_header = false;  // the first line names the columns
  // A line is one id, blanks and all, unless something else than blanks separates fields.
  bool whole_lines = false;
  std::vector<size_t> ids;  // the columns that are ids
  // The columns that the new text has after those; without them, it has what follows the last id
  // as it stands. The ids are then the first columns.
  std::optional<std::vector<size_t>> others;
};

// Fields of the first lines, one at least unless there is none: for finding out about the format.
std::vector<std::vector<std::string>> SampleFields(const TextSource& source, size_t most_lines,
                                                   bool whole_lines);

// Used by one thread.
class IdText {
 public:
  IdText(std::unique_ptr<TextSource> source, IdTextFormat format);

  // Goes to the next lines; false at the end. Throws InputError for a line that lacks an id, or has
  // one that cannot be stored.
  bool Next();

  IdKind kind() const { return format_.kind; }
  // Ids of these lines, format.ids.size() of each.
  size_t num_ids() const { return offsets_.size() - 1; }
  std::span<const int64_t> integers() const { return integers_; }  // of kInteger
  TextView texts() const { return {offsets_, data_}; }             // of both
  // These lines with `rows` as their ids; without any, with the ids as they are.
  std::string Rewritten(std::span<const int64_t> rows) const;
  // Throws an InputError about one of these ids.
  [[noreturn]] void Refuse(size_t id, const std::string& problem) const;

  // Of TextSource::input_units(), for all lines so far.
  uint64_t input_units() const { return input_units_; }

 private:
  struct Field {
    std::string_view text;  // without quotes
    bool quoted = false;
  };
  struct Line {
    uint64_t offset;  // in the text
    size_t others_end;
    bool has_ids;
    bool is_header;
  };

  void AddLine(std::string_view line, uint64_t offset);
  void AddId(const Field& field, std::string_view line, uint64_t offset);
  void CheckText(std::string_view id, std::string_view line, uint64_t offset) const;
  void AddOthers(std::string_view rest);
  [[noreturn]] void ThrowAt(uint64_t offset, std::string_view line,
                            const std::string& problem) const;

  std::unique_ptr<TextSource> source_;
  IdTextFormat format_;
  char delimiter_;
  size_t columns_needed_;
  bool header_seen_ = false;
  uint64_t input_units_ = 0;

  TextChunk chunk_;
  std::vector<Line> lines_;
  std::vector<Field> fields_;
  std::vector<int64_t> integers_;
  std::vector<int64_t> offsets_{0};
  std::string data_;
  std::string others_;  // what follows the ids, line after line
};

}  // namespace graphzero::compile
