#include "compile/id_text.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "bindings/text_input.h"
#include "compile/relabelled_text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::IdIndex;
using compile::IdText;
using compile::IdTextFormat;
using compile::RelabelledText;

void InitFormat(IdTextFormat* self, bool texts, bool header, bool whole_lines,
                std::vector<size_t> ids, std::optional<std::vector<size_t>> others) {
  if (ids.empty()) throw std::invalid_argument("found no column of ids, expected one at least");
  const auto kind = texts ? compile::IdKind::kText : compile::IdKind::kInteger;
  new (self) IdTextFormat{kind, header, whole_lines, std::move(ids), std::move(others)};
}

nb::object NextIds(IdText& text) {
  bool any = false;
  {
    GilRelease release;
    any = text.Next();
  }
  if (!any) return nb::none();
  if (text.kind() == compile::IdKind::kInteger) {
    const auto ids = text.integers();
    return nb::cast(TakeVector(std::vector<int64_t>(ids.begin(), ids.end())));
  }
  const compile::TextView texts = text.texts();
  std::vector<int64_t> offsets(texts.offsets.begin(), texts.offsets.end());
  std::vector<uint8_t> bytes(texts.data.begin(), texts.data.end());
  return nb::make_tuple(TakeVector(std::move(offsets)), TakeVector(std::move(bytes)));
}

nb::bytes Read(RelabelledText& text, size_t size) {
  std::string piece(size, '\0');
  {
    GilRelease release;
    piece.resize(text.Read(piece));
  }
  return nb::bytes(piece.data(), piece.size());
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

}  // namespace

void BindIdText(nb::module_& m) {
  m.def("sample_fields", &Sample, "path"_a, "open_stream"_a.none(), "stored_bytes"_a, nb::kw_only(),
        "lines"_a, "whole_lines"_a, "Fields of the first lines of a text, as bytes.");

  nb::class_<IdTextFormat>(m, "IdTextFormat")
      .def("__init__", &InitFormat, nb::kw_only(), "texts"_a, "header"_a, "whole_lines"_a, "ids"_a,
           "others"_a.none());

  nb::class_<IdText>(m, "IdText")
      .def(
          "__init__",
          [](IdText* self, const std::string& path, const nb::object& open_stream,
             uint64_t stored_bytes, const IdTextFormat& format) {
            new (self) IdText(OpenText(path, open_stream, stored_bytes), format);
          },
          "path"_a, "open_stream"_a.none(), "stored_bytes"_a, "format"_a)
      .def("next", &NextIds,
           "The ids of the next lines: int64, or (offsets, bytes) of texts; None at the end.");

  nb::class_<RelabelledText>(m, "RelabelledText")
      .def(
          "__init__",
          [](RelabelledText* self, const std::string& path, const nb::object& open_stream,
             uint64_t stored_bytes, const IdTextFormat& format,
             std::shared_ptr<const IdIndex> index) {
            new (self) RelabelledText(IdText(OpenText(path, open_stream, stored_bytes), format),
                                      std::move(index));
          },
          "path"_a, "open_stream"_a.none(), "stored_bytes"_a, "format"_a, "index"_a.none())
      .def("read", &Read, "size"_a)
      .def("stored_position", &RelabelledText::stored_position);
}

}  // namespace graphzero::bindings
