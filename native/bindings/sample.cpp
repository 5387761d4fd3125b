#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "base/bytes.h"
#include "base/threads.h"
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "sample/negatives/negatives.h"
#include "sample/neighbours/link_seeds.h"
#include "sample/neighbours/neighbour_sampler.h"
#include "sample/neighbours/random_fanout.h"
#include "sample/neighbours/workspace.h"
#include "sample/permutation.h"
#include "sample/random.h"
#include "sample/rows/disk_topology.h"
#include "sample/rows/row_starts_reading.h"
#include "sample/walks/metapath_walk.h"
#include "sample/walks/walk.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using sample::NeighbourSample;
using store::TopologyReader;

template <class T, size_t Dimensions = 1>
using Output = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

std::span<const int64_t> View(const IdArray& ids) { return {ids.data(), ids.size()}; }

std::span<const int64_t> View(const std::optional<IdArray>& ids) {
  return ids ? View(*ids) : std::span<const int64_t>();
}

// The adjacency with that name. The caller has checked that the file stores it.
const store::Adjacency* Stored(const TopologyReader& graph, const std::string& adjacency) {
  const store::Adjacency* found = adjacency == "in" ? graph.in() : graph.out();
  if (found == nullptr) {
    throw std::invalid_argument(graph.file()->path() + " stores no " + adjacency + "-edges");
  }
  return found;
}

void CheckSize(const char* name, size_t found, uint64_t expected) {
  if (found == expected) return;
  throw std::invalid_argument(std::string(name) + " has " + std::to_string(found) +
                              " items, expected " + std::to_string(expected));
}

NeighbourSample SampleNeighbours(
    const TopologyReader& graph, const IdArray& seeds, const std::vector<int64_t>& fanout,
    const std::string& adjacency, bool expand_targets, bool replace, bool weighted, uint64_t seed,
    uint64_t max_edges, int threads, bool disjoint, sample::Subgraph subgraph,
    const std::optional<IdArray>& exclude_sources, const std::optional<IdArray>& exclude_targets,
    const std::optional<sample::LaborRequest>& labor, std::shared_ptr<sample::DiskTopology> disk,
    std::optional<sample::SetKind> forced_set) {
  auto request = sample::SampleRequest::Of(
      graph, expand_targets ? sample::Expand::kTargets : sample::Expand::kSources);
  sample::RelationRequest& relation = request.relations.front();
  relation.adjacency = Stored(graph, adjacency);
  relation.fanout = fanout;
  relation.exclude_sources = View(exclude_sources);
  relation.exclude_targets = View(exclude_targets);
  request.types.front().seeds = View(seeds);
  request.replace = replace;
  request.weighted = weighted;
  request.disjoint = disjoint;
  request.labor = labor;
  request.subgraph = subgraph;
  request.seed = seed;
  request.max_edges = max_edges;
  request.threads = threads;
  request.disk = std::move(disk);
  request.forced_set = forced_set;
  GilRelease release;
  return sample::SampleNeighbours(graph, request);
}

using TypedSeeds = std::vector<std::pair<size_t, IdArray>>;
// Relation, sources, targets.
using ExcludedPairs = std::vector<std::tuple<size_t, IdArray, IdArray>>;
// Relation, sources, targets, trees, edge ids.
using ExcludedInTrees =
    std::vector<std::tuple<size_t, IdArray, IdArray, IdArray, std::optional<IdArray>>>;

template <class T>
T& Numbered(std::vector<T>& all, size_t number, const char* what) {
  if (number < all.size()) return all[number];
  throw std::invalid_argument(std::string(what) + " " + std::to_string(number) +
                              " is not one of the graph, which has " + std::to_string(all.size()));
}

