#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/callbacks.h"
#include "bindings/gil.h"
#include "bindings/run_job.h"
#include "bindings/text_input.h"
#include "compile/edges/edge_arrays.h"
#include "compile/edges/edge_chunks.h"
#include "compile/edges/edge_renumbering.h"
#include "compile/edges/edge_text.h"
#include "compile/edges/edge_topology.h"
#include "compile/edges/topology_compiler.h"
#include "compile/order/node_order.h"
#include "store/topology/topology_reader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::GraphReport;
using compile::IdLimits;
using compile::RelationReport;
using compile::Resources;
using compile::TopologyReport;

using IntegerArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using WeightArray = nb::ndarray<const float, nb::ndim<1>, nb::device::cpu>;
using TimeArray = nb::ndarray<const int64_t, nb::ndim<1>, nb::device::cpu>;
using NodeTimeArray = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Where edges come from. Owns what it reads: arrays, Python's iterators.
struct EdgeInput {
  compile::OpenEdges open;
  // The text that `open` has opened, if the edges come from text: knows which lines were skipped.
  std::shared_ptr<std::shared_ptr<compile::TextEdgeSource>> text = {};

  compile::SkipReport skips() const {
    return text && *text ? (*text)->skips() : compile::SkipReport{};
  }
};

EdgeInput TextInput(const std::string& source, const nb::object& open_stream, uint64_t stored_bytes,
                    bool skip_errors, bool timed) {
  const auto opened = std::make_shared<std::shared_ptr<compile::TextEdgeSource>>();
  const auto stream = HoldObject(open_stream);
  const auto open = [=](const IdLimits& limits, bool number_rows) {
    *opened = std::make_shared<compile::TextEdgeSource>(
        OpenText(source, *stream, stored_bytes),
        compile::TextEdgeSource::Options{
            skip_errors ? compile::OnError::kSkip : compile::OnError::kStop, timed, number_rows,
            limits});
    return *opened;
  };
  return {open, opened};
}

compile::IntegerView ViewOf(const IntegerArray& array) {
  const nb::dlpack::dtype dtype = array.dtype();
  const auto code = static_cast<nb::dlpack::dtype_code>(dtype.code);
  const bool is_signed = code == nb::dlpack::dtype_code::Int;
  if ((!is_signed && code != nb::dlpack::dtype_code::UInt) || dtype.lanes != 1) {
    throw std::invalid_argument("edge ends must be arrays of integers");
  }
  const uint32_t bytes = dtype.bits / 8u;
  return {static_cast<const std::byte*>(array.data()), bytes, is_signed,
          array.stride(0) * static_cast<int64_t>(bytes)};
}

// Arrays of consecutive edges.
struct EdgeArrays {
  IntegerArray src;
  IntegerArray dst;
  std::optional<WeightArray> weights;
  std::optional<TimeArray> times;
  std::optional<IdArray> rows;

  compile::EdgeViews views() const {
    const auto check = [&](const auto& array, const char* what) {
      if (array && array->size() != src.size()) {
        throw std::invalid_argument(std::string("src, dst and ") + what +
                                    " must have the same length");
      }
    };
    check(std::optional(dst), "the rest");
    check(weights, "weights");
    check(times, "times");
    check(rows, "rows");
    compile::EdgeViews edges{ViewOf(src), ViewOf(dst), src.size()};
    // An empty array is not null either, so that it differs from no array.
    static constexpr float kNoWeight = 0;
    static constexpr int64_t kNoTimes = 0;
    if (weights) {
      edges.weights = weights->size() == 0 ? &kNoWeight : weights->data();
      edges.weight_stride = weights->stride(0) * static_cast<int64_t>(sizeof(float));
    }
    if (times) {
      edges.times = times->size() == 0 ? &kNoTimes : times->data();
      edges.time_stride = times->stride(0) * static_cast<int64_t>(sizeof(int64_t));
    }
    if (rows) edges.rows = rows->data();
    return edges;
  }
};

// Keeps Python's objects until the last copy dies, on any thread.
template <class T>
std::shared_ptr<T> Hold(T objects) {
  return std::shared_ptr<T>(new T(std::move(objects)), [](T* held) {
    GilAcquire acquire;
    delete held;
  });
}

