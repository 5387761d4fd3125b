#include "compile/matrices/matrix_parser.h"

#include <cstring>
#include <stdexcept>

#include "base/errors.h"
#include "compile/matrices/matrix_value.h"

namespace graphzero::compile {
namespace {

using store::DType;

std::string Quoted(std::string_view text) { return Shorten(text); }

// For messages: the largest value of a floating type, and a type with a larger range.
std::string Range(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return " (at most 65504); --dtype float32 has room";
    case DType::kBFloat16:
      return " (at most 3.3895e38); --dtype float64 has room";
    case DType::kFloat32:
      return " (at most 3.4028e38); --dtype float64 has room";
    case DType::kFloat64:
      return " (at most 1.7977e308)";
    default:
      return "";
  }
}

// What is wrong with a field, for a message.
std::string Complaint(FieldStatus status, std::string_view text, DType dtype) {
  const std::string name(store::Name(dtype));
  switch (status) {
    case FieldStatus::kNan:
      return "found " + (text.empty() ? std::string("an empty field") : Quoted(text)) +
             ", expected a value of " + name + " (--nan VALUE gives one for NaN)";
    case FieldStatus::kNotInteger:
      return "found " + Quoted(text) + ", expected an integer for " + name;
    case FieldStatus::kOutOfRange:
      return dtype == DType::kBool
                 ? "found " + Quoted(text) + ", expected 0, 1, true or false"
                 : "found " + Quoted(text) + ", which does not fit " + name + Range(dtype);
    case FieldStatus::kNotNumber:
    case FieldStatus::kOk:
      break;
  }
  return "found " + Quoted(text) + ", expected a number";
}

std::string_view Trim(std::string_view text, char delimiter) {
  while (!text.empty() && IsBlank(text.front(), delimiter)) text.remove_prefix(1);
  while (!text.empty() && (IsBlank(text.back(), delimiter) || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// One field, found by its delimiters.
struct Field {
  std::string_view text;  // trimmed, and without quotes around it
  const char* end;        // where the next field begins, or the newline
  bool last;              // of its line
};

Field CutField(const char* p, char delimiter) {
  while (IsBlank(*p, delimiter)) ++p;
  const char* end = p;
  while (*end != '\n' && *end != delimiter && !(delimiter == ' ' && *end == '\t')) ++end;
  Field field{Unquoted(Trim({p, static_cast<size_t>(end - p)}, delimiter)), end, false};
  if (delimiter == ' ') {
    while (*field.end == ' ' || *field.end == '\t' || *field.end == '\r') ++field.end;
    field.last = *field.end == '\n';
    return field;
  }
  field.last = *end == '\n';
  if (!field.last) ++field.end;
  return field;
}

// Parses the lines of one chunk. T is the type of the values.
template <class T>
class ChunkParser {
  using Parsed = typename Value<T>::Parsed;

 public:
  ChunkParser(const TextChunk& chunk, const TableDialect& dialect, const RowFormat& format,
              RowBatch* batch)
      : chunk_(chunk), dialect_(dialect), format_(format), batch_(batch) {}

  void Run() {
    // The shortest line has only its delimiters, its newline and, with ids, one digit.
    const uint64_t shortest = format_.cols + (format_.has_ids ? 2 : 0);
    const uint64_t most = chunk_.text.size() / shortest + 1;
    batch_->Reset(most * format_.row_bytes);
    std::byte* out = batch_->data();
    const char* p = chunk_.text.data();
    const char* end = p + chunk_.text.size();
    if (chunk_.offset < dialect_.data_offset) {
      p += std::min<uint64_t>(dialect_.data_offset - chunk_.offset, chunk_.text.size());
    }
    while (p < end) {
      // Without ids, an empty line could be taken for an empty value.
      const bool ignored = !format_.has_ids && IsIgnoredLine(p);
      const char* next = ignored ? nullptr : ParseLine(p);
      if (next != nullptr &&
          Value<T>::Finish({parsed_.get(), format_.cols}, reinterpret_cast<T*>(out))) {
        batch_->missing_count += line_missing_;
        // nan_value replaced a missing integer, or the line would be bad.
        if constexpr (!std::is_same_v<Parsed, Decimal>) batch_->nan_count += line_missing_;
        batch_->offsets.push_back(OffsetOf(p));
        if (format_.has_ids) batch_->ids.push_back(id_);
        out += format_.row_bytes;
        p = next;
        continue;
      }
      next = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p))) + 1;
      if (!IsIgnoredLine(p)) {
        AddBadLine({p, static_cast<size_t>(next - p)});
        if (!format_.skip_bad_lines) return;
      }
      p = next;
    }
  }

 private:
  uint64_t OffsetOf(const char* p) const {
    return chunk_.offset + static_cast<uint64_t>(p - chunk_.text.data());
  }

  // Fills parsed_ and id_ from a line. Returns the next line, or null if this one is no row.
  const char* ParseLine(const char* p) {
    const char delimiter = dialect_.delimiter;
    line_missing_ = 0;
    if (format_.has_ids) p = ParseId(p);
    if (p == nullptr) return nullptr;
    Parsed* out = parsed_.get();
    for (Parsed* last = out + format_.cols - 1; out != last; ++out) {
      const unsigned length = FindIn16(p, delimiter);
      const char* next = p + length + 1;
      if (!Value<T>::Short(p, length, out)) {
        next = ParseLong(p, delimiter, out);
        if (next == nullptr) return nullptr;
      }
      p = next;
    }
    const unsigned length = FindIn16(p, '\n');
    if (Value<T>::Short(p, length, out)) return p + length + 1;
    return ParseLong(p, '\n', out);
  }

  // A value of any form, up to `terminator`: the delimiter or the newline. Returns what follows it,
  // or null. Not inlined, or the common case would be short of registers.
  [[gnu::noinline]] const char* ParseLong(const char* p, char terminator, Parsed* out) {
    const char* end = Value<T>::Fast(p, out);
    if (end != nullptr && *end == terminator) return end + 1;
    const Field field = CutField(p, dialect_.delimiter);
    if (field.last != (terminator == '\n') || !ParseField(field.text, out)) return nullptr;
    return field.last ? field.end + 1 : field.end;
  }

  const char* ParseId(const char* p) {
    const char* end = ParseUnsigned(p, &id_);
    if (end == nullptr || *end != dialect_.delimiter) {
      const Field field = CutField(p, dialect_.delimiter);
      if (field.last || field.text.empty()) return nullptr;
      const char* text_end = field.text.data() + field.text.size();
      if (ParseUnsigned(field.text.data(), &id_) != text_end) return nullptr;
      end = field.end;
    } else {
      ++end;
    }
    if (id_ >= bound_) return nullptr;
    return end;
  }

  bool ParseField(std::string_view text, Parsed* out) {
    // Where blanks separate fields, no field is empty: the line ended early.
    if (text.empty() && dialect_.delimiter == ' ') return false;
    const FieldStatus status = Value<T>::Parse(text, out);
    if (status == FieldStatus::kNan && !format_.nan_value.empty()) {
      std::memcpy(out, format_.nan_value.data(), sizeof(T));  // only integers get here
      ++line_missing_;
      return true;
    }
    if constexpr (std::is_same_v<Parsed, Decimal>) {
      if (std::isnan(out->numerator)) ++line_missing_;
    }
    return status == FieldStatus::kOk;
  }

  // Looks at a line again that ParseLine refused, to say why.
  void AddBadLine(std::string_view line) {
    ++batch_->bad_count;
    if (batch_->bad.size() == RowBatch::kMaxMessages) return;
    batch_->bad.push_back({OffsetOf(line.data()), Diagnose(line) + ": " + Quoted(line)});
  }

  std::string Diagnose(std::string_view line) {
    const uint64_t columns = CountFields(line, dialect_.delimiter);
    const uint64_t expected = format_.cols + (format_.has_ids ? 1 : 0);
    if (columns != expected) {
      return "expected " + std::to_string(expected) + " columns, found " + std::to_string(columns);
    }
    Field field{{}, line.data(), false};
    for (uint64_t column = 1; column <= columns; ++column) {
      field = CutField(field.end, dialect_.delimiter);
      if (column == 1 && format_.has_ids) {
        if (const std::string problem = DiagnoseId(field.text); !problem.empty()) return problem;
        continue;
      }
      Parsed value;
      if (!ParseField(field.text, &value)) {
        const FieldStatus status = Value<T>::Parse(field.text, &value);
        return "column " + std::to_string(column) + ": " +
               Complaint(status, field.text, format_.dtype);
      }
    }
    return "not a row";
  }

  std::string DiagnoseId(std::string_view text) const {
    double value;
    if (ParseDouble(text, &value) != FieldStatus::kOk) {
      return "column 1: found " + Quoted(text) + ", expected a node id" + IdHint(text);
    }
    if (text[0] == '-') return "node id " + std::string(text) + " is negative";
    if (text.find_first_not_of("0123456789") != std::string_view::npos) {
      return "node id " + std::string(text) + " is not an integer";
    }
    uint64_t id;
    if (ParseUnsigned(text.data(), &id) == nullptr || id >= kIdLimit) {
      return "node id " + std::string(text) + " is beyond 2^63 - 1";
    }
    if (id >= bound_) {
      return "node id " + std::to_string(id) + " is out of range, expected an id below " +
             std::to_string(bound_) + ", the number of nodes";
    }
    return {};
  }

  static constexpr uint64_t kIdLimit = uint64_t{1} << 63;

  const TextChunk& chunk_;
  const TableDialect& dialect_;
  const RowFormat& format_;
  RowBatch* batch_;
  const uint64_t bound_ = std::min(format_.num_rows.value_or(kIdLimit), kIdLimit);
  uint64_t id_ = 0;
  uint64_t line_missing_ = 0;  // values of this line that are NaN
  std::unique_ptr<Parsed[]> parsed_ = std::make_unique_for_overwrite<Parsed[]>(format_.cols);
};

template <class T>
void ParseChunk(const TextChunk& chunk, const TableDialect& dialect, const RowFormat& format,
                RowBatch* batch) {
  ChunkParser<T>(chunk, dialect, format, batch).Run();
}

template <class T>
std::string ValueBytes(DType dtype, const std::string& text, const std::string& what) {
  typename Value<T>::Parsed parsed;
  const FieldStatus status = Value<T>::Parse(text, &parsed);
  if (status != FieldStatus::kOk) throw InputError(what + ": " + Complaint(status, text, dtype));
  T value;
  Value<T>::Finish({&parsed, 1}, &value);
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// Calls visit.operator()<T>() with the C++ type of a matrix's values.
template <class Visit>
auto WithType(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit.template operator()<float>();
    case DType::kFloat64:
      return visit.template operator()<double>();
    case DType::kFloat16:
      return visit.template operator()<Half>();
    case DType::kBFloat16:
      return visit.template operator()<BFloat16>();
    case DType::kInt8:
      return visit.template operator()<int8_t>();
    case DType::kUInt8:
      return visit.template operator()<uint8_t>();
    case DType::kInt16:
      return visit.template operator()<int16_t>();
    case DType::kInt32:
      return visit.template operator()<int32_t>();
    case DType::kInt64:
      return visit.template operator()<int64_t>();
    case DType::kBool:
      return visit.template operator()<bool>();
    case DType::kUInt32:
    case DType::kUInt64:
      break;
  }
  throw std::logic_error("not a matrix type");
}

}  // namespace

std::string Describe(const TextSource& source, const BadLine& bad) {
  return source.path() + " line " + std::to_string(source.LineNumber(bad.offset)) + ": " +
         bad.message;
}

void RowBatch::Reset(uint64_t bytes) {
  ids.clear();
  offsets.clear();
  bad.clear();
  bad_count = 0;
  nan_count = 0;
  missing_count = 0;
  if (bytes > capacity_) {
    data_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    capacity_ = bytes;
  }
}

RowParser ParserFor(DType dtype) {
  return WithType(dtype, []<class T>() -> RowParser { return &ParseChunk<T>; });
}

std::string ParseValue(DType dtype, const std::string& text, const std::string& what) {
  return WithType(dtype, [&]<class T>() { return ValueBytes<T>(dtype, text, what); });
}

}  // namespace graphzero::compile