NeighbourSample SampleTyped(const TopologyReader& graph, const TypedSeeds& seeds,
                            std::vector<std::vector<int64_t>> fanout, bool expand_targets,
                            bool symmetric, bool replace, bool weighted, uint64_t seed,
                            uint64_t max_edges, int threads, bool disjoint,
                            sample::Subgraph subgraph, const ExcludedPairs& exclude,
                            const std::optional<IdArray>& times, bool own_times, bool last,
                            bool strict, uint64_t window, const ExcludedInTrees& exclude_in_trees,
                            bool spare_history, const std::optional<sample::LaborRequest>& labor,
                            std::shared_ptr<sample::DiskTopology> disk) {
  auto request = sample::SampleRequest::Of(
      graph, expand_targets ? sample::Expand::kTargets : sample::Expand::kSources);
  if (symmetric) request.AssumeSymmetric(graph);
  size_t next_type = 0;
  for (const auto& [type, ids] : seeds) {
    Numbered(request.types, type, "type").seeds = View(ids);
    if (type < next_type) throw std::invalid_argument("seeds by type: expected rising numbers");
    next_type = type + 1;
  }
  CheckSize("fanout", fanout.size(), request.relations.size());
  for (size_t r = 0; r < fanout.size(); ++r) request.relations[r].fanout = std::move(fanout[r]);
  for (const auto& [relation, sources, targets] : exclude) {
    auto& to = Numbered(request.relations, relation, "relation");
    to.exclude_sources = View(sources);
    to.exclude_targets = View(targets);
  }
  for (const auto& [relation, sources, targets, trees, edge_ids] : exclude_in_trees) {
    Numbered(request.relations, relation, "relation").exclude_in_trees = {
        View(sources), View(targets), View(trees), View(edge_ids)};
  }
  if (times || own_times) {
    if (times && !own_times) CheckSize("times", times->size(), request.NumSeeds());
    request.temporal = {View(times), {strict, window}, last};
  }
  request.replace = replace;
  request.weighted = weighted;
  request.disjoint = disjoint || request.temporal;
  request.spare_history = spare_history;
  request.labor = labor;
  request.subgraph = subgraph;
  request.seed = seed;
  request.max_edges = max_edges;
  request.threads = threads;
  request.disk = std::move(disk);
  GilRelease release;
  return sample::SampleNeighbours(graph, request);
}

std::shared_ptr<sample::DiskTopology> OpenDisk(const TopologyReader& graph) {
  // nanobind holds no pointers to const; nothing here changes the object.
  return std::const_pointer_cast<sample::DiskTopology>(sample::DiskTopology::Open(graph));
}

// Writes the degrees of consecutive rows, if the starts of the rows are in memory; false if not.
bool KnownDegrees(const sample::DiskTopology& disk, const TopologyReader& graph, uint32_t relation,
                  const std::string& adjacency, uint64_t begin, const Output<int64_t>& degrees) {
  const store::Relation& found = graph.relations().at(relation);
  const store::Adjacency* const rows = adjacency == "in" ? found.in : found.out;
  const sample::RowStarts* const starts = rows == nullptr ? nullptr : disk.Starts(*rows);
  if (starts == nullptr) return false;
  if (!base::Fits(begin, degrees.size(), 1, rows->rows)) {
    throw std::out_of_range("rows from " + std::to_string(begin) + " on: expected fewer than " +
                            std::to_string(rows->rows));
  }
  GilRelease release;
  starts->Degrees(begin, {degrees.data(), degrees.size()});
  return true;
}

// The counters at one moment.
struct ReadStats {
  uint64_t calls;
  uint64_t items;
  uint64_t reads;
  uint64_t read_bytes;
  uint64_t read_nanoseconds;
  std::array<uint64_t, io::kLatencyBuckets> latency;
  uint64_t row_starts_bytes;
};

ReadStats Stats(const sample::DiskTopology& disk) {
  const sample::DiskCounters& counters = disk.counters();
  ReadStats stats{counters.calls,
                  counters.items,
                  counters.io.reads,
                  counters.io.read_bytes,
                  counters.io.read_nanoseconds,
                  {},
                  disk.starts_bytes()};
  std::copy(counters.io.latency.begin(), counters.io.latency.end(), stats.latency.begin());
  return stats;
}

