#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "bindings/job.h"
#include "compile/id_collector.h"
#include "compile/id_index.h"
#include "store/matrix_reader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::IdIndex;
using compile::IntegerIdCollector;
using compile::TextIdCollector;

using TextBytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

compile::TextView TextsOf(const IdArray& offsets, const TextBytes& data) {
  const compile::TextView texts{{offsets.data(), offsets.size()},
                                {reinterpret_cast<const char*>(data.data()), data.size()}};
  texts.Check();
  return texts;
}

template <class Collector>
uint64_t WriteIds(Collector& collector, const std::string& path, const nb::object& report) {
  uint64_t count = 0;
  RunJob(report, [&](compile::Progress* progress) { count = collector.Write(path, progress); });
  return count;
}

template <class Keys>
nb::ndarray<nb::numpy, int64_t> FindRows(const IdIndex& index, const Keys& keys) {
  std::vector<int64_t> rows(keys.size());
  {
    GilRelease release;
    index.Find(keys, rows.data());
  }
  return TakeVector(std::move(rows));
}

}  // namespace

void BindIdCompile(nb::module_& m) {
  nb::class_<IntegerIdCollector>(m, "IntegerIdCollector")
      .def(nb::init<const compile::Resources&>(), "resources"_a)
      .def(
          "add",
          [](IntegerIdCollector& collector, const IdArray& ids) {
            GilRelease release;
            collector.Add({ids.data(), ids.size()});
          },
          "ids"_a)
      .def("write", &WriteIds<IntegerIdCollector>, "path"_a, nb::kw_only(),
           "report"_a.none() = nb::none());

  nb::class_<TextIdCollector>(m, "TextIdCollector")
      .def(nb::init<const compile::Resources&>(), "resources"_a)
      .def(
          "add",
          [](TextIdCollector& collector, const IdArray& offsets, const TextBytes& data,
             const std::string& name, uint64_t first_row) {
            const compile::TextView texts = TextsOf(offsets, data);
            GilRelease release;
            collector.Add(texts, name, first_row);
          },
          "offsets"_a, "data"_a, nb::kw_only(), "name"_a, "first_row"_a)
      .def("write", &WriteIds<TextIdCollector>, "path"_a, nb::kw_only(),
           "report"_a.none() = nb::none());

  nb::class_<IdIndex>(m, "IdIndex")
      .def(nb::init<store::MatrixReader, uint64_t, int>(), "ids"_a, nb::kw_only(), "memory"_a,
           "threads"_a, nb::call_guard<GilRelease>())
      .def_prop_ro("holds_texts", &IdIndex::holds_texts)
      .def(
          "find_integers",
          [](const IdIndex& index, const IdArray& ids) {
            return FindRows(index, std::span<const int64_t>(ids.data(), ids.size()));
          },
          "ids"_a, "The row of each id, -1 for one that is not there.")
      .def(
          "find_texts",
          [](const IdIndex& index, const IdArray& offsets, const TextBytes& data) {
            return FindRows(index, TextsOf(offsets, data));
          },
          "offsets"_a, "data"_a, "The row of each text, -1 for one that is not there.");
}

}  // namespace graphzero::bindings
