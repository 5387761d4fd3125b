#include "compile/text/text_table.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "bindings/text_input.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::FieldGroup;
using compile::FieldKind;
using compile::GroupValues;
using compile::TextTable;
using compile::TextTableFormat;
using compile::TimeUnit;

void InitGroup(FieldGroup* self, FieldKind kind, std::vector<size_t> columns,
               std::vector<std::string> labels, TimeUnit unit, bool may_be_missing,
               std::string missing_hint, std::string text_hint, std::vector<size_t> truths) {
  if (columns.empty() || columns.size() != labels.size()) {
    throw std::invalid_argument("a group needs columns, and a label for each");
  }
  new (self)
      FieldGroup{kind,           std::move(columns),      std::move(labels),    unit,
                 may_be_missing, std::move(missing_hint), std::move(text_hint), std::move(truths)};
}

void InitFormat(TextTableFormat* self, bool header, bool whole_lines, size_t columns,
                std::vector<FieldGroup> groups, std::vector<std::string> missing, uint64_t id_limit,
                bool skip_bad_lines) {
  for (const FieldGroup& group : groups) {
    if (*std::max_element(group.columns.begin(), group.columns.end()) >= columns) {
      throw std::invalid_argument("a group has a column that the table does not have");
    }
  }
  new (self)
      TextTableFormat{header,   whole_lines,   columns, std::move(groups), std::move(missing),
                      id_limit, skip_bad_lines};
}

nb::object MissingOf(GroupValues& values) {
  const bool any =
      std::find(values.missing.begin(), values.missing.end(), 1) != values.missing.end();
  return any ? nb::cast(TakeVector(std::move(values.missing))) : nb::none();
}

nb::object ValuesOf(FieldKind kind, GroupValues& values) {
  switch (kind) {
    case FieldKind::kSurvey:
      return nb::make_tuple(TakeVector(std::move(values.looks)), nb::none(), 0);
    case FieldKind::kText:
    case FieldKind::kTextId:
      return nb::make_tuple(nb::make_tuple(TakeVector(std::move(values.offsets)),
                                           TakeVector(std::move(values.texts))),
                            MissingOf(values), 0);
    case FieldKind::kNumber:
    case FieldKind::kWeight:
      return nb::make_tuple(TakeVector(std::move(values.numbers)), nb::none(), 0);
    default:
      return nb::make_tuple(TakeVector(std::move(values.integers)), MissingOf(values),
                            values.rounded);
  }
}

// A table and the kinds of the fields that are read from it.
struct TableReader {
  std::unique_ptr<TextTable> table;
  std::vector<FieldKind> kinds;

  ~TableReader() {
    GilRelease release;  // the thread that reads ahead may wait for the GIL
    table.reset();
  }

  nb::object Next() {
    bool any = false;
    {
      GilRelease release;
      any = table->Next();
    }
    if (!any) return nb::none();
    nb::list groups;
    for (size_t i = 0; i < kinds.size(); ++i) groups.append(ValuesOf(kinds[i], table->groups()[i]));
    return nb::make_tuple(TakeVector(std::vector<int64_t>(table->rows())), groups);
  }
};

void InitReader(TableReader* self, const std::string& path, const nb::object& open_stream,
                uint64_t stored_bytes, const TextTableFormat& format, int threads) {
  std::vector<FieldKind> kinds;
  for (const FieldGroup& group : format.groups) kinds.push_back(group.kind);
  auto source = OpenText(path, open_stream, stored_bytes);
  new (self) TableReader{std::make_unique<TextTable>(std::move(source), format, threads),
                         std::move(kinds)};
}

nb::list Sample(const std::string& path, const nb::object& open_stream, uint64_t stored_bytes,
                size_t lines, bool whole_lines) {
  std::vector<std::vector<std::string>> sample;
  {
    const auto source = OpenText(path, open_stream, stored_bytes);
    GilRelease release;
    sample = compile::SampleFields(*source, lines, whole_lines);
  }
  nb::list result;
  for (const auto& fields : sample) {
    nb::list line;
    for (const std::string& field : fields) line.append(nb::bytes(field.data(), field.size()));
    result.append(line);
  }
  return result;
}