// Node ids are below 2^63, so they read the same with a sign.
nb::ndarray<nb::numpy, const int64_t, nb::ndim<1>> NodesOf(const NeighbourSample& drawn,
                                                           size_t type) {
  return {reinterpret_cast<const int64_t*>(drawn.nodes(type).data()), {drawn.num_nodes(type)}};
}

nb::ndarray<nb::numpy, const int64_t, nb::ndim<1>> SeedTimesOf(const NeighbourSample& drawn) {
  return {drawn.seed_times().data(), {drawn.seed_times().size()}};
}

void CopyNodes(const NeighbourSample& drawn, size_t type,
               const std::optional<Output<int64_t>>& n_id,
               const std::optional<Output<int64_t>>& batch, int threads) {
  const uint64_t nodes = drawn.num_nodes(type);
  if (n_id) CheckSize("n_id", n_id->size(), nodes);
  if (batch) CheckSize("batch", batch->size(), nodes);
  const sample::NodeDestination to{.n_id = n_id ? n_id->data() : nullptr,
                                   .batch = batch ? batch->data() : nullptr};
  GilRelease release;
  drawn.CopyNodes(type, to, threads);
}

void CopyEdges(const NeighbourSample& drawn, size_t relation,
               const std::optional<Output<int64_t, 2>>& edge_index,
               const std::optional<Output<int64_t>>& e_id,
               const std::optional<Output<float>>& edge_weight,
               const std::optional<Output<float>>& edge_scale, int threads) {
  const uint64_t edges = drawn.num_edges(relation);
  if (edge_index) CheckSize("edge_index", edge_index->size(), 2 * edges);
  if (e_id) CheckSize("e_id", e_id->size(), edges);
  if (edge_weight) CheckSize("edge_weight", edge_weight->size(), edges);
  if (edge_scale) CheckSize("edge_scale", edge_scale->size(), edges);
  const sample::EdgeDestination to{.sources = edge_index ? edge_index->data() : nullptr,
                                   .targets = edge_index ? edge_index->data() + edges : nullptr,
                                   .e_id = e_id ? e_id->data() : nullptr,
                                   .edge_weight = edge_weight ? edge_weight->data() : nullptr,
                                   .edge_scale = edge_scale ? edge_scale->data() : nullptr};
  GilRelease release;
  drawn.CopyEdges(relation, to, threads);
}

void CopyTo(const NeighbourSample& drawn, const Output<int64_t>& n_id,
            const Output<int64_t, 2>& edge_index, const std::optional<Output<int64_t>>& e_id,
            const std::optional<Output<float>>& edge_weight,
            const std::optional<Output<int64_t>>& batch,
            const std::optional<Output<float>>& edge_scale, int threads) {
  CheckSize("n_id", n_id.size(), drawn.num_nodes());
  CheckSize("edge_index", edge_index.size(), 2 * drawn.num_edges());
  if (e_id) CheckSize("e_id", e_id->size(), drawn.num_edges());
  if (edge_weight) CheckSize("edge_weight", edge_weight->size(), drawn.num_edges());
  if (batch) CheckSize("batch", batch->size(), drawn.num_nodes());
  if (edge_scale) CheckSize("edge_scale", edge_scale->size(), drawn.num_edges());
  GilRelease release;
  drawn.CopyNodes(0, {.n_id = n_id.data(), .batch = batch ? batch->data() : nullptr}, threads);
  drawn.CopyEdges(0,
                  {.sources = edge_index.data(),
                   .targets = edge_index.data() + drawn.num_edges(),
                   .e_id = e_id ? e_id->data() : nullptr,
                   .edge_weight = edge_weight ? edge_weight->data() : nullptr,
                   .edge_scale = edge_scale ? edge_scale->data() : nullptr},
                  threads);
}

