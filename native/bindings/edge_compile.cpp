#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "bindings/job.h"
#include "bindings/python_owner.h"
#include "bindings/row_places.h"
#include "bindings/text_input.h"
#include "compile/edges/edge_arrays.h"
#include "compile/edges/edge_chunks.h"
#include "compile/edges/edge_text.h"
#include "compile/edges/edge_topology.h"
#include "compile/edges/topology_compiler.h"
#include "store/topology_reader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::Resources;
using compile::TopologyOptions;
using compile::TopologyReport;

using IntegerArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using WeightArray = nb::ndarray<const float, nb::ndim<1>, nb::device::cpu>;

struct TextResult {
  TopologyReport topology;
  compile::SkipReport skips;
};

uint64_t IdLimit(const TopologyOptions& options) {
  return options.num_nodes.value_or(compile::kIdLimit);
}

TextResult CompileText(const std::string& source, const std::string& path,
                       const nb::object& open_stream, uint64_t stored_bytes, bool skip_errors,
                       const TopologyOptions& options, const Resources& resources,
                       const nb::object& report) {
  TextResult result;
  RunJob(report, [&](compile::Progress* progress) {
    const auto on_error = skip_errors ? compile::OnError::kSkip : compile::OnError::kStop;
    compile::TextEdgeSource edges(OpenText(source, open_stream, stored_bytes), on_error,
                                  options.edge_ids, IdLimit(options));
    result.topology = CompileTopology(&edges, path, options, resources, progress);
    result.skips = edges.skips();
  });
  return result;
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

compile::EdgeViews ViewsOf(const IntegerArray& src, const IntegerArray& dst,
                           const std::optional<WeightArray>& weights) {
  if (src.size() != dst.size() || (weights && weights->size() != src.size())) {
    throw std::invalid_argument("src, dst and weights must have the same length");
  }
  compile::EdgeViews edges{ViewOf(src), ViewOf(dst), src.size()};
  if (weights) {
    // Not null for an empty array, so that its being there shows.
    static constexpr float kNone = 0;
    edges.weights = weights->size() == 0 ? &kNone : weights->data();
    edges.weight_stride = weights->stride(0) * static_cast<int64_t>(sizeof(float));
  }
  return edges;
}

TopologyReport CompileArrays(const std::string& name, const IntegerArray& src,
                             const IntegerArray& dst, const std::optional<WeightArray>& weights,
                             const std::string& path, const TopologyOptions& options,
                             const Resources& resources, const nb::object& report) {
  compile::ArrayEdgeSource edges(name, ViewsOf(src, dst, weights), IdLimit(options));
  TopologyReport result;
  RunJob(report, [&](compile::Progress* progress) {
    result = CompileTopology(&edges, path, options, resources, progress);
  });
  return result;
}

// Arrays of a chunk, alive until the compiler has read them.
struct ChunkArrays {
  IntegerArray src;
  IntegerArray dst;
  std::optional<WeightArray> weights;
  std::optional<IdArray> rows;
};

// Takes what a Python iterator gives: tuples (src, dst, weights or None, row numbers or None, rows
// so far or None, bytes that it was read from).
compile::NextChunk ReadChunks(const std::shared_ptr<nb::object>& iterator) {
  return [iterator](compile::EdgeChunk* chunk) {
    GilAcquire acquire;
    const nb::object item = nb::steal(PyIter_Next(iterator->ptr()));
    if (!item.is_valid()) {
      if (PyErr_Occurred()) throw nb::python_error();
      return false;
    }
    auto* arrays = new ChunkArrays;
    chunk->owner = std::shared_ptr<ChunkArrays>(arrays, [](ChunkArrays* held) {
      GilAcquire acquire;
      delete held;
    });
    arrays->src = nb::cast<IntegerArray>(item[0]);
    arrays->dst = nb::cast<IntegerArray>(item[1]);
    if (!item[2].is_none()) arrays->weights = nb::cast<WeightArray>(item[2]);
    chunk->edges = ViewsOf(arrays->src, arrays->dst, arrays->weights);
    if (!item[3].is_none()) {
      arrays->rows = nb::cast<IdArray>(item[3]);
      if (arrays->rows->size() != chunk->edges.count) {
        throw std::invalid_argument("src, dst and rows must have the same length");
      }
      chunk->edges.rows = arrays->rows->data();
    }
    if (!item[4].is_none()) chunk->end_row = nb::cast<uint64_t>(item[4]);
    chunk->input_units = nb::cast<uint64_t>(item[5]);
    return true;
  };
}

TopologyReport CompileChunks(const std::string& name, const nb::callable& open_chunks,
                             const nb::object& place, bool weighted, uint64_t count, uint64_t bytes,
                             const std::string& path, const TopologyOptions& options,
                             const Resources& resources, const nb::object& report) {
  TopologyReport result;
  const auto opener = HoldObject(open_chunks);
  const auto open = [opener] {
    GilAcquire acquire;
    return ReadChunks(HoldObject(nb::iter((*opener)())));
  };
  RunJob(report, [&](compile::Progress* progress) {
    compile::ChunkEdgeSource edges(
        {PlacesOf(name, place), weighted, count, IdLimit(options), bytes}, open);
    result = CompileTopology(&edges, path, options, resources, progress);
  });
  return result;
}

TopologyReport CompileGraph(const store::TopologyReader& graph, const std::string& path,
                            const TopologyOptions& options, const Resources& resources,
                            const nb::object& report) {
  TopologyReport result;
  RunJob(report, [&](compile::Progress* progress) {
    compile::TopologyEdgeSource edges(graph);
    result = CompileTopology(&edges, path, options, resources, progress);
  });
  return result;
}

// Edges of a graph for Python, a few thousand at a time.
class EdgeReader {
 public:
  explicit EdgeReader(const store::TopologyReader& graph)
      : source_(std::make_unique<compile::TopologyEdgeSource>(graph)) {}

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
    return nb::make_tuple(Integers(batch.src, batch.size), Integers(batch.dst, batch.size), weights,
                          Integers(batch.rows, batch.size));
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
                            bool edge_ids, std::optional<uint64_t> num_nodes,
                            const std::string& weight_name) {
  return {undirected, symmetric_source, out, in, dedup, edge_ids, num_nodes, weight_name};
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
                  "out"_a, "in_"_a, "dedup"_a, "edge_ids"_a, "num_nodes"_a.none(),
                  "weight_name"_a = "");

  nb::class_<TopologyReport>(m, "TopologyReport")
      .def_ro("num_nodes", &TopologyReport::num_nodes)
      .def_ro("num_edges", &TopologyReport::num_edges)
      .def_ro("input_rows", &TopologyReport::input_rows)
      .def_ro("dropped", &TopologyReport::dropped)
      .def_ro("spilled_bytes", &TopologyReport::spilled_bytes);

  nb::class_<EdgeReader>(m, "EdgeReader")
      .def(nb::init<const store::TopologyReader&>(), "graph"_a)
      .def("next", &EdgeReader::Next,
           "(sources, targets, weights or None, edge ids or slots) of the next edges in the order "
           "of the file; None at the end.");

  nb::class_<TextResult>(m, "TextEdgeReport")
      .def_ro("topology", &TextResult::topology)
      .def_prop_ro("skipped", [](const TextResult& r) { return r.skips.skipped; })
      .def_prop_ro("messages", [](const TextResult& r) { return r.skips.messages; });

  m.def("compile_edges_text", &CompileText, "source"_a, "path"_a, nb::kw_only(),
        "open_stream"_a.none() = nb::none(), "stored_bytes"_a = 0, "skip_errors"_a, "options"_a,
        "resources"_a, "report"_a.none() = nb::none());
  m.def("compile_edges_arrays", &CompileArrays, "name"_a, "src"_a, "dst"_a, "weights"_a.none(),
        "path"_a, nb::kw_only(), "options"_a, "resources"_a, "report"_a.none() = nb::none());
  m.def("compile_edges_chunks", &CompileChunks, "name"_a, "open_chunks"_a, nb::kw_only(),
        "place"_a.none(), "weighted"_a, "count"_a, "bytes"_a = 0, "path"_a, "options"_a,
        "resources"_a, "report"_a.none() = nb::none(),
        "open_chunks() gives an iterator of (src, dst, weights or None, row numbers or None, rows "
        "so far or None, bytes that it was read from), which is read by a thread of its own; it is "
        "called again if ids turn out "
        "to need 64 bits. place(row) is what messages call a row.");
  m.def("compile_edges_graph", &CompileGraph, "graph"_a, "path"_a, nb::kw_only(), "options"_a,
        "resources"_a, "report"_a.none() = nb::none());
}

}  // namespace graphzero::bindings
