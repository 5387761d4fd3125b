#include "store/verify.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "bindings/job.h"
#include "store/degree_summary.h"

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
                                      const std::string& direction) {
  const store::Adjacency* adjacency = direction == "out" ? graph.out() : graph.in();
  if (adjacency == nullptr) throw std::invalid_argument("the file stores no " + direction);
  GilRelease release;
  return store::SummarizeDegrees(graph, *adjacency);
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
  m.def("summarize_degrees", &SummarizeDegrees, "graph"_a, "direction"_a);
  m.def("count_isolated", &store::CountIsolated, "graph"_a, nb::call_guard<GilRelease>());
}

}  // namespace graphzero::bindings