void RandomWalk(const TopologyReader& graph, const IdArray& starts, const std::string& adjacency,
                double p, double q, double restart, bool weighted, uint64_t seed, int threads,
                const Output<int64_t, 2>& nodes, const Output<int64_t>& lengths,
                const sample::DiskTopology* disk) {
  if (nodes.shape(0) != starts.size() || nodes.shape(1) == 0) {
    throw std::invalid_argument("nodes needs a row for each start and a column for the start");
  }
  CheckSize("lengths", lengths.size(), starts.size());
  const sample::WalkRequest request{.adjacency = Stored(graph, adjacency),
                                    .starts = View(starts),
                                    .length = nodes.shape(1) - 1,
                                    .p = p,
                                    .q = q,
                                    .restart = restart,
                                    .weighted = weighted,
                                    .seed = seed,
                                    .threads = threads,
                                    .disk = disk};
  GilRelease release;
  sample::RandomWalk(graph, request, {nodes.data(), lengths.data()});
}

void MetapathWalk(const TopologyReader& graph, const IdArray& starts, std::vector<size_t> metapath,
                  bool weighted, uint64_t seed, int threads, const Output<int64_t, 2>& nodes,
                  const Output<int64_t>& lengths, const sample::DiskTopology* disk) {
  if (nodes.shape(0) != starts.size() || nodes.shape(1) == 0) {
    throw std::invalid_argument("nodes needs a row for each start and a column for the start");
  }
  CheckSize("lengths", lengths.size(), starts.size());
  const sample::MetapathRequest request{.relations = std::move(metapath),
                                        .starts = View(starts),
                                        .length = nodes.shape(1) - 1,
                                        .weighted = weighted,
                                        .seed = seed,
                                        .threads = threads,
                                        .disk = disk};
  GilRelease release;
  sample::MetapathWalk(graph, request, {nodes.data(), lengths.data()});
}

void RandomFanout(const TopologyReader& graph, const IdArray& nodes, const std::string& adjacency,
                  uint64_t seed, int threads, const Output<int64_t, 2>& neighbours,
                  const Output<int64_t>& counts, const sample::DiskTopology* disk) {
  CheckSize("rows of neighbours", neighbours.shape(0), nodes.size());
  CheckSize("counts", counts.size(), nodes.size());
  const sample::FanoutRequest request{.adjacency = Stored(graph, adjacency),
                                      .nodes = View(nodes),
                                      .count = neighbours.shape(1),
                                      .seed = seed,
                                      .threads = threads,
                                      .disk = disk};
  GilRelease release;
  sample::RandomFanout(graph, request, neighbours.data(), counts.data());
}

void DrawNegatives(const TopologyReader& graph, size_t relation, bool symmetric,
                   const IdArray& given_sources, sample::NegativeWeights weights, bool reject,
                   uint64_t seed, int threads, const Output<int64_t>& sources,
                   const Output<int64_t>& targets, const std::optional<IdArray>& target_candidates,
                   const std::optional<IdArray>& source_candidates,
                   const std::optional<IdArray>& times, uint64_t links,
                   const sample::DiskTopology* disk) {
  if (relation >= graph.relations().size()) {
    throw std::invalid_argument("relation " + std::to_string(relation) + " is not one of the " +
                                std::to_string(graph.relations().size()) + " of the graph");
  }
  CheckSize("sources", sources.size(), targets.size());
  if (given_sources.size() > 0) CheckSize("given_sources", given_sources.size(), targets.size());
  auto request = sample::NegativeRequest::Of(graph, relation, symmetric);
  request.sources = View(given_sources);
  request.target_candidates = View(target_candidates);
  request.source_candidates = View(source_candidates);
  request.times = View(times);
  request.links = links;
  request.weights = weights;
  request.reject = reject;
  request.seed = seed;
  request.threads = threads;
  request.disk = disk;
  GilRelease release;
  sample::DrawNegatives(graph, request, {sources.data(), sources.size()},
                        {targets.data(), targets.size()});
}