EdgeInput ArrayInput(const std::string& name, const IntegerArray& src, const IntegerArray& dst,
                     const std::optional<WeightArray>& weights,
                     const std::optional<TimeArray>& times) {
  const auto arrays = Hold(EdgeArrays{src, dst, weights, times, std::nullopt});
  const compile::EdgeViews views = arrays->views();
  return {[name, arrays, views](const IdLimits& limits, bool) {
    return std::make_shared<compile::ArrayEdgeSource>(name, views, limits);
  }};
}

// Reads chunks from a Python iterator, which yields tuples (src, dst, weights or None, row numbers
// or None, rows so far or None, bytes that the chunk was read from, times or None). The last item
// may be left out.
compile::NextChunk ReadChunks(const std::shared_ptr<nb::object>& iterator) {
  return [iterator](compile::EdgeChunk* chunk) {
    GilAcquire acquire;
    const nb::object item = nb::steal(PyIter_Next(iterator->ptr()));
    if (!item.is_valid()) {
      if (PyErr_Occurred()) throw nb::python_error();
      return false;
    }
    const auto arrays = Hold(EdgeArrays{});
    chunk->owner = arrays;
    arrays->src = nb::cast<IntegerArray>(item[0]);
    arrays->dst = nb::cast<IntegerArray>(item[1]);
    if (!item[2].is_none()) arrays->weights = nb::cast<WeightArray>(item[2]);
    if (!item[3].is_none()) arrays->rows = nb::cast<IdArray>(item[3]);
    if (nb::len(item) > 6 && !item[6].is_none()) arrays->times = nb::cast<TimeArray>(item[6]);
    chunk->edges = arrays->views();
    if (!item[4].is_none()) chunk->end_row = nb::cast<uint64_t>(item[4]);
    chunk->input_units = nb::cast<uint64_t>(item[5]);
    return true;
  };
}

EdgeInput ChunkInput(const std::string& name, const nb::callable& open_chunks,
                     const nb::object& place, bool weighted, bool timed, uint64_t count,
                     uint64_t bytes) {
  const auto opener = HoldObject(open_chunks);
  const auto open_iterator = [opener] {
    GilAcquire acquire;
    return ReadChunks(HoldObject(nb::iter((*opener)())));
  };
  const compile::RowPlaces places = PlacesOf(name, place);
  return {[=](const IdLimits& limits, bool) {
    return std::make_shared<compile::ChunkEdgeSource>(
        compile::ChunkEdgeSource::Facts{places, weighted, timed, count, limits, bytes},
        open_iterator);
  }};
}

void CheckRelation(const store::TopologyReader& graph, uint32_t relation) {
  if (relation < graph.relations().size()) return;
  throw std::out_of_range("relation " + std::to_string(relation) + ": " + graph.file()->path() +
                          " has " + std::to_string(graph.relations().size()));
}

EdgeInput GraphEdges(const store::TopologyReader& graph, uint32_t relation,
                     const std::shared_ptr<compile::NodeOrder>& order) {
  CheckRelation(graph, relation);
  compile::NewNumbers numbers{};
  if (order) numbers = compile::NumbersOf(order, graph, relation);
  return {[=](const IdLimits& limits, bool) -> std::shared_ptr<compile::EdgeSource> {
    auto edges = std::make_shared<compile::TopologyEdgeSource>(graph, relation, limits);
    if (!order) return edges;
    return std::make_shared<compile::RenumberedEdgeSource>(std::move(edges), numbers);
  }};
}

// Options for a graph without types, and the array that keeps its node times alive.
struct TopologyOptions {
  compile::TopologyOptions options;
  std::optional<NodeTimeArray> node_times;
};

TopologyReport CompileTopology(const EdgeInput& edges, const std::string& path,
                               const TopologyOptions& options, const Resources& resources,
                               const nb::object& report) {
  TopologyReport result;
  RunJob(report, [&](compile::Progress* progress) {
    result = compile::CompileTopology(edges.open, path, options.options, resources, progress);
  });
  return result;
}

// A type of a graph, and the array that keeps its times alive.
struct TypeSpec {
  compile::TypeInput type;
  std::optional<NodeTimeArray> times;
};

std::optional<std::span<const int64_t>> SpanOf(const std::optional<NodeTimeArray>& times) {
  if (!times) return std::nullopt;
  return std::span(times->data(), times->size());
}

TypeSpec MakeType(const std::string& name, uint64_t count,
                  const std::optional<NodeTimeArray>& times) {
  return {{name, count, SpanOf(times)}, times};
}

