#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "bindings/run_job.h"
#include "store/files/mapped_file.h"
#include "store/files/publish.h"
#include "store/files/warm.h"
#include "store/matrix/matrix_reader.h"
#include "store/topology/topology_reader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {

nb::dlpack::dtype NumpyType(store::DType dtype) {
  using store::DType;
  switch (dtype) {
    case DType::kFloat32:
      return nb::dtype<float>();
    case DType::kFloat64:
      return nb::dtype<double>();
    case DType::kFloat16:
      return {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
    case DType::kBFloat16:
    case DType::kInt16:
      return nb::dtype<int16_t>();
    case DType::kInt8:
      return nb::dtype<int8_t>();
    case DType::kUInt8:
      return nb::dtype<uint8_t>();
    case DType::kInt32:
      return nb::dtype<int32_t>();
    case DType::kInt64:
      return nb::dtype<int64_t>();
    case DType::kBool:
      return nb::dtype<bool>();
    case DType::kUInt32:
      return nb::dtype<uint32_t>();
    case DType::kUInt64:
      return nb::dtype<uint64_t>();
  }
  throw std::logic_error("dtype without a NumPy type");
}

namespace {

using store::Adjacency;
using store::MatrixReader;
using store::TopologyReader;
using RowBytes = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstBytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

AnyArray View(const TopologyReader& graph, const void* data, uint64_t width,
              nb::dlpack::dtype dtype, const store::SlotRange& range) {
  auto* at = static_cast<std::byte*>(const_cast<void*>(data)) + range.begin * width;
  const size_t size = range.size();
  return AnyArray(at, 1, &size, KeepAlive(graph.file()), nullptr, dtype);
}

// Ids are non-negative and below their bound, so a signed type of the same width shows the same
// values where the bound allows it; torch indexes with signed types only.
nb::dlpack::dtype IdType(const store::IntegerArray& ids, uint64_t bound) {
  if (ids.width == 8) return nb::dtype<int64_t>();
  return bound <= (uint64_t{1} << 31) ? nb::dtype<int32_t>() : nb::dtype<uint32_t>();
}

const store::Relation& RelationOf(const TopologyReader& graph, uint32_t relation) {
  if (relation >= graph.relations().size()) {
    throw std::out_of_range("relation " + std::to_string(relation) + ": " + graph.file()->path() +
                            " has " + std::to_string(graph.relations().size()));
  }
  return graph.relations()[relation];
}

// The adjacency stored under that name; which one answers a question is decided in Python.
const Adjacency& Direction(const TopologyReader& graph, const std::string& direction,
                           uint32_t relation) {
  const store::Relation& r = RelationOf(graph, relation);
  const Adjacency* found = direction == "out" ? r.out : r.in;
  if (found == nullptr) {
    const std::string title = graph.Title(relation);
    throw std::invalid_argument(graph.file()->path() + " stores no " + direction + "-edges" +
                                (title.empty() ? "" : " of " + title));
  }
  return *found;
}

// The slots of a row. Throws if the row does not exist or the file cannot be read; with
// `neighbours`, also if ids of neighbours are invalid.
store::SlotRange CheckedRow(const TopologyReader& graph, const Adjacency& adjacency, uint64_t node,
                            bool neighbours = false) {
  return store::ReadGuarded(*graph.file(), [&] {
    const store::SlotRange range = graph.Row(adjacency, node);
    if (neighbours) graph.CheckNeighbours(adjacency, range);
    return range;
  });
}

AnyArray Neighbours(const TopologyReader& graph, uint64_t node, const std::string& direction,
                    uint32_t relation) {
  const Adjacency& a = Direction(graph, direction, relation);
  const store::SlotRange range = CheckedRow(graph, a, node, /*neighbours=*/true);
  return View(graph, a.neighbours.data, a.neighbours.width, IdType(a.neighbours, a.neighbour_bound),
              range);
}

// The values beside the neighbours of a row (weights, edge ids, times); empty if the file stores
// none.
AnyArray SlotValues(const TopologyReader& graph, const Adjacency& a, uint64_t node,
                    const void* data, uint64_t width, nb::dlpack::dtype dtype) {
  const store::SlotRange range = CheckedRow(graph, a, node);
  return View(graph, data, width, dtype, data != nullptr ? range : store::SlotRange{});
}

AnyArray Weights(const TopologyReader& graph, uint64_t node, const std::string& direction,
                 uint32_t relation) {
  const Adjacency& a = Direction(graph, direction, relation);
  return SlotValues(graph, a, node, a.weights, sizeof(float), nb::dtype<float>());
}

AnyArray EdgeIds(const TopologyReader& graph, uint64_t node, const std::string& direction,
                 uint32_t relation) {
  const Adjacency& a = Direction(graph, direction, relation);
  return SlotValues(graph, a, node, a.edge_ids.data, a.edge_ids.width,
                    IdType(a.edge_ids, graph.relations()[relation].edge_id_bound));
}

AnyArray Times(const TopologyReader& graph, uint64_t node, const std::string& direction,
               uint32_t relation) {
  const Adjacency& a = Direction(graph, direction, relation);
  return SlotValues(graph, a, node, a.times, sizeof(int64_t), nb::dtype<int64_t>());
}

AnyArray SlotTimes(const TopologyReader& graph, uint64_t node, const std::string& direction,
                   uint32_t relation) {
  const Adjacency& a = Direction(graph, direction, relation);
  return SlotValues(graph, a, node, a.slot_times, sizeof(int64_t), nb::dtype<int64_t>());
}

AnyArray NodeTimes(const TopologyReader& graph, uint32_t type) {
  if (type >= graph.types().size()) {
    throw std::out_of_range("type " + std::to_string(type) + ": " + graph.file()->path() + " has " +
                            std::to_string(graph.types().size()));
  }
  const store::NodeType& t = graph.types()[type];
  return View(graph, t.times, sizeof(int64_t), nb::dtype<int64_t>(),
              {0, t.times != nullptr ? t.count : 0});
}

// A type as Python sees it.
struct TypeInfo {
  std::string name;
  uint64_t count;
  bool has_times;
};

std::vector<TypeInfo> Types(const TopologyReader& graph) {
  std::vector<TypeInfo> result;
  for (const store::NodeType& type : graph.types()) {
    result.push_back({type.name, type.count, type.times != nullptr});
  }
  return result;
}

// A relation as Python sees it: a copy, which may outlive the graph.
struct RelationInfo {
  std::string name;
  uint32_t source;
  uint32_t target;
  uint32_t base;
  std::optional<uint32_t> inverse;
  bool is_view;
  uint64_t num_edges;
  uint64_t edge_id_bound;
  bool symmetric;
  bool multi_edges_dropped;
  std::string weight_name;
  bool has_weights;
  bool has_edge_ids;
  bool has_edge_times;
  bool has_times;  // slot times in any direction
  bool time_ordered;
  bool has_out;
  bool has_in;
};

RelationInfo InfoOf(const store::Relation& r) {
  const auto any = [&](auto predicate) {
    return (r.out && predicate(*r.out)) || (r.in && predicate(*r.in));
  };
  return {.name = r.name,
          .source = r.source,
          .target = r.target,
          .base = r.base,
          .inverse = r.inverse,
          .is_view = r.is_view,
          .num_edges = r.num_edges,
          .edge_id_bound = r.edge_id_bound,
          .symmetric = r.symmetric,
          .multi_edges_dropped = r.multi_edges_dropped,
          .weight_name = r.weight_name,
          .has_weights = r.any().weights != nullptr,
          .has_edge_ids = r.any().edge_ids.present(),
          .has_edge_times = r.any().times != nullptr,
          .has_times = any([](const Adjacency& a) { return a.slot_times != nullptr; }),
          .time_ordered = any([](const Adjacency& a) { return a.time_ordered; }),
          .has_out = r.out != nullptr,
          .has_in = r.in != nullptr};
}

std::vector<RelationInfo> Relations(const TopologyReader& graph) {
  std::vector<RelationInfo> result;
  for (const store::Relation& relation : graph.relations()) result.push_back(InfoOf(relation));
  return result;
}

void BindRelation(nb::module_& m) {
  nb::class_<RelationInfo>(m, "Relation")
      .def_ro("name", &RelationInfo::name)
      .def_ro("source", &RelationInfo::source)
      .def_ro("target", &RelationInfo::target)
      .def_ro("base", &RelationInfo::base)
      .def_ro("inverse", &RelationInfo::inverse)
      .def_ro("is_view", &RelationInfo::is_view)
      .def_ro("num_edges", &RelationInfo::num_edges)
      .def_ro("edge_id_bound", &RelationInfo::edge_id_bound)
      .def_ro("symmetric", &RelationInfo::symmetric)
      .def_ro("multi_edges_dropped", &RelationInfo::multi_edges_dropped)
      .def_ro("weight_name", &RelationInfo::weight_name)
      .def_ro("has_weights", &RelationInfo::has_weights)
      .def_ro("has_edge_ids", &RelationInfo::has_edge_ids)
      .def_ro("has_edge_times", &RelationInfo::has_edge_times)
      .def_ro("has_times", &RelationInfo::has_times)
      .def_ro("time_ordered", &RelationInfo::time_ordered)
      .def_ro("has_out", &RelationInfo::has_out)
      .def_ro("has_in", &RelationInfo::has_in);
}

AnyArray Tensor(const MatrixReader& matrix) {
  if (matrix.quantisation() != nullptr) {
    throw std::invalid_argument(matrix.file()->path() +
                                " is quantised: its values are not in the file, expected rows to "
                                "be read");
  }
  std::vector<size_t> shape{matrix.rows()};
  shape.insert(shape.end(), matrix.row_shape().begin(), matrix.row_shape().end());
  // Items of a row lie one after the other; its last dimension runs fastest.
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i > 1; --i) {
    strides[i - 1] = strides[i] * static_cast<int64_t>(shape[i]);
  }
  strides[0] = static_cast<int64_t>(matrix.row_stride() / store::ItemSize(matrix.dtype()));
  return AnyArray(matrix.data(), shape.size(), shape.data(), KeepAlive(matrix.file()),
                  strides.data(), NumpyType(matrix.dtype()));
}

// Decodes rows of codes, for tests: with the instructions that every processor has (`baseline`), or
// with the best ones of this processor.
void DecodeRows(const MatrixReader& matrix, const ConstBytes& codes, const RowBytes& out,
                bool baseline) {
  const store::Quantisation* quantisation = matrix.quantisation();
  const uint64_t cols = matrix.cols();
  if (quantisation == nullptr || codes.size() % cols != 0 ||
      out.size() != codes.size() / cols * matrix.row_bytes()) {
    throw std::invalid_argument("expected whole rows of a quantised matrix");
  }
  const auto instructions = baseline ? base::Instructions::kBaseline : store::RowDecoder::Best();
  const store::RowDecoder decoder(*quantisation, instructions);
  for (size_t row = 0; row < codes.size() / cols; ++row) {
    decoder.Decode(reinterpret_cast<const std::byte*>(codes.data()) + row * cols,
                   reinterpret_cast<std::byte*>(out.data()) + row * matrix.row_bytes());
  }
}

void ReadRows(const MatrixReader& matrix, uint64_t first, const RowBytes& out) {
  if (matrix.row_bytes() == 0 || out.size() % matrix.row_bytes() != 0) {
    throw std::invalid_argument("out has " + std::to_string(out.size()) +
                                " bytes, expected whole rows of " +
                                std::to_string(matrix.row_bytes()));
  }
  GilRelease release;
  matrix.ReadRows(first, std::as_writable_bytes(std::span(out.data(), out.size())));
}

nb::bytes AsBytes(const store::Fingerprint& fingerprint) {
  return nb::bytes(reinterpret_cast<const char*>(fingerprint.data()), fingerprint.size());
}

// A mapped file of a foreign format, for libraries that read from memory.
struct ForeignFile {
  std::shared_ptr<const store::MappedFile> file;
};

AnyArray Bytes(const ForeignFile& foreign) {
  const size_t size = foreign.file->size();
  return AnyArray(foreign.file->bytes().data(), 1, &size, KeepAlive(foreign.file), nullptr,
                  nb::dtype<uint8_t>());
}

// ReadGuarded() as a Python context manager. Entered and left by one thread.
class ReadingContext {
 public:
  explicit ReadingContext(const ForeignFile& foreign) : file_(foreign.file) {}
  void Enter() { access_ = std::make_unique<base::MappedAccess>(); }
  void Exit(const nb::object&, const nb::object&, const nb::object&) {
    access_.reset();
    file_->ThrowIfDamaged();
  }

 private:
  std::shared_ptr<const store::MappedFile> file_;
  std::unique_ptr<base::MappedAccess> access_;
};

// Methods that graphs and columns have in common, most of them about the page cache.
template <typename Reader>
void BindPageCache(nb::class_<Reader>& reader) {
  const auto release = nb::call_guard<GilRelease>();
  reader.def("throw_if_damaged", [](const Reader& r) { r.file()->ThrowIfDamaged(); });
  reader.def("resident_bytes", [](const Reader& r) { return r.file()->ResidentBytes(); }, release);
  reader.def(
      "resident_parts",
      [](const Reader& r, uint64_t parts) { return r.file()->ResidentParts(parts); }, "parts"_a,
      release);
  reader.def(
      "warm",
      [](const Reader& r, uint64_t offset, uint64_t length) {
        store::Warm(*r.file(), offset, length);
      },
      "offset"_a, "length"_a, release);
  reader.def("expect_random_access", [](const Reader& r) { store::ExpectRandomAccess(*r.file()); });
}

struct SectionInfo {
  std::string name;
  uint32_t relation;
  std::string dtype;
  uint64_t count;
  uint64_t offset;
  uint64_t stored_bytes;
};

std::vector<SectionInfo> Sections(const store::Container* container) {
  std::vector<SectionInfo> result;
  if (container == nullptr) return result;
  for (const store::SectionEntry& s : container->sections()) {
    result.push_back({store::SectionName(s.kind), s.relation, std::string(store::Name(s.dtype)),
                      s.count, s.offset, s.stored_bytes});
  }
  return result;
}

}  // namespace