uint64_t LineOfRow(const std::string& path, const nb::object& open_stream, uint64_t stored_bytes,
                   const TextTableFormat& format, int64_t row) {
  auto source = OpenText(path, open_stream, stored_bytes);
  GilRelease release;
  return compile::LineOfRow(std::move(source), format, row);
}

// Texts as (offsets, bytes) -> (times, TimeStatus of each).
nb::tuple ParseTimes(const IdArray& offsets, const TextBytes& data, TimeUnit unit) {
  const base::TextView texts = TextsOf(offsets, data);
  std::vector<int64_t> times(texts.size());
  std::vector<uint8_t> status(texts.size());
  {
    GilRelease release;
    for (size_t i = 0; i < texts.size(); ++i) {
      status[i] = static_cast<uint8_t>(compile::ParseTime(texts[i], unit, &times[i]));
    }
  }
  return nb::make_tuple(TakeVector(std::move(times)), TakeVector(std::move(status)));
}

}  // namespace

void BindTextTable(nb::module_& m) {
  m.def("sample_fields", &Sample, "path"_a, "open_stream"_a.none(), "stored_bytes"_a, nb::kw_only(),
        "lines"_a, "whole_lines"_a, "Fields of the first lines of a text, as bytes.");
  m.def("line_of_row", &LineOfRow, "path"_a, "open_stream"_a.none(), "stored_bytes"_a, "format"_a,
        "row"_a, "The number of the line on which a row begins; reads the text up to there.");

  m.def("parse_times", &ParseTimes, "offsets"_a, "data"_a, nb::kw_only(), "unit"_a,
        "(int64 times, a status of each): 0 exact, 1 rounded down, 2 no time, 3 out of range.");

  nb::enum_<FieldKind>(m, "FieldKind")
      .value("INTEGER_ID", FieldKind::kIntegerId)
      .value("TEXT_ID", FieldKind::kTextId)
      .value("NODE_ID", FieldKind::kNodeId)
      .value("WEIGHT", FieldKind::kWeight)
      .value("NUMBER", FieldKind::kNumber)
      .value("INTEGER", FieldKind::kInteger)
      .value("BOOL", FieldKind::kBool)
      .value("TIME", FieldKind::kTime)
      .value("TEXT", FieldKind::kText)
      .value("SURVEY", FieldKind::kSurvey);

  nb::enum_<TimeUnit>(m, "TimeUnit")
      .value("DAY", TimeUnit::kDay)
      .value("SECOND", TimeUnit::kSecond)
      .value("MILLISECOND", TimeUnit::kMillisecond)
      .value("MICROSECOND", TimeUnit::kMicrosecond)
      .value("NANOSECOND", TimeUnit::kNanosecond);

  nb::class_<FieldGroup>(m, "FieldGroup")
      .def("__init__", &InitGroup, "kind"_a, nb::kw_only(), "columns"_a, "labels"_a, "unit"_a,
           "may_be_missing"_a, "missing_hint"_a, "text_hint"_a, "truths"_a);

  nb::class_<TextTableFormat>(m, "TextTableFormat")
      .def("__init__", &InitFormat, nb::kw_only(), "header"_a, "whole_lines"_a, "columns"_a,
           "groups"_a, "missing"_a, "id_limit"_a, "skip_bad_lines"_a);

  nb::class_<TableReader>(m, "TextTableReader")
      .def("__init__", &InitReader, "path"_a, "open_stream"_a.none(), "stored_bytes"_a, "format"_a,
           nb::kw_only(), "threads"_a)
      .def("next", &TableReader::Next,
           "(row numbers, groups) of the next lines, None at the end. A group is (values, missing "
           "or None, how many times were rounded down); values are an array, (offsets, bytes) of "
           "texts, or what a survey found.")
      .def_prop_ro("rows_seen", [](const TableReader& r) { return r.table->rows_seen(); })
      .def_prop_ro("stored_position", [](const TableReader& r) { return r.table->input_units(); })
      .def_prop_ro("skipped", [](const TableReader& r) { return r.table->skipped(); })
      .def_prop_ro("messages", [](const TableReader& r) { return r.table->messages(); });
}

}  // namespace graphzero::bindings