nb::ndarray<nb::numpy, int64_t, nb::ndim<1>> NumberEnds(const IdArray& ends,
                                                        const Output<int64_t>& index) {
  auto numbered = std::make_shared<sample::NumberedEnds>();
  {
    const GilRelease release;
    *numbered = sample::NumberEnds(View(ends), {index.data(), index.size()});
  }
  int64_t* const seeds = numbered->seeds.data();
  const size_t count = numbered->count;
  return {seeds, {count}, KeepAlive(std::move(numbered))};
}

nb::ndarray<nb::numpy, int64_t> PermuteRange(uint64_t n, uint64_t seed, uint64_t epoch,
                                             uint64_t first, uint64_t count) {
  if (!base::Fits(first, count, 1, n)) {
    throw std::out_of_range("positions " + std::to_string(first) + " and " + std::to_string(count) +
                            " more are outside an order of " + std::to_string(n));
  }
  std::vector<int64_t> items(count);
  if (count > 0) {
    GilRelease release;
    sample::Permutation(n, seed, epoch).Fill(first, items);
  }
  return TakeVector(std::move(items));
}

void DrawBelow(uint64_t seed, uint64_t bound, const Output<uint64_t>& out) {
  if (bound == 0) throw std::invalid_argument("bound is 0, expected at least 1");
  GilRelease release;
  sample::Draws draws = sample::RequestDraws(seed, sample::Domain::kShuffles);
  for (size_t i = 0; i < out.size(); ++i) out.data()[i] = draws.Below(bound);
}

}  // namespace