compile::RelationInput MakeRelation(uint32_t source, const std::string& name, uint32_t target,
                                    const EdgeInput& edges, bool undirected, bool symmetric_source,
                                    bool out, bool in, bool dedup, bool distinct_source,
                                    bool edge_ids, const std::string& weight_name) {
  return {source,
          name,
          target,
          edges.open,
          {undirected, symmetric_source, out, in, dedup, distinct_source, edge_ids, weight_name}};
}

GraphReport CompileTyped(const std::string& path, const std::vector<TypeSpec>& types,
                         const std::vector<compile::RelationInput>& relations,
                         const std::vector<std::pair<std::string, uint32_t>>& views,
                         const std::vector<std::pair<uint32_t, uint32_t>>& inverses,
                         const std::string& time_unit, const Resources& resources,
                         const nb::object& report) {
  compile::GraphInput graph;
  for (const TypeSpec& type : types) graph.types.push_back(type.type);
  graph.relations = relations;
  for (const auto& [name, base] : views) graph.views.push_back({name, base});
  graph.inverses = inverses;
  graph.time_unit = time_unit;
  GraphReport result;
  RunJob(report, [&](compile::Progress* progress) {
    result = compile::CompileGraph(graph, path, resources, progress);
  });
  return result;
}

// Reads the edges of a graph for Python, a few thousand at a time.
class EdgeReader {
 public:
  EdgeReader(const store::TopologyReader& graph, uint32_t relation) {
    CheckRelation(graph, relation);
    source_ = std::make_unique<compile::TopologyEdgeSource>(graph, relation);
  }

  nb::object Next() {
    compile::EdgeBatch batch;
    bool more;
    {
      GilRelease release;
      more = source_->Next(&batch);
    }
    source_->ThrowIfFailed();
    if (!more) return nb::none();
    nb::object weights = nb::none();
    if (source_->weighted()) {
      batch.weight.resize(batch.size);
      weights = nb::cast(TakeVector(std::move(batch.weight)));
    }
    nb::object times = nb::none();
    if (source_->timed()) {
      batch.time.resize(batch.size);
      times = nb::cast(TakeVector(std::move(batch.time)));
    }
    return nb::make_tuple(Integers(batch.src, batch.size), Integers(batch.dst, batch.size), weights,
                          Integers(batch.rows, batch.size), times);
  }

 private:
  static nb::ndarray<nb::numpy, int64_t> Integers(const std::vector<uint64_t>& values,
                                                  size_t size) {
    return TakeVector(
        std::vector<int64_t>(values.begin(), values.begin() + static_cast<ptrdiff_t>(size)));
  }

  std::unique_ptr<compile::TopologyEdgeSource> source_;
};

Resources MakeResourcesForTests(uint64_t memory, int threads, const std::string& temp_dir,
                                bool wide_records) {
  return {memory, threads, temp_dir, wide_records};
}

TopologyOptions MakeOptions(bool undirected, bool symmetric_source, bool out, bool in, bool dedup,
                            bool distinct_source, bool edge_ids, std::optional<uint64_t> num_nodes,
                            const std::string& weight_name,
                            const std::optional<NodeTimeArray>& node_times,
                            const std::string& time_unit) {
  return {{{undirected, symmetric_source, out, in, dedup, distinct_source, edge_ids, weight_name},
           num_nodes,
           SpanOf(node_times),
           time_unit},
          node_times};
}

}  // namespace

