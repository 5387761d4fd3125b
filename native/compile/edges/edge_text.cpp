#include "compile/edges/edge_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/errors.h"
#include "compile/text/number.h"

namespace graphzero::compile {
namespace {

constexpr size_t kShownSkips = 5;
constexpr size_t kShownBytes = 80;
constexpr uint64_t kSampleWindows = 64;
constexpr uint64_t kSampleBytes = 4096;
constexpr size_t kShortestLine = 4;  // "0,1\n"
constexpr size_t kMostColumns = 4;   // source, target, weight, time

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The first fields of a line; a delimiter of ' ' stands for any run of blanks.
std::array<std::string_view, kMostColumns> Split(std::string_view line, char delimiter) {
  std::array<std::string_view, kMostColumns> fields;
  line = Trim(line);
  for (std::string_view& field : fields) {
    const size_t at = delimiter == ' ' ? line.find_first_of(" \t") : line.find(delimiter);
    field = Unquoted(Trim(line.substr(0, at)));
    if (at == std::string_view::npos) break;
    line.remove_prefix(at + 1);
    if (delimiter == ' ') line = Trim(line);
  }
  return fields;
}

// Calls visit(line, offset) for each line of the chunk until it returns false.
template <class Visit>
void ForEachLine(const TextChunk& chunk, Visit&& visit) {
  std::string_view rest = chunk.text;
  uint64_t offset = chunk.offset;
  while (!rest.empty()) {
    const size_t size = rest.find('\n') + 1;  // a chunk's text ends with a newline
    if (!visit(rest.substr(0, size), offset)) return;
    rest.remove_prefix(size);
    offset += size;
  }
}

// An upper bound of the number of data lines. In a chunk that a long line made large, lines are
// counted, because a bound from the shortest line would take too much memory.
size_t MostLines(std::string_view text) {
  if (text.size() <= 2 * TextSource::kChunkBytes) return text.size() / kShortestLine;
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// "" if the field is an id, else what is wrong with it.
std::string ReadId(std::string_view field, const char* what, uint64_t limit,
                   const std::string& range, uint64_t* id) {
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), *id);
  const bool whole = end == field.data() + field.size() && !field.empty();
  if (error == std::errc() && whole && *id < limit) return "";
  const bool negative = field.size() > 1 && field[0] == '-';
  const bool digits = field.find_first_not_of("0123456789", negative ? 1 : 0) == std::string::npos;
  return std::string("found ") + what + " " + Shorten(field) + ", expected " +
         (!digits || field.empty() ? std::string("an integer id") + IdHint(field) : range);
}

std::string ReadWeight(std::string_view field, float* weight) {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  *weight = static_cast<float>(value);
  if (error == std::errc() && end == field.data() + field.size() && std::isfinite(*weight) &&
      *weight >= 0) {
    return "";
  }
  return "found weight " + Shorten(field) + ", expected a finite number >= 0";
}

std::string ReadTime(std::string_view field, int64_t* time) {
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), *time);
  if (error == std::errc() && end == field.data() + field.size() && *time != kNoTime) return "";
  return "found time " + Shorten(field) + ", expected an integer of 64 bits";
}

}  // namespace

struct TextEdgeSource::Line {
  bool data = false;    // false: blank or comment
  std::string problem;  // not empty: a bad line
  uint64_t src = 0;
  uint64_t dst = 0;
  float weight = 0;
  int64_t time = 0;
};

TextEdgeSource::TextEdgeSource(std::unique_ptr<TextSource> text, Options options)
    : text_(std::move(text)), dialect_(DetectDialect(*text_)), options_(std::move(options)) {
  CheckColumns();
  options_.number_rows |= weighted() || timed();
}

void TextEdgeSource::Rewind() {
  text_->Rewind();
  turn_.Reset();
  rows_ = 0;
  skipped_ = 0;
  first_skipped_.clear();
}

