// Text tables: ids, numbers, times and texts, with quotes. Options and the kind of each column in
// the first bytes; the rest is the text.
#include "compile/text/text_table.h"

#include "text_input.h"

namespace graphzero::fuzz {
namespace {

using compile::FieldKind;
using compile::GroupValues;
using compile::TextTable;
using compile::TextTableFormat;

constexpr FieldKind kKinds[] = {FieldKind::kIntegerId, FieldKind::kTextId, FieldKind::kNodeId,
                                FieldKind::kWeight,    FieldKind::kNumber, FieldKind::kInteger,
                                FieldKind::kBool,      FieldKind::kTime,   FieldKind::kText,
                                FieldKind::kSurvey};
constexpr compile::TimeUnit kUnits[] = {
    compile::TimeUnit::kDay, compile::TimeUnit::kSecond, compile::TimeUnit::kMillisecond,
    compile::TimeUnit::kMicrosecond, compile::TimeUnit::kNanosecond};

TextTableFormat FormatOf(InputHead* head) {
  const uint8_t bits = head->Byte();
  TextTableFormat format;
  format.has_header = bits & 1;
  format.whole_lines = bits & 2;
  format.skip_bad_lines = bits & 4;
  format.columns = 1 + (bits >> 3) % 4;
  format.missing = {"NA"};
  for (size_t column = 0; column < format.columns; ++column) {
    const uint8_t kind = head->Byte();
    format.groups.push_back({.kind = kKinds[kind % std::size(kKinds)],
                             .columns = {column},
                             .labels = {"column " + std::to_string(column)},
                             .unit = kUnits[(kind >> 4) % std::size(kUnits)],
                             .may_be_missing = (kind & 128) != 0});
  }
  return format;
}

// As many values as the batch has rows, and texts whose offsets rise up to their end.
void CheckValues(FieldKind kind, const GroupValues& values, size_t rows) {
  switch (kind) {
    case FieldKind::kSurvey:
      Require(values.looks.size() == 1, "a survey says something about its column");
      return;
    case FieldKind::kText:
    case FieldKind::kTextId:
      Require(values.offsets.size() == rows + 1, "there is a text for each row");
      Require(std::is_sorted(values.offsets.begin(), values.offsets.end()), "texts lie in order");
      Require(values.offsets.back() == static_cast<int64_t>(values.texts.size()),
              "texts end where their bytes end");
      return;
    case FieldKind::kNumber:
    case FieldKind::kWeight:
      Require(values.numbers.size() == rows, "there is a number for each row");
      return;
    default:
      Require(values.integers.size() == rows, "there is an integer for each row");
  }
}

struct Outcome {
  std::vector<int64_t> rows;
  std::vector<int64_t> integers;
  std::vector<uint8_t> texts;
  uint64_t seen = 0;
  uint64_t skipped = 0;
  bool failed = false;

  bool operator==(const Outcome&) const = default;
};

Outcome ReadTable(const TextInput& text, const TextTableFormat& format, bool as_stream) {
  Outcome outcome;
  try {
    TextTable table(text.Open(as_stream), format, 1);
    while (table.Next()) {
      outcome.rows.insert(outcome.rows.end(), table.rows().begin(), table.rows().end());
      for (size_t i = 0; i < format.groups.size(); ++i) {
        const GroupValues& values = table.groups()[i];
        CheckValues(format.groups[i].kind, values, table.num_rows());
        outcome.integers.insert(outcome.integers.end(), values.integers.begin(),
                                values.integers.end());
        outcome.texts.insert(outcome.texts.end(), values.texts.begin(), values.texts.end());
      }
    }
    outcome.seen = table.rows_seen();
    outcome.skipped = table.skipped();
    (void)table.messages();
  } catch (const InputError&) {
    outcome = {};
    outcome.failed = true;
  }
  return outcome;
}

void Exercise(std::span<const uint8_t> input) {
  static TextInput text;
  InputHead head(input);
  const TextTableFormat format = FormatOf(&head);
  text.Fill(head.rest());
  for (const bool whole_lines : {false, true}) {
    Tolerate([&] { (void)compile::SampleFields(*text.Open(false), 5, whole_lines); });
  }
  const Outcome outcome = ReadTable(text, format, false);
  Require(outcome == ReadTable(text, format, true), "a stream gives what the file gives");
  if (outcome.failed) return;
  Require(outcome.seen == outcome.rows.size() + outcome.skipped, "a row is read or skipped");
  if (outcome.rows.empty()) return;
  const int64_t last = outcome.rows.back();
  Tolerate([&] {
    Require(compile::LineOfRow(text.Open(false), format, last) > static_cast<uint64_t>(last),
            "a row is not before the line of its number");
  });
}

}  // namespace
}  // namespace graphzero::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphzero::fuzz::Tolerate([&] { graphzero::fuzz::Exercise({data, size}); });
  return 0;
}
