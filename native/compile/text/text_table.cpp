#include "compile/text/text_table.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/errors.h"
#include "base/team.h"
#include "compile/text/field_reader.h"

namespace graphzero::compile {
namespace {

// Chunks of a batch: enough that the cost of starting a batch does not matter, and so few that the
// values of a batch fit into the smallest memory that a job may have.
constexpr size_t kChunksPerBatch = 8;

// Calls visit(line, offset) for each line of a chunk, with its newline, until it returns false.
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

// Size in bytes of the record at the front of `text`, or of its first line if its quotes are wrong.
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

}  // namespace

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
  ahead_.clear();  // waits for the thread that reads ahead
  if (ahead_error_) std::rethrow_exception(std::exchange(ahead_error_, nullptr));
  std::vector<Part> parts = std::exchange(parts_, {});
  spare_ = std::exchange(used_, {});
  ended_ = parts.size() < kChunksPerBatch;
  // The next chunks are parsed while the caller uses the values of these.
  if (!ended_) ahead_ = base::StartHelpers(1, read_ahead_);
  ReserveFor(parts);
  for (const Part& part : parts) {
    input_units_ += part.chunk.input_units;
    if (carry_.empty()) {
      Add(part.parsed);
      carry_ = part.chunk.text.substr(part.parsed.unfinished);
      carry_offset_ = part.chunk.offset + part.parsed.unfinished;
    } else {
      // The values that a thread parsed from this chunk are useless: it began inside a quoted
      // field.
      AddCarried(part.chunk.text, false);
    }
  }
  if (ended_ && !carry_.empty()) AddCarried({}, true);
  used_ = std::move(parts);
  return true;
}

// Makes room for all that the parts hold, so that nothing is copied twice.
void TextTable::ReserveFor(const std::vector<Part>& parts) {
  const auto sum = [&](const auto& size_of) {
    size_t total = 0;
    for (const Part& part : parts) total += size_of(part.parsed);
    return total;
  };
  const size_t rows = sum([](const ParsedRecords& parsed) { return parsed.rows.size(); });
  rows_.reserve(rows);
  offsets_.reserve(rows);
  for (size_t i = 0; i < groups_.size(); ++i) {
    const auto all = [&](auto member) {
      (groups_[i].*member).reserve(sum([&](const ParsedRecords& parsed) {
        return (parsed.groups[i].*member).size();
      }));
    };
    all(&GroupValues::integers);
    all(&GroupValues::numbers);
    all(&GroupValues::offsets);
    all(&GroupValues::texts);
    all(&GroupValues::missing);
  }
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
          if (!spare_.empty()) {
            part = std::move(spare_.back());
            spare_.pop_back();
          }
          if (!source_->Next(&part.chunk)) {
            ended = true;
            return;
          }
          parts_.emplace_back();
        }
        ParseRecords(format_, delimiter_, data_offset_, part.chunk.text, part.chunk.offset, false,
                     &part.parsed);
        std::lock_guard lock(mutex);
        parts_[place] = std::move(part);
      }
    });
  } catch (...) {
    ahead_error_ = std::current_exception();
  }
}

void TextTable::Add(const ParsedRecords& parsed) {
  if (parsed.bad_count != 0 && !format_.skip_bad_lines) {
    throw InputError(Message(parsed.bad.front()));
  }
  for (const int64_t row : parsed.rows) rows_.push_back(static_cast<int64_t>(rows_seen_) + row);
  offsets_.insert(offsets_.end(), parsed.offsets.begin(), parsed.offsets.end());
  for (size_t i = 0; i < groups_.size(); ++i) groups_[i].Append(parsed.groups[i]);
  rows_seen_ += parsed.num_records;
  skipped_ += parsed.bad_count;
  for (const BadRecord& bad : parsed.bad) {
    if (first_bad_.size() < kShownBad) first_bad_.push_back(bad);
  }
}

// Parses the text that was carried over, together with the text that follows it.
void TextTable::AddCarried(std::string_view more, bool at_end) {
  carry_.append(more);
  const size_t size = carry_.size();
  carry_.append(TextChunk::kPadding, '\0');
  const std::string_view text = std::string_view(carry_).substr(0, size);
  ParsedRecords parsed;
  ParseRecords(format_, delimiter_, data_offset_, text, carry_offset_, at_end, &parsed);
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