void BindSample(nb::module_& m) {
  m.attr("SAMPLER_VERSION") = sample::kSamplerVersion;
  m.attr("DEFAULT_MAX_EDGES") = sample::kDefaultMaxEdges;

  nb::enum_<sample::SetKind>(m, "SetKind")
      .value("SCAN", sample::SetKind::kScan)
      .value("BITMAP", sample::SetKind::kBitmap)
      .value("HASH", sample::SetKind::kHash);

  nb::enum_<sample::Subgraph>(m, "Subgraph")
      .value("DRAWN", sample::Subgraph::kDrawn)
      .value("BIDIRECTIONAL", sample::Subgraph::kBidirectional)
      .value("INDUCED", sample::Subgraph::kInduced);
  nb::class_<sample::LaborRequest>(m, "LaborRequest")
      .def(
          "__init__",
          [](sample::LaborRequest* self, uint64_t run_seed, uint64_t batch, uint32_t dependency,
             bool one_for_all_hops) {
            new (self) sample::LaborRequest{run_seed, batch, dependency, one_for_all_hops};
          },
          nb::kw_only(), "run_seed"_a, "batch"_a = 0, "dependency"_a = 1,
          "one_for_all_hops"_a = false);
  nb::enum_<sample::NegativeWeights>(m, "NegativeWeights")
      .value("UNIFORM", sample::NegativeWeights::kUniform)
      .value("DEGREE", sample::NegativeWeights::kDegree);

  nb::class_<NeighbourSample>(m, "NeighbourSample")
      .def_prop_ro("batch_size", [](const NeighbourSample& s) { return s.batch_size(); })
      .def_prop_ro("num_nodes", [](const NeighbourSample& s) { return s.num_nodes(); })
      .def_prop_ro("num_edges", [](const NeighbourSample& s) { return s.num_edges(); })
      .def_prop_ro("has_edge_ids", [](const NeighbourSample& s) { return s.has_edge_ids(); })
      .def_prop_ro("has_weights", [](const NeighbourSample& s) { return s.has_weights(); })
      .def_prop_ro("disjoint", &NeighbourSample::disjoint)
      .def_prop_ro("num_sampled_nodes",
                   [](const NeighbourSample& s) { return s.num_sampled_nodes(); })
      .def_prop_ro("num_sampled_edges",
                   [](const NeighbourSample& s) { return s.num_sampled_edges(); })
      .def_prop_ro(
          "nodes", [](const NeighbourSample& s) { return NodesOf(s, 0); },
          nb::rv_policy::reference_internal)
      .def_prop_ro("temporal", &NeighbourSample::temporal)
      .def_prop_ro("has_scales", &NeighbourSample::has_scales)
      .def_prop_ro("num_types", &NeighbourSample::num_types)
      .def_prop_ro("num_relations", &NeighbourSample::num_relations)
      .def_prop_ro("seed_times", &SeedTimesOf, nb::rv_policy::reference_internal)
      .def("batch_size_of", &NeighbourSample::batch_size, "type"_a)
      .def("num_nodes_of", &NeighbourSample::num_nodes, "type"_a)
      .def("nodes_of", &NodesOf, "type"_a, nb::rv_policy::reference_internal)
      .def("num_sampled_nodes_of", &NeighbourSample::num_sampled_nodes, "type"_a)
      .def("num_edges_of", &NeighbourSample::num_edges, "relation"_a)
      .def("has_edge_ids_of", &NeighbourSample::has_edge_ids, "relation"_a)
      .def("has_weights_of", &NeighbourSample::has_weights, "relation"_a)
      .def("num_sampled_edges_of", &NeighbourSample::num_sampled_edges, "relation"_a)
      .def("copy_nodes", &CopyNodes, "type"_a, nb::kw_only(), "n_id"_a = nb::none(),
           "batch"_a = nb::none(), "threads"_a = 0)
      .def("copy_edges", &CopyEdges, "relation"_a, nb::kw_only(), "edge_index"_a = nb::none(),
           "e_id"_a = nb::none(), "edge_weight"_a = nb::none(), "edge_scale"_a = nb::none(),
           "threads"_a = 0)
      .def("copy_to", &CopyTo, nb::kw_only(), "n_id"_a, "edge_index"_a, "e_id"_a = nb::none(),
           "edge_weight"_a = nb::none(), "batch"_a = nb::none(), "edge_scale"_a = nb::none(),
           "threads"_a = 0);

  nb::class_<ReadStats>(m, "ReadStats")
      .def_ro("calls", &ReadStats::calls)
      .def_ro("items", &ReadStats::items)
      .def_ro("reads", &ReadStats::reads)
      .def_ro("read_bytes", &ReadStats::read_bytes)
      .def_ro("read_nanoseconds", &ReadStats::read_nanoseconds)
      .def_ro("latency", &ReadStats::latency)
      .def_ro("row_starts_bytes", &ReadStats::row_starts_bytes);
  nb::class_<sample::DiskTopology>(m, "DiskTopology")
      .def_static("open", &OpenDisk, "graph"_a)
      .def("stats", &Stats)
      .def("measure_disk", &sample::DiskTopology::MeasureDisk, nb::call_guard<GilRelease>())
      .def_prop_rw("merge_gap", &sample::DiskTopology::merge_gap,
                   &sample::DiskTopology::SetMergeGap)
      .def("known_degrees", &KnownDegrees, "graph"_a, "relation"_a, "adjacency"_a, "begin"_a,
           "degrees"_a);
  nb::class_<sample::RowStartsReading>(m, "RowStartsReading")
      .def(nb::init<TopologyReader, std::shared_ptr<sample::DiskTopology>>(), "graph"_a, "disk"_a)
      .def("step", &sample::RowStartsReading::Step, nb::call_guard<GilRelease>())
      .def_prop_ro("damage", &sample::RowStartsReading::damage);
  m.def("most_row_starts_bytes", &sample::MostRowStartsBytes, "graph"_a);

  m.def("sample_neighbours", &SampleNeighbours, "graph"_a, "seeds"_a, "fanout"_a, nb::kw_only(),
        "adjacency"_a, "expand_targets"_a, "replace"_a, "weighted"_a, "seed"_a, "max_edges"_a,
        "threads"_a, "disjoint"_a = false, "subgraph"_a = sample::Subgraph::kDrawn,
        "exclude_sources"_a = nb::none(), "exclude_targets"_a = nb::none(), "labor"_a = nb::none(),
        "disk"_a = nb::none(), "forced_set"_a = nb::none());
  m.def("sample_typed", &SampleTyped, "graph"_a, "seeds"_a, "fanout"_a, nb::kw_only(),
        "expand_targets"_a, "symmetric"_a = false, "replace"_a, "weighted"_a, "seed"_a,
        "max_edges"_a, "threads"_a, "disjoint"_a = false, "subgraph"_a = sample::Subgraph::kDrawn,
        "exclude"_a = ExcludedPairs(), "times"_a = nb::none(), "own_times"_a = false,
        "last"_a = false, "strict"_a = false, "window"_a = 0,
        "exclude_in_trees"_a = ExcludedInTrees(), "spare_history"_a = false, "labor"_a = nb::none(),
        "disk"_a = nb::none());
  m.def("draw_negatives", &DrawNegatives, "graph"_a, nb::kw_only(), "relation"_a = 0,
        "symmetric"_a = false, "given_sources"_a, "weights"_a, "reject"_a, "seed"_a, "threads"_a,
        "sources"_a, "targets"_a, "target_candidates"_a = nb::none(),
        "source_candidates"_a = nb::none(), "times"_a = nb::none(), "links"_a = 0,
        "disk"_a = nb::none());
  m.def("number_ends", &NumberEnds, "ends"_a, "index"_a);
  m.def("random_walk", &RandomWalk, "graph"_a, "starts"_a, nb::kw_only(), "adjacency"_a, "p"_a,
        "q"_a, "restart"_a, "weighted"_a, "seed"_a, "threads"_a, "nodes"_a, "lengths"_a,
        "disk"_a = nb::none());
  m.def("metapath_walk", &MetapathWalk, "graph"_a, "starts"_a, "metapath"_a, nb::kw_only(),
        "weighted"_a, "seed"_a, "threads"_a, "nodes"_a, "lengths"_a, "disk"_a = nb::none());
  m.def("random_fanout", &RandomFanout, "graph"_a, "nodes"_a, nb::kw_only(), "adjacency"_a,
        "seed"_a, "threads"_a, "neighbours"_a, "counts"_a, "disk"_a = nb::none());
  m.def("permute_range", &PermuteRange, "n"_a, nb::kw_only(), "seed"_a, "epoch"_a, "first"_a,
        "count"_a);
  m.def("batch_seed", &sample::BatchSeed, "loader_seed"_a, "epoch"_a, "batch"_a);
  m.def("draw_below", &DrawBelow, "seed"_a, "bound"_a, "out"_a);

  nb::class_<base::ThreadUsage>(m, "ThreadUsage")
      .def_ro("limit", &base::ThreadUsage::limit)
      .def_ro("peak", &base::ThreadUsage::peak);
  m.def("set_thread_limit", &base::SetThreadLimit, "limit"_a);
  m.def("thread_usage", &base::GetThreadUsage);
  nb::class_<sample::WorkspaceUsage>(m, "WorkspaceUsage")
      .def_ro("kept", &sample::WorkspaceUsage::kept)
      .def_ro("bytes", &sample::WorkspaceUsage::bytes);
  m.def("set_workspace_limit", &sample::SetWorkspaceLimit, "byte_size"_a);
  m.def("workspace_usage", &sample::GetWorkspaceUsage);
  m.def("has_idle_thread", &base::HasIdleThread);
  m.def("never_wait_on_this_thread", &base::NeverWaitOnThisThread);
}

}  // namespace graphzero::bindings
