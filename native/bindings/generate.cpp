#include "compile/generate/generate.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

#include "base/team.h"
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "bindings/run_job.h"
#include "compile/generate/typed_model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::TypedModel;

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

constexpr uint64_t kPart = uint64_t{1} << 10;

// Calls fill(begin, end) for parts of `count` items, on several threads at once.
template <class Fill>
void InParts(uint64_t count, int threads, const Fill& fill) {
  GilRelease release;
  std::atomic<uint64_t> next{0};
  base::RunTeam(threads, [&](int) {
    for (uint64_t begin = next.fetch_add(kPart); begin < count; begin = next.fetch_add(kPart)) {
      fill(begin, std::min(count, begin + kPart));
    }
  });
}

void CheckRange(const char* what, uint64_t first, uint64_t count, uint64_t total) {
  if (first <= total && count <= total - first) return;
  throw std::out_of_range(std::string(what) + " " + std::to_string(first) + " and " +
                          std::to_string(count) + " more of " + std::to_string(total));
}

template <class T, class Make>
nb::ndarray<nb::numpy, T> OfNodes(const TypedModel& model, size_t type, uint64_t first,
                                  uint64_t count, int threads, const Make& make) {
  CheckRange("nodes", first, count, model.spec().types.at(type).nodes);
  std::vector<T> values(count);
  InParts(count, threads, [&](uint64_t begin, uint64_t end) {
    make(first + begin, std::span(values).subspan(begin, end - begin));
  });
  return TakeVector(std::move(values));
}

nb::object Features(const TypedModel& model, size_t type, uint64_t first, uint64_t count,
                    int threads) {
  CheckRange("nodes", first, count, model.spec().types.at(type).nodes);
  const uint64_t dim = model.spec().types[type].dim;
  auto* values = new std::vector<float>(count * dim);
  nb::capsule owner(values, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  InParts(count, threads, [&](uint64_t begin, uint64_t end) {
    model.Features(type, first + begin,
                   std::span(*values).subspan(begin * dim, (end - begin) * dim));
  });
  return nb::cast(nb::ndarray<nb::numpy, float>(values->data(), {count, dim}, owner));
}

// Returns (sources, targets, times or None).
nb::tuple Edges(const TypedModel& model, size_t relation, uint64_t first, uint64_t count,
                int threads) {
  const bool timed = model.spec().relations.at(relation).timed;
  CheckRange("edges", first, count, model.NumEdges(relation));
  std::vector<int64_t> src(count);
  std::vector<int64_t> dst(count);
  std::vector<int64_t> times(timed ? count : 0);
  InParts(count, threads, [&](uint64_t begin, uint64_t end) {
    const auto part = [&](std::vector<int64_t>& values) {
      return values.empty() ? std::span<int64_t>() : std::span(values).subspan(begin, end - begin);
    };
    model.Edges(relation, first + begin, part(src), part(dst), part(times));
  });
  nb::object own = timed ? nb::cast(TakeVector(std::move(times))) : nb::none();
  return nb::make_tuple(TakeVector(std::move(src)), TakeVector(std::move(dst)), own);
}

}  // namespace

void BindGenerate(nb::module_& m) {
  m.def("generate", &Generate, "directory"_a, nb::kw_only(), "nodes"_a, "edges"_a, "dim"_a,
        "classes"_a, "seed"_a, "dtype"_a, "resources"_a, "report"_a.none() = nb::none());

  nb::enum_<compile::GeneratedTimes>(m, "NodeTimes")
      .value("NONE", compile::GeneratedTimes::kNone)
      .value("RANDOM", compile::GeneratedTimes::kRandom)
      .value("ASCENDING", compile::GeneratedTimes::kAscending);

  nb::class_<compile::TypedNodes>(m, "TypedNodes")
      .def(
          "__init__",
          [](compile::TypedNodes* own, uint64_t nodes, uint64_t dim,
             compile::GeneratedTimes times) { new (own) compile::TypedNodes{nodes, dim, times}; },
          nb::kw_only(), "nodes"_a, "dim"_a, "times"_a);

  nb::class_<compile::TypedEdges>(m, "TypedEdges")
      .def(
          "__init__",
          [](compile::TypedEdges* own, uint64_t source, uint64_t target, uint64_t edges, bool each,
             uint64_t source_skew, uint64_t target_skew, double homophily, bool timed) {
            new (own) compile::TypedEdges{source,      target,      edges,     each,
                                          source_skew, target_skew, homophily, timed};
          },
          nb::kw_only(), "source"_a, "target"_a, "edges"_a, "each"_a, "source_skew"_a,
          "target_skew"_a, "homophily"_a, "timed"_a);

  nb::class_<TypedModel>(m, "TypedModel")
      .def(
          "__init__",
          [](TypedModel* own, uint64_t seed, uint64_t classes, int64_t first_time,
             int64_t last_time, const std::vector<compile::TypedNodes>& types,
             const std::vector<compile::TypedEdges>& relations) {
            new (own) TypedModel({seed, classes, first_time, last_time, types, relations});
          },
          nb::kw_only(), "seed"_a, "classes"_a, "first_time"_a, "last_time"_a, "types"_a,
          "relations"_a)
      .def("num_edges", &TypedModel::NumEdges, "relation"_a)
      .def("features", &Features, "type"_a, "first"_a, "count"_a, nb::kw_only(), "threads"_a)
      .def(
          "labels",
          [](const TypedModel& model, size_t type, uint64_t first, uint64_t count, int threads) {
            return OfNodes<int64_t>(
                model, type, first, count, threads,
                [&](uint64_t from, std::span<int64_t> out) { model.Labels(type, from, out); });
          },
          "type"_a, "first"_a, "count"_a, nb::kw_only(), "threads"_a)
      .def(
          "times",
          [](const TypedModel& model, size_t type, uint64_t first, uint64_t count, int threads) {
            return OfNodes<int64_t>(
                model, type, first, count, threads,
                [&](uint64_t from, std::span<int64_t> out) { model.Times(type, from, out); });
          },
          "type"_a, "first"_a, "count"_a, nb::kw_only(), "threads"_a)
      .def(
          "split_numbers",
          [](const TypedModel& model, size_t type, uint64_t first, uint64_t count, int threads) {
            return OfNodes<uint32_t>(model, type, first, count, threads,
                                     [&](uint64_t from, std::span<uint32_t> out) {
                                       model.SplitNumbers(type, from, out);
                                     });
          },
          "type"_a, "first"_a, "count"_a, nb::kw_only(), "threads"_a)
      .def("edges", &Edges, "relation"_a, "first"_a, "count"_a, nb::kw_only(), "threads"_a,
           "(sources, targets, times or None) of consecutive edges.");
}

}  // namespace graphzero::bindings
