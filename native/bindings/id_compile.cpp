#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/callbacks.h"
#include "bindings/gil.h"
#include "bindings/run_job.h"
#include "compile/ids/edge_spool.h"
#include "compile/ids/id_collector.h"
#include "store/matrix/id_index.h"
#include "store/matrix/matrix_reader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::IntegerIdCollector;
using compile::TextIdCollector;
using store::IdIndex;

template <class Collector>
compile::IdCounts WriteIds(Collector& collector, const std::string& path, bool categories,
                           const nb::object& report) {
  const auto role = categories ? store::Role::kCategories : store::Role::kNode;
  compile::IdCounts counts;
  RunJob(report,
         [&](compile::Progress* progress) { counts = collector.Write(path, role, progress); });
  return counts;
}

using NumberArray = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatArray = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Calls add(numbers), which adds `count` ids and fills in their numbers. Returns the numbers as an
// array, or None if they are not final because the collector has written ids to the disk.
template <class Collector, class Add>
std::optional<nb::ndarray<nb::numpy, uint32_t>> NumberIds(const Collector& collector, size_t count,
                                                          const Add& add) {
  std::vector<uint32_t> numbers(count);
  {
    GilRelease release;
    add(numbers.data());
  }
  if (!collector.numbered()) return std::nullopt;
  return TakeVector(std::move(numbers));
}

template <class T, class Array>
std::span<const T> SpanOf(const std::optional<Array>& array, size_t size) {
  if (!array) return {};
  if (array->size() != size) throw std::invalid_argument("arrays of edges must be equally long");
  return {array->data(), array->size()};
}

void AddEdges(compile::EdgeSpool& spool, const NumberArray& src, const NumberArray& dst,
              const std::optional<FloatArray>& weights, const std::optional<IdArray>& rows,
              const std::optional<IdArray>& times) {
  const auto targets = SpanOf<uint32_t>(std::optional(dst), src.size());
  const auto weight_span = SpanOf<float>(weights, src.size());
  const auto row_span = SpanOf<int64_t>(rows, src.size());
  const auto time_span = SpanOf<int64_t>(times, src.size());
  GilRelease release;
  spool.Add({src.data(), src.size()}, targets, weight_span, row_span, time_span);
}

compile::NewIds NewIdsOf(const nb::handle& collector) {
  const auto rows = nb::isinstance<IntegerIdCollector>(collector)
                        ? nb::cast<const IntegerIdCollector&>(collector).rows()
                        : nb::cast<const TextIdCollector&>(collector).rows();
  if (!rows) throw std::invalid_argument("ids must be numbered and written before their edges");
  return rows;
}

void FinishSpool(compile::EdgeSpool& spool, const nb::object& ids, const nb::object& target_ids) {
  compile::NewIds sources = NewIdsOf(ids);
  compile::NewIds targets = target_ids.is_none() ? sources : NewIdsOf(target_ids);
  GilRelease release;
  spool.Finish(std::move(sources), std::move(targets));
}

nb::tuple ReadEdges(const compile::EdgeSpool& spool, size_t chunk) {
  compile::SpooledEdges edges;
  {
    GilRelease release;
    edges = spool.Read(chunk);
  }
  const auto array_or_none = [](auto& values) {
    return values.empty() ? nb::object(nb::none()) : nb::cast(TakeVector(std::move(values)));
  };
  return nb::make_tuple(TakeVector(std::move(edges.src)), TakeVector(std::move(edges.dst)),
                        array_or_none(edges.weights), array_or_none(edges.rows),
                        array_or_none(edges.times));
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

// Builds texts in the form in which Python takes them: offsets and bytes.
struct NewTexts {
  std::vector<int64_t> offsets{0};
  std::vector<uint8_t> bytes;

  void Append(std::string_view text) { bytes.insert(bytes.end(), text.begin(), text.end()); }
  void End() { offsets.push_back(static_cast<int64_t>(bytes.size())); }
  nb::tuple Take() {
    return nb::make_tuple(TakeVector(std::move(offsets)), TakeVector(std::move(bytes)));
  }
};

nb::tuple PrefixIntegers(const IdArray& ids, const std::string& prefix) {
  NewTexts texts;
  {
    GilRelease release;
    for (size_t i = 0; i < ids.size(); ++i) {
      texts.Append(prefix);
      texts.Append(std::to_string(ids.data()[i]));
      texts.End();
    }
  }
  return texts.Take();
}

nb::tuple PrefixTexts(const IdArray& offsets, const TextBytes& data, const std::string& prefix) {
  const base::TextView given = TextsOf(offsets, data);
  NewTexts texts;
  {
    GilRelease release;
    for (size_t i = 0; i < given.size(); ++i) {
      texts.Append(prefix);
      texts.Append(given[i]);
      texts.End();
    }
  }
  return texts.Take();
}

constexpr const char* kNumberedHelp = "Whether the numbers that number() gave still hold.";
constexpr const char* kNumberHelp =
    "Adds ids and gives their numbers, by the order in which they were first met; None from the "
    "moment on when memory did not hold all ids, which is also the end of the numbers given "
    "before.";

}  // namespace