void TextEdgeSource::CheckColumns() const {
  const uint64_t least = LeastColumns();
  if (dialect_.columns == 0 || dialect_.columns == least || weighted()) return;
  const TextChunk head = text_->Peek(dialect_.data_offset, 1);
  const std::string hint =
      dialect_.columns > least ? " (--source and --target choose columns by name)" : "";
  throw InputError(Message(head.offset, head.text.substr(0, head.text.find('\n')),
                           "expected " + std::to_string(least) + " or " +
                               std::to_string(least + 1) + " columns, found " +
                               std::to_string(dialect_.columns) + hint));
}

EdgeEstimate TextEdgeSource::Estimate() const {
  EdgeEstimate estimate{0, 0, text_->input_units()};
  uint64_t seen_bytes = 0;
  uint64_t seen_edges = 0;
  const uint64_t step = std::max(kSampleBytes, text_->peekable() / kSampleWindows);
  for (uint64_t at = 0; at < text_->peekable(); at += step) {
    const TextChunk window = text_->Peek(at, kSampleBytes);
    seen_bytes += window.text.size();
    ForEachLine(window, [&](std::string_view text, uint64_t) {
      const Line line = ParseLine(text);
      if (!line.data || !line.problem.empty()) return true;
      ++seen_edges;
      estimate.max_id = std::max({estimate.max_id, line.src, line.dst});
      return true;
    });
  }
  if (seen_edges > 0) {
    estimate.edges =
        static_cast<uint64_t>(static_cast<double>(text_->size()) * static_cast<double>(seen_edges) /
                              static_cast<double>(seen_bytes)) +
        1;
  }
  return estimate;
}

bool TextEdgeSource::Next(EdgeBatch* batch) {
  if (error_.any()) return false;
  TextChunk chunk;
  chunk.buffer = std::move(batch->scratch);
  uint64_t data_lines = 0;
  try {
    if (!text_->Next(&chunk)) return false;
    ParseChunk(chunk, batch, &data_lines);
  } catch (...) {
    error_.Report(chunk.index, std::current_exception());
    batch->size = 0;
  }
  if (options_.number_rows) {
    // Also after an error, because threads with later chunks wait until this chunk is done.
    turn_.Wait(chunk.index);
    batch->first_row = rows_.fetch_add(data_lines);
    turn_.Done(chunk.index);
    if (batch->numbered) {
      for (size_t i = 0; i < batch->size; ++i) batch->rows[i] += batch->first_row;
    }
  } else {
    rows_.fetch_add(data_lines);
  }
  batch->input_units = chunk.input_units;
  batch->scratch = std::move(chunk.buffer);
  return !error_.any();
}

void TextEdgeSource::ParseChunk(const TextChunk& chunk, EdgeBatch* batch, uint64_t* data_lines) {
  batch->Reset(MostLines(chunk.text) + 1, {.weights = weighted(), .times = timed()});
  const char* at = chunk.text.data();
  const char* const end = at + chunk.text.size();
  uint64_t skipped = 0;
  while (at < end) {
    const size_t before = batch->size;
    at = ParsePlainLines(at, end, batch);
    if (batch->numbered) {
      std::iota(batch->rows.begin() + static_cast<ptrdiff_t>(before),
                batch->rows.begin() + static_cast<ptrdiff_t>(batch->size), before + skipped);
    }
    if (at == end) break;
    const auto* newline =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    const std::string_view text(at, static_cast<size_t>(newline - at));
    const uint64_t offset = chunk.offset + static_cast<uint64_t>(at - chunk.text.data());
    at = newline + 1;
    if (offset < dialect_.data_offset) continue;  // the header
    const Line line = ParseLine(text);
    if (!line.data) continue;
    if (line.problem.empty()) {
      if (batch->numbered) batch->rows[batch->size] = batch->size + skipped;
      batch->src[batch->size] = line.src;
      batch->dst[batch->size] = line.dst;
      if (weighted()) batch->weight[batch->size] = line.weight;
      if (timed()) batch->time[batch->size] = line.time;
      ++batch->size;
      continue;
    }
    if (options_.on_error == OnError::kStop) throw InputError(Message(offset, text, line.problem));
    Skip(offset, text, line.problem);
    ++skipped;
    if (options_.number_rows && !batch->numbered) {
      batch->numbered = true;
      batch->rows.resize(std::max(batch->rows.size(), batch->src.size()));
      std::iota(batch->rows.begin(), batch->rows.begin() + static_cast<ptrdiff_t>(batch->size),
                uint64_t{0});
    }
  }
  *data_lines = batch->size + skipped;
}

