#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/half.h"
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/callbacks.h"
#include "bindings/gil.h"
#include "bindings/run_job.h"
#include "bindings/text_input.h"
#include "compile/matrices/matrix_compiler.h"
#include "compile/matrices/quantiser.h"
#include "compile/matrices/row_collector.h"
#include "store/matrix/matrix_writer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::MatrixTextJob;
using compile::MatrixTextReport;
using compile::RowCollector;
using store::MatrixWriter;

using RowBytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

store::DType DTypeOf(const std::string& name) {
  const std::optional<store::DType> dtype = store::DTypeFromName(name);
  if (!dtype || !store::IsMatrixType(*dtype)) {
    throw std::invalid_argument("unknown dtype '" + name + "'");
  }
  return *dtype;
}

store::Role RoleOf(const std::string& name) {
  if (name == "node") return store::Role::kNode;
  if (name == "edge") return store::Role::kEdge;
  if (name == "ids") return store::Role::kIds;
  if (name == "categories") return store::Role::kCategories;
  throw std::invalid_argument("unknown role '" + name +
                              "', expected node, edge, ids or categories");
}

MatrixTextReport CompileText(const std::string& source, std::string target,
                             const nb::object& open_stream, uint64_t stored_bytes,
                             const std::string& dtype, const std::string& role,
                             std::optional<uint64_t> num_rows, bool has_ids, bool always_2d,
                             uint64_t row_align, std::string description,
                             std::optional<std::string> nan, std::optional<std::string> fill,
                             bool skip_bad_lines, uint64_t memory, int threads,
                             std::string temp_dir, const nb::object& report) {
  const MatrixTextJob job{
      .target = std::move(target),
      .description = std::move(description),
      .dtype = DTypeOf(dtype),
      .role = RoleOf(role),
      .num_rows = num_rows,
      .has_ids = has_ids,
      .always_2d = always_2d,
      .row_align = row_align,
      .nan = std::move(nan),
      .fill = std::move(fill),
      .skip_bad_lines = skip_bad_lines,
      .resources = {memory, threads, std::move(temp_dir)},
  };
  MatrixTextReport result;
  RunJob(report, [&](compile::Progress* progress) {
    result = compile::CompileMatrixText(OpenText(source, open_stream, stored_bytes), job, progress);
  });
  return result;
}

void InitWriter(MatrixWriter* self, const std::string& path, std::optional<uint64_t> rows,
                uint64_t cols, uint32_t ndim, const std::string& dtype, const std::string& role,
                uint64_t row_stride, const std::vector<uint64_t>& row_shape,
                const std::string& description) {
  new (self) MatrixWriter(
      path, {rows, cols, ndim, DTypeOf(dtype), RoleOf(role), row_stride, row_shape, description});
}

void Append(MatrixWriter& writer, const RowBytes& rows) {
  GilRelease release;
  writer.Append(std::as_bytes(std::span(rows.data(), rows.size())));
}

void InitCollector(RowCollector* self, const std::string& path, const std::string& name,
                   const nb::object& place, const nb::object& name_node,
                   std::optional<uint64_t> rows, uint64_t expected_rows, uint64_t cols,
                   uint32_t ndim, const std::string& dtype, const std::string& role,
                   uint64_t row_stride, bool skip_repeated, uint64_t memory,
                   const std::string& temp_dir, const std::vector<uint64_t>& row_shape,
                   const std::string& description) {
  new (self) RowCollector(
      path, {rows, cols, ndim, DTypeOf(dtype), RoleOf(role), row_stride, row_shape, description},
      PlacesOf(name, place), DescriberOf(name_node), expected_rows, skip_repeated,
      {memory, 1, temp_dir});
}

void AddRows(RowCollector& collector, const IdArray& ids, const RowBytes& rows,
             const std::optional<IdArray>& numbers) {
  std::span<const int64_t> row_numbers;
  if (numbers) row_numbers = {numbers->data(), numbers->size()};
  if (numbers && numbers->size() != ids.size()) {
    throw std::invalid_argument("ids and numbers must have the same length");
  }
  GilRelease release;
  collector.Add({ids.data(), ids.size()}, std::as_bytes(std::span(rows.data(), rows.size())),
                row_numbers);
}

RowCollector::Report FinishRows(RowCollector& collector, const RowBytes& fill,
                                const nb::object& report) {
  RowCollector::Report result{};
  RunJob(report, [&](compile::Progress* progress) {
    result = collector.Finish(std::as_bytes(std::span(fill.data(), fill.size())), progress);
  });
  return result;
}

