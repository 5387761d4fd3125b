#include "compile/generate/generate.h"

#include <nanobind/stl/string.h>

#include "bindings/bindings.h"
#include "bindings/job.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

void Generate(const std::string& directory, uint64_t nodes, uint64_t edges, uint64_t dim,
              uint64_t classes, uint64_t seed, const std::string& dtype,
              const compile::Resources& resources, const nb::object& report) {
  const auto feature_type = store::DTypeFromName(dtype);
  if (!feature_type) throw std::invalid_argument("unknown dtype " + dtype);
  const compile::SyntheticSpec spec{nodes, edges, dim, classes, seed};
  RunJob(report, [&](compile::Progress* progress) {
    compile::GenerateDataset(directory, spec, *feature_type, resources, progress);
  });
}

}  // namespace

void BindGenerate(nb::module_& m) {
  m.def("generate", &Generate, "directory"_a, nb::kw_only(), "nodes"_a, "edges"_a, "dim"_a,
        "classes"_a, "seed"_a, "dtype"_a, "resources"_a, "report"_a.none() = nb::none());
}

}  // namespace graphzero::bindings