const char* TextEdgeSource::ParsePlainLines(const char* at, const char* end,
                                            EdgeBatch* batch) const {
  const char delimiter = dialect_.delimiter;
  size_t size = batch->size;
  uint64_t* const src = batch->src.data();
  uint64_t* const dst = batch->dst.data();
  const bool with_weight = weighted();
  const bool with_time = timed();
  const uint64_t source_limit = options_.limits.source;
  const uint64_t target_limit = options_.limits.target;
  while (at < end) {
    const char* next = ParseUnsigned(at, &src[size]);
    if (next == nullptr || *next != delimiter) break;
    next = ParseUnsigned(next + 1, &dst[size]);
    if (next == nullptr || src[size] >= source_limit || dst[size] >= target_limit) break;
    if (with_weight) {
      if (*next != delimiter) break;
      double weight;
      const auto parsed = std::from_chars(next + 1, end, weight);
      const auto narrow = static_cast<float>(weight);
      if (parsed.ec != std::errc() || !std::isfinite(narrow) || narrow < 0) break;
      batch->weight[size] = narrow;
      next = parsed.ptr;
    }
    if (with_time) {
      if (*next != delimiter) break;
      const auto parsed = std::from_chars(next + 1, end, batch->time[size]);
      if (parsed.ec != std::errc() || batch->time[size] == kNoTime) break;
      next = parsed.ptr;
    }
    if (*next == '\r') ++next;
    if (*next != '\n') break;
    ++size;
    at = next + 1;
  }
  batch->size = size;
  return at;
}

TextEdgeSource::Line TextEdgeSource::ParseLine(std::string_view text) const {
  Line line;
  if (IsIgnoredLine(text.data())) return line;
  line.data = true;
  const uint64_t columns = CountFields(Trim(text), dialect_.delimiter);
  if (columns != dialect_.columns) {
    line.problem = "expected " + std::to_string(dialect_.columns) + " columns, found " +
                   std::to_string(columns);
    return line;
  }
  const auto fields = Split(text, dialect_.delimiter);
  const IdLimits& limits = options_.limits;
  line.problem = ReadId(fields[0], "source", limits.source, limits.SourceRange(), &line.src);
  if (line.problem.empty()) {
    line.problem = ReadId(fields[1], "target", limits.target, limits.TargetRange(), &line.dst);
  }
  if (line.problem.empty() && weighted()) {
    line.problem = ReadWeight(fields[2], &line.weight);
  }
  if (line.problem.empty() && timed()) {
    line.problem = ReadTime(fields[weighted() ? 3 : 2], &line.time);
  }
  return line;
}

std::string TextEdgeSource::Message(uint64_t offset, std::string_view line,
                                    const std::string& problem) const {
  return text_->path() + " line " + std::to_string(text_->LineNumber(offset)) + ": " + problem +
         ": " + Shorten(line);
}

void TextEdgeSource::Skip(uint64_t offset, std::string_view line, const std::string& problem) {
  std::lock_guard lock(skip_mutex_);
  ++skipped_;
  first_skipped_.push_back({offset, std::string(line.substr(0, kShownBytes)), problem});
  std::sort(first_skipped_.begin(), first_skipped_.end(),
            [](const Skipped& a, const Skipped& b) { return a.offset < b.offset; });
  if (first_skipped_.size() > kShownSkips) first_skipped_.pop_back();
}

SkipReport TextEdgeSource::skips() const {
  std::lock_guard lock(skip_mutex_);
  SkipReport report{skipped_, {}};
  for (const Skipped& skipped : first_skipped_) {
    report.messages.push_back(Message(skipped.offset, skipped.line, skipped.problem));
  }
  return report;
}

}  // namespace graphzero::compile