compile::QuantiseReport Quantise(const store::MatrixReader& source, std::string target,
                                 const std::string& delivered, std::vector<float> low,
                                 std::vector<float> high, std::optional<store::Quantisation> kept,
                                 uint64_t row_align, compile::Resources resources,
                                 const nb::object& report) {
  const compile::QuantiseJob job{.target = std::move(target),
                                 .delivered = DTypeOf(delivered),
                                 .low = std::move(low),
                                 .high = std::move(high),
                                 .kept = std::move(kept),
                                 .row_align = row_align,
                                 .resources = std::move(resources)};
  compile::QuantiseReport result;
  RunJob(report, [&](compile::Progress* progress) {
    result = compile::QuantiseMatrix(source, job, progress);
  });
  return result;
}

nb::ndarray<nb::numpy, uint16_t> ToBFloat16(const Doubles& values) {
  std::vector<uint16_t> bits(values.size());
  {
    GilRelease release;
    for (size_t i = 0; i < bits.size(); ++i) {
      bits[i] = base::NarrowFloat<base::BFloat16>(values.data()[i]).bits;
    }
  }
  return TakeVector(std::move(bits));
}

}  // namespace

void BindMatrixCompile(nb::module_& m) {
  nb::class_<MatrixTextReport>(m, "MatrixTextReport")
      .def_ro("rows", &MatrixTextReport::rows)
      .def_ro("cols", &MatrixTextReport::cols)
      .def_ro("ndim", &MatrixTextReport::ndim)
      .def_ro("filled", &MatrixTextReport::filled)
      .def_ro("nans", &MatrixTextReport::nans)
      .def_ro("missing", &MatrixTextReport::missing)
      .def_ro("skipped", &MatrixTextReport::skipped)
      .def_ro("messages", &MatrixTextReport::messages)
      .def_ro("spilled_bytes", &MatrixTextReport::spilled_bytes);

  m.def("compile_matrix_text", &CompileText, "source"_a, "target"_a, nb::kw_only(),
        "open_stream"_a.none() = nb::none(), "stored_bytes"_a = 0, "dtype"_a, "role"_a,
        "num_rows"_a.none(), "has_ids"_a = true, "always_2d"_a, "row_align"_a, "description"_a = "",
        "nan"_a.none(), "fill"_a.none(), "skip_bad_lines"_a, "memory"_a, "threads"_a, "temp_dir"_a,
        "report"_a.none());

  nb::class_<MatrixWriter>(m, "MatrixWriter")
      .def("__init__", &InitWriter, "path"_a, nb::kw_only(), "rows"_a.none(), "cols"_a, "ndim"_a,
           "dtype"_a, "role"_a, "row_stride"_a, "row_shape"_a = std::vector<uint64_t>(),
           "description"_a = "")
      .def("append", &Append, "rows"_a)
      .def_prop_ro("rows_written", &MatrixWriter::rows_written)
      .def("finish", [](MatrixWriter& writer) { writer.Finish(); }, nb::call_guard<GilRelease>());

  nb::class_<RowCollector::Report>(m, "CollectedRows")
      .def_ro("rows", &RowCollector::Report::rows)
      .def_ro("filled", &RowCollector::Report::filled)
      .def_ro("repeated", &RowCollector::Report::repeated)
      .def_ro("message", &RowCollector::Report::message);

  nb::class_<RowCollector>(m, "RowCollector")
      .def("__init__", &InitCollector, "path"_a, nb::kw_only(), "name"_a, "place"_a.none(),
           "name_node"_a.none(), "rows"_a.none(), "expected_rows"_a, "cols"_a, "ndim"_a, "dtype"_a,
           "role"_a, "row_stride"_a, "skip_repeated"_a, "memory"_a, "temp_dir"_a,
           "row_shape"_a = std::vector<uint64_t>(), "description"_a = "")
      .def("add", &AddRows, "ids"_a, "rows"_a, "numbers"_a.none() = nb::none())
      .def("finish", &FinishRows, "fill"_a, nb::kw_only(), "report"_a.none() = nb::none());

  nb::class_<compile::QuantiseReport>(m, "QuantiseReport")
      .def_ro("quantisation", &compile::QuantiseReport::quantisation)
      .def_prop_ro(
          "not_finite",
          [](const compile::QuantiseReport& r) -> std::optional<std::pair<uint64_t, uint64_t>> {
            if (!r.not_finite) return std::nullopt;
            return std::pair(r.not_finite->row, r.not_finite->col);
          })
      .def_ro("too_wide", &compile::QuantiseReport::too_wide)
      .def_ro("low", &compile::QuantiseReport::low)
      .def_ro("high", &compile::QuantiseReport::high)
      .def_ro("kept_lost", &compile::QuantiseReport::kept_lost);

  m.def("quantise_matrix", &Quantise, "source"_a, "target"_a, nb::kw_only(), "delivered"_a, "low"_a,
        "high"_a, "kept"_a.none() = nb::none(), "row_align"_a = 0, "resources"_a,
        "report"_a.none() = nb::none());

  m.def("to_bfloat16", &ToBFloat16, "values"_a);
}

}  // namespace graphzero::bindings