void BindStore(nb::module_& m) {
  nb::class_<SectionInfo>(m, "SectionInfo")
      .def_ro("name", &SectionInfo::name)
      .def_ro("relation", &SectionInfo::relation)
      .def_ro("dtype", &SectionInfo::dtype)
      .def_ro("count", &SectionInfo::count)
      .def_ro("offset", &SectionInfo::offset)
      .def_ro("stored_bytes", &SectionInfo::stored_bytes);

  m.def(
      "is_topology",
      [](const std::string& path) { return store::IsTopology(*store::MappedFile::Open(path)); },
      "path"_a);

  nb::class_<TypeInfo>(m, "NodeType")
      .def_ro("name", &TypeInfo::name)
      .def_ro("count", &TypeInfo::count)
      .def_ro("has_times", &TypeInfo::has_times);
  BindRelation(m);

  auto topology = nb::class_<TopologyReader>(m, "Topology");
  BindPageCache(topology);
  topology.def_static("open", &TopologyReader::Open, "path"_a, nb::call_guard<GilRelease>())
      .def_prop_ro("version", &TopologyReader::version)
      .def_prop_ro("typed", &TopologyReader::typed)
      .def_prop_ro("types", &Types)
      .def_prop_ro("relations", &Relations)
      .def_prop_ro("time_unit", &TopologyReader::time_unit)
      .def_prop_ro("num_src", &TopologyReader::num_src)
      .def_prop_ro("num_dst", &TopologyReader::num_dst)
      .def_prop_ro("num_nodes", &TopologyReader::num_nodes)
      .def_prop_ro("num_edges", &TopologyReader::num_edges)
      .def_prop_ro("edge_id_bound", &TopologyReader::edge_id_bound)
      .def_prop_ro("symmetric", &TopologyReader::symmetric)
      .def_prop_ro("sorted", &TopologyReader::sorted)
      .def_prop_ro("multi_edges_dropped", &TopologyReader::multi_edges_dropped)
      .def_prop_ro("has_weights", &TopologyReader::has_weights)
      .def_prop_ro("weight_name", &TopologyReader::weight_name)
      .def_prop_ro("has_edge_ids", &TopologyReader::has_edge_ids)
      .def_prop_ro("has_times", &TopologyReader::has_times)
      .def_prop_ro("has_out", [](const TopologyReader& g) { return g.out() != nullptr; })
      .def_prop_ro("has_in", [](const TopologyReader& g) { return g.in() != nullptr; })
      .def_prop_ro("fingerprint", [](const TopologyReader& g) { return AsBytes(g.fingerprint()); })
      .def_prop_ro("file_bytes", [](const TopologyReader& g) { return g.file()->size(); })
      .def_prop_ro("sections", [](const TopologyReader& g) { return Sections(g.container()); })
      .def(
          "rows_in_memory",
          [](const TopologyReader& g, const IdArray& nodes, const std::string& direction,
             uint32_t relation) {
            return g.RowsInMemory(Direction(g, direction, relation), {nodes.data(), nodes.size()});
          },
          "nodes"_a, "direction"_a, "relation"_a = 0)
      .def(
          "degree",
          [](const TopologyReader& g, uint64_t node, const std::string& direction,
             uint32_t relation) {
            return CheckedRow(g, Direction(g, direction, relation), node).size();
          },
          "node"_a, "direction"_a, "relation"_a = 0)
      .def("neighbours", &Neighbours, "node"_a, "direction"_a, "relation"_a = 0)
      .def("weights", &Weights, "node"_a, "direction"_a, "relation"_a = 0)
      .def("edge_ids", &EdgeIds, "node"_a, "direction"_a, "relation"_a = 0)
      .def("times", &Times, "node"_a, "direction"_a, "relation"_a = 0,
           "The times of the edges themselves.")
      .def("slot_times", &SlotTimes, "node"_a, "direction"_a, "relation"_a = 0,
           "The later of each edge's time and its neighbour's.")
      .def("node_times", &NodeTimes, "type"_a = 0, "The times of a type's nodes; empty: none.");

  nb::class_<store::Quantisation>(m, "Quantisation")
      .def(
          "__init__",
          [](store::Quantisation* own, const std::string& delivered, std::vector<float> scales,
             std::vector<float> offsets, double largest_error, double mean_error,
             uint64_t clipped) {
            const std::optional<store::DType> dtype = store::DTypeFromName(delivered);
            if (!dtype) throw std::invalid_argument("unknown dtype '" + delivered + "'");
            new (own) store::Quantisation{*dtype,        std::move(scales), std::move(offsets),
                                          largest_error, mean_error,        clipped};
          },
          nb::kw_only(), "delivered"_a, "scales"_a, "offsets"_a, "largest_error"_a, "mean_error"_a,
          "clipped"_a)
      .def_prop_ro("delivered",
                   [](const store::Quantisation& q) { return std::string(Name(q.delivered)); })
      .def_ro("scales", &store::Quantisation::scales)
      .def_ro("offsets", &store::Quantisation::offsets)
      .def_ro("largest_error", &store::Quantisation::largest_error)
      .def_ro("mean_error", &store::Quantisation::mean_error)
      .def_ro("clipped", &store::Quantisation::clipped);

  nb::class_<store::Shard>(m, "Shard")
      .def_ro("part", &store::Shard::part)
      .def_ro("parts", &store::Shard::parts)
      .def_ro("block_rows", &store::Shard::block_rows)
      .def_ro("total_rows", &store::Shard::total_rows)
      .def_prop_ro("whole_fingerprint", [](const store::Shard& s) { return AsBytes(s.whole); });

  auto matrix = nb::class_<MatrixReader>(m, "Matrix");
  BindPageCache(matrix);
  matrix.def_static("open", &MatrixReader::Open, "path"_a, nb::call_guard<GilRelease>())
      .def_prop_ro("version", &MatrixReader::version)
      .def_prop_ro("rows", &MatrixReader::rows)
      .def_prop_ro("cols", &MatrixReader::cols)
      .def_prop_ro("ndim", &MatrixReader::ndim)
      .def_prop_ro("row_shape",
                   [](const MatrixReader& s) {
                     return std::vector<uint64_t>(s.row_shape().begin(), s.row_shape().end());
                   })
      .def_prop_ro("row_stride", &MatrixReader::row_stride)
      .def_prop_ro("row_bytes", &MatrixReader::row_bytes)
      .def_prop_ro("stored_row_bytes", &MatrixReader::stored_row_bytes)
      .def_prop_ro("dtype", [](const MatrixReader& s) { return std::string(Name(s.dtype())); })
      .def_prop_ro("stored_dtype",
                   [](const MatrixReader& s) { return std::string(Name(s.stored_dtype())); })
      .def_prop_ro("quantisation",
                   [](const MatrixReader& s) -> std::optional<store::Quantisation> {
                     if (s.quantisation() == nullptr) return std::nullopt;
                     return *s.quantisation();
                   })
      .def_prop_ro("role", [](const MatrixReader& s) { return static_cast<uint32_t>(s.role()); })
      .def_prop_ro("has_rows_by_id", [](const MatrixReader& s) { return s.rows_by_id().present(); })
      .def_prop_ro("fingerprint", [](const MatrixReader& s) { return AsBytes(s.fingerprint()); })
      .def_prop_ro("file_bytes", [](const MatrixReader& s) { return s.file()->size(); })
      .def_prop_ro("sections", [](const MatrixReader& s) { return Sections(s.container()); })
      .def_prop_ro("shard",
                   [](const MatrixReader& s) {
                     return s.shard() ? std::optional(*s.shard()) : std::nullopt;
                   })
      .def_prop_ro("description",
                   [](const MatrixReader& s) {
                     const std::string text = s.description();
                     return nb::bytes(text.data(), text.size());
                   })
      .def("tensor", &Tensor)
      .def("read_rows", &ReadRows, "first"_a, "out"_a,
           "Fills `out` with the bytes of consecutive rows, read from the file.")
      .def("decode_rows", &DecodeRows, "codes"_a, "out"_a, nb::kw_only(), "baseline"_a,
           "Values of rows of codes, for tests of the instructions.");

  m.def(
      "write_shard",
      [](const MatrixReader& whole, const std::string& path, uint64_t part, uint64_t parts,
         uint64_t block_rows, const nb::object& report) {
        RunJob(report, [&](compile::Progress* progress) {
          progress->Start("sharding", whole.rows() * whole.row_stride());
          store::WriteShard(whole, {part, parts, block_rows}, path, [progress](uint64_t bytes) {
            progress->ThrowIfCancelled();
            progress->Add(bytes);
          });
        });
      },
      "whole"_a, "path"_a, nb::kw_only(), "part"_a, "parts"_a, "block_rows"_a,
      "report"_a.none() = nb::none());

  nb::class_<ReadingContext>(m, "ReadingContext")
      .def("__enter__", &ReadingContext::Enter)
      .def("__exit__", &ReadingContext::Exit, "kind"_a.none(), "error"_a.none(),
           "traceback"_a.none());
  nb::class_<ForeignFile>(m, "ForeignFile")
      .def_static(
          "open",
          [](const std::string& path) { return ForeignFile{store::MappedFile::Open(path)}; },
          "path"_a)
      .def("bytes", &Bytes, "A view of all of it.")
      .def(
          "reading", [](const ForeignFile& foreign) { return ReadingContext(foreign); },
          "A block in which this thread may read views of it: what cannot be read is zero there, "
          "and the block then ends with an OSError.");

  m.def("rename_to_new", &store::RenameToNew, "source"_a, "target"_a);
  m.def("exchange_names", &store::ExchangeNames, "first"_a, "second"_a);
}

}  // namespace graphzero::bindings
