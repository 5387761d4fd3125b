#include "store/verify/verify.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "bindings/run_job.h"
#include "store/topology/degree_summary.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

template <class Reader>
std::vector<std::string> Verify(const Reader& reader, int threads, const nb::object& report) {
  std::vector<std::string> problems;
  RunJob(report, [&](compile::Progress* progress) {
    progress->Start("verify", reader.file()->size());
    const auto advance = [progress](uint64_t bytes) {
      progress->ThrowIfCancelled();
      progress->Add(bytes);
    };
    problems = store::Verify(reader, {.threads = threads, .advance = advance});
  });
  return problems;
}

store::DegreeSummary SummarizeDegrees(const store::TopologyReader& graph,
                                      const std::string& direction, uint32_t relation) {
  const store::Relation& r = graph.relations().at(relation);
  const store::Adjacency* adjacency = direction == "out" ? r.out : r.in;
  if (adjacency == nullptr) throw std::invalid_argument("the file stores no " + direction);
  GilRelease release;
  return store::SummarizeDegrees(graph, *adjacency);
}

using Times = std::optional<std::pair<int64_t, int64_t>>;

Times TimesOf(const store::TopologyReader& graph, const int64_t* times, uint64_t count) {
  GilRelease release;
  const auto range = store::FindTimeRange(graph, times, count);
  return range ? Times({range->first, range->last}) : std::nullopt;
}

Times EdgeTimes(const store::TopologyReader& graph, uint32_t relation) {
  const store::Adjacency& any = graph.relations().at(relation).any();
  return TimesOf(graph, any.times, any.edges);
}

Times NodeTimes(const store::TopologyReader& graph, uint32_t type) {
  const store::NodeType& t = graph.types().at(type);
  return TimesOf(graph, t.times, t.count);
}

}  // namespace

void BindVerify(nb::module_& m) {
  m.def("verify", &Verify<store::TopologyReader>, "file"_a, nb::kw_only(), "threads"_a,
        "report"_a.none() = nb::none());
  m.def("verify", &Verify<store::MatrixReader>, "file"_a, nb::kw_only(), "threads"_a,
        "report"_a.none() = nb::none());

  nb::class_<store::DegreeSummary>(m, "DegreeSummary")
      .def_ro("min", &store::DegreeSummary::min)
      .def_ro("median", &store::DegreeSummary::median)
      .def_ro("p99", &store::DegreeSummary::p99)
      .def_ro("max", &store::DegreeSummary::max)
      .def_ro("mean", &store::DegreeSummary::mean)
      .def_ro("empty_rows", &store::DegreeSummary::empty_rows)
      .def_ro("histogram", &store::DegreeSummary::histogram);
  m.def("summarize_degrees", &SummarizeDegrees, "graph"_a, "direction"_a, "relation"_a = 0);
  m.def("edge_time_range", &EdgeTimes, "graph"_a, "relation"_a = 0,
        "The times of the earliest and the latest edge; None without times or edges.");
  m.def("node_time_range", &NodeTimes, "graph"_a, "type"_a = 0,
        "The times of the earliest and the latest node; None without times or nodes.");
  m.def("count_isolated", &store::CountIsolated, "graph"_a, nb::call_guard<GilRelease>());
}

}  // namespace graphzero::bindings