void BindIdCompile(nb::module_& m) {
  nb::class_<compile::IdCounts>(m, "IdCounts")
      .def_ro("total", &compile::IdCounts::total)
      .def(
          "with_sides",
          [](const compile::IdCounts& counts, uint8_t sides) { return counts.by_sides.at(sides); },
          "sides"_a, "How many ids have exactly these sides.");
  m.def("prefix_integers", &PrefixIntegers, "ids"_a, "prefix"_a,
        "(offsets, bytes) of texts: the prefix and the integer in decimal.");
  m.def("prefix_texts", &PrefixTexts, "offsets"_a, "data"_a, "prefix"_a,
        "(offsets, bytes) of texts: the prefix and the text.");

  nb::class_<IntegerIdCollector>(m, "IntegerIdCollector")
      .def(nb::init<const compile::Resources&>(), "resources"_a)
      .def(
          "add",
          [](IntegerIdCollector& collector, const IdArray& ids, uint8_t sides) {
            GilRelease release;
            collector.Add({ids.data(), ids.size()}, sides);
          },
          "ids"_a, nb::kw_only(), "sides"_a = 0)
      .def(
          "number",
          [](IntegerIdCollector& collector, const IdArray& ids, uint8_t sides) {
            return NumberIds(collector, ids.size(), [&](uint32_t* numbers) {
              collector.Add({ids.data(), ids.size()}, sides, numbers);
            });
          },
          "ids"_a, nb::kw_only(), "sides"_a, kNumberHelp)
      .def_prop_ro("numbered", &IntegerIdCollector::numbered, kNumberedHelp)
      .def("write", &WriteIds<IntegerIdCollector>, "path"_a, nb::kw_only(), "categories"_a = false,
           "report"_a.none() = nb::none());

  nb::class_<TextIdCollector>(m, "TextIdCollector")
      .def(nb::init<const compile::Resources&>(), "resources"_a)
      .def(
          "add",
          [](TextIdCollector& collector, const IdArray& offsets, const TextBytes& data,
             const std::string& name, const nb::object& place, uint64_t first_row,
             const std::string& what, uint8_t sides) {
            const base::TextView texts = TextsOf(offsets, data);
            const compile::RowPlaces places = PlacesOf(name, place);
            GilRelease release;
            collector.Add(texts, places, first_row, what, sides);
          },
          "offsets"_a, "data"_a, nb::kw_only(), "name"_a = "", "place"_a.none() = nb::none(),
          "first_row"_a, "what"_a = "id", "sides"_a = 0)
      .def(
          "number",
          [](TextIdCollector& collector, const IdArray& offsets, const TextBytes& data,
             const nb::object& place, uint64_t first_row, uint8_t sides) {
            const base::TextView texts = TextsOf(offsets, data);
            const compile::RowPlaces places = PlacesOf("", place);
            return NumberIds(collector, texts.size(), [&](uint32_t* numbers) {
              collector.Add(texts, places, first_row, "id", sides, numbers);
            });
          },
          "offsets"_a, "data"_a, nb::kw_only(), "place"_a, "first_row"_a, "sides"_a, kNumberHelp)
      .def_prop_ro("numbered", &TextIdCollector::numbered, kNumberedHelp)
      .def("write", &WriteIds<TextIdCollector>, "path"_a, nb::kw_only(), "categories"_a = false,
           "report"_a.none() = nb::none());

  nb::class_<compile::EdgeSpool>(m, "EdgeSpool")
      .def(
          "__init__",
          [](compile::EdgeSpool* self, const compile::Resources& resources) {
            new (self) compile::EdgeSpool(resources.temp_dir);
          },
          "resources"_a)
      .def("add", &AddEdges, "src"_a, "dst"_a, nb::kw_only(), "weights"_a.none(), "rows"_a.none(),
           "times"_a.none() = nb::none(), "Appends a chunk of edges, by the numbers of their ends.")
      .def("finish", &FinishSpool, "ids"_a, "target_ids"_a.none() = nb::none(),
           "After the last chunk and after ids.write(), which decides on the new ids. `ids` is the "
           "collector that numbered both ends, or the sources if `target_ids` did the targets.")
      .def("read", &ReadEdges, "chunk"_a,
           "(sources, targets, weights or None, row numbers or None, times or None) of a chunk, "
           "with "
           "new ids.");

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
