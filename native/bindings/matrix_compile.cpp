#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/job.h"
#include "compile/half.h"
#include "compile/matrix_compiler.h"
#include "store/matrix_writer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::MatrixTextJob;
using compile::MatrixTextReport;
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
  throw std::invalid_argument("unknown role '" + name + "', expected node, edge or ids");
}

MatrixTextReport CompileText(std::string source, std::string target, const std::string& dtype,
                             const std::string& role, std::optional<uint64_t> num_rows,
                             bool always_2d, uint64_t row_align, std::optional<std::string> nan,
                             std::optional<std::string> fill, bool skip_bad_lines, uint64_t memory,
                             int threads, std::string temp_dir, const nb::object& report) {
  const MatrixTextJob job{
      .source = std::move(source),
      .target = std::move(target),
      .dtype = DTypeOf(dtype),
      .role = RoleOf(role),
      .num_rows = num_rows,
      .always_2d = always_2d,
      .row_align = row_align,
      .nan = std::move(nan),
      .fill = std::move(fill),
      .skip_bad_lines = skip_bad_lines,
      .resources = {memory, threads, std::move(temp_dir)},
  };
  MatrixTextReport result;
  RunJob(report,
         [&](compile::Progress* progress) { result = compile::CompileMatrixText(job, progress); });
  return result;
}

void InitWriter(MatrixWriter* self, const std::string& path, uint64_t rows, uint64_t cols,
                uint32_t ndim, const std::string& dtype, const std::string& role,
                uint64_t row_stride) {
  new (self) MatrixWriter(path, {rows, cols, ndim, DTypeOf(dtype), RoleOf(role), row_stride});
}

void Append(MatrixWriter& writer, const RowBytes& rows) {
  nb::gil_scoped_release release;
  writer.Append(std::as_bytes(std::span(rows.data(), rows.size())));
}

nb::ndarray<nb::numpy, uint16_t> ToBFloat16(const Doubles& values) {
  std::vector<uint16_t> bits(values.size());
  {
    nb::gil_scoped_release release;
    for (size_t i = 0; i < bits.size(); ++i) {
      bits[i] = compile::NarrowFloat<compile::BFloat16>(values.data()[i]).bits;
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
      .def_ro("skipped", &MatrixTextReport::skipped)
      .def_ro("messages", &MatrixTextReport::messages)
      .def_ro("spilled_bytes", &MatrixTextReport::spilled_bytes);

  m.def("compile_matrix_text", &CompileText, "source"_a, "target"_a, nb::kw_only(), "dtype"_a,
        "role"_a, "num_rows"_a.none(), "always_2d"_a, "row_align"_a, "nan"_a.none(),
        "fill"_a.none(), "skip_bad_lines"_a, "memory"_a, "threads"_a, "temp_dir"_a,
        "report"_a.none());

  nb::class_<MatrixWriter>(m, "MatrixWriter")
      .def("__init__", &InitWriter, "path"_a, nb::kw_only(), "rows"_a, "cols"_a, "ndim"_a,
           "dtype"_a, "role"_a, "row_stride"_a)
      .def("append", &Append, "rows"_a)
      .def_prop_ro("rows_written", &MatrixWriter::rows_written)
      .def(
          "finish", [](MatrixWriter& writer) { writer.Finish(); },
          nb::call_guard<nb::gil_scoped_release>());

  m.def("to_bfloat16", &ToBFloat16, "values"_a);
}

}  // namespace graphzero::bindings