void BindEdgeCompile(nb::module_& m) {
  nb::class_<Resources>(m, "Resources")
      .def_static("make", &Resources::Make, nb::kw_only(), "memory"_a, "threads"_a, "temp_dir"_a)
      .def_static("make_for_tests", &MakeResourcesForTests, nb::kw_only(), "memory"_a, "threads"_a,
                  "temp_dir"_a, "wide_records"_a = false,
                  "Limits as they are given, below the minimum too: makes small inputs spill.")
      .def_ro("memory", &Resources::memory)
      .def_ro("threads", &Resources::threads)
      .def_ro("temp_dir", &Resources::temp_dir);

  nb::class_<TopologyOptions>(m, "TopologyOptions")
      .def_static("make", &MakeOptions, nb::kw_only(), "undirected"_a, "symmetric_source"_a,
                  "out"_a, "in_"_a, "dedup"_a, "distinct_source"_a = false, "edge_ids"_a,
                  "num_nodes"_a.none(), "weight_name"_a = "", "node_times"_a.none() = nb::none(),
                  "time_unit"_a = "");

  nb::class_<RelationReport>(m, "RelationReport")
      .def_ro("num_edges", &RelationReport::num_edges)
      .def_ro("input_rows", &RelationReport::input_rows)
      .def_ro("dropped", &RelationReport::dropped)
      .def_ro("first_time", &RelationReport::first_time)
      .def_ro("last_time", &RelationReport::last_time);
  nb::class_<TopologyReport, RelationReport>(m, "TopologyReport")
      .def_ro("num_nodes", &TopologyReport::num_nodes)
      .def_ro("spilled_bytes", &TopologyReport::spilled_bytes);
  nb::class_<GraphReport>(m, "TypedTopologyReport")
      .def_ro("relations", &GraphReport::relations)
      .def_ro("spilled_bytes", &GraphReport::spilled_bytes);

  nb::class_<EdgeReader>(m, "EdgeReader")
      .def(nb::init<const store::TopologyReader&, uint32_t>(), "graph"_a, "relation"_a = 0)
      .def(
          "next", &EdgeReader::Next,
          "(sources, targets, weights or None, edge ids or slots, times or None) of the next edges "
          "in the order of the file; None at the end.");

  nb::class_<EdgeInput>(m, "EdgeInput")
      .def_static("text", &TextInput, "source"_a, nb::kw_only(),
                  "open_stream"_a.none() = nb::none(), "stored_bytes"_a = 0,
                  "skip_errors"_a = false, "timed"_a = false,
                  "Lines of source, target and perhaps weight; `timed`: then time, an integer.")
      .def_static("arrays", &ArrayInput, "name"_a, "src"_a, "dst"_a,
                  "weights"_a.none() = nb::none(), "times"_a.none() = nb::none())
      .def_static(
          "chunks", &ChunkInput, "name"_a, "open_chunks"_a, nb::kw_only(),
          "place"_a.none() = nb::none(), "weighted"_a = false, "timed"_a = false, "count"_a = 0,
          "bytes"_a = 0,
          "open_chunks() gives an iterator of (src, dst, weights or None, row numbers or "
          "None, rows so far or None, bytes that it was read from, times or None), which is "
          "read by a thread of its own; it is called again if ids turn out to need 64 bits. "
          "place(row) is what messages call a row.")
      .def_static("graph", &GraphEdges, "graph"_a, "relation"_a = 0, nb::kw_only(),
                  "order"_a.none() = nb::none(),
                  "`order`, one of this graph, gives the ends of its edges new numbers.")
      .def_prop_ro(
          "skipped", [](const EdgeInput& e) { return e.skips().skipped; },
          "Lines of a text that were left out when it was read.")
      .def_prop_ro(
          "messages", [](const EdgeInput& e) { return e.skips().messages; },
          "What was wrong with the first of them.");

  nb::class_<TypeSpec>(m, "TypeSpec")
      .def_static("make", &MakeType, "name"_a, "count"_a, "times"_a.none() = nb::none());
  nb::class_<compile::RelationInput>(m, "RelationSpec")
      .def_static("make", &MakeRelation, "source"_a, "name"_a, "target"_a, "edges"_a, nb::kw_only(),
                  "undirected"_a = false, "symmetric_source"_a = false, "out"_a = true,
                  "in_"_a = true, "dedup"_a = false, "distinct_source"_a = false,
                  "edge_ids"_a = false, "weight_name"_a = "",
                  "`source` and `target` are numbers of types; `edges` is an EdgeInput.");

  m.def("compile_topology", &CompileTopology, "edges"_a, "path"_a, nb::kw_only(), "options"_a,
        "resources"_a, "report"_a.none() = nb::none(),
        "Writes a graph without types. `path` must not exist.");
  m.def("compile_typed_topology", &CompileTyped, "path"_a, nb::kw_only(), "types"_a, "relations"_a,
        "views"_a = nb::list(), "inverses"_a = nb::list(), "time_unit"_a = "", "resources"_a,
        "report"_a.none() = nb::none(),
        "Writes a typed graph. `views` are (name, number of a relation), `inverses` pairs of "
        "relations. `path` must not exist.");
}

}  // namespace graphzero::bindings
