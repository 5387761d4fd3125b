#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/bytes.h"
#include "base/threads.h"
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "sample/disk_topology.h"
#include "sample/link_seeds.h"
#include "sample/negatives.h"
#include "sample/neighbour_sampler.h"
#include "sample/permutation.h"
#include "sample/random.h"
#include "sample/random_fanout.h"
#include "sample/walk.h"
#include "sample/workspace.h"

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

// The caller has looked up that the file stores it.
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
    std::shared_ptr<sample::DiskTopology> disk, std::optional<sample::SetKind> forced_set) {
  const sample::SampleRequest request{
      .adjacency = Stored(graph, adjacency),
      .expand = expand_targets ? sample::Expand::kTargets : sample::Expand::kSources,
      .seeds = View(seeds),
      .fanout = fanout,
      .replace = replace,
      .weighted = weighted,
      .disjoint = disjoint,
      .subgraph = subgraph,
      .exclude_sources = View(exclude_sources),
      .exclude_targets = View(exclude_targets),
      .seed = seed,
      .max_edges = max_edges,
      .threads = threads,
      .disk = std::move(disk),
      .forced_set = forced_set};
  GilRelease release;
  return sample::SampleNeighbours(graph, request);
}

std::shared_ptr<sample::DiskTopology> OpenDisk(const TopologyReader& graph) {
  // nanobind keeps no pointers to const; nothing here changes it.
  return std::const_pointer_cast<sample::DiskTopology>(sample::DiskTopology::Open(graph));
}

// The counters at one moment.
struct ReadStats {
  uint64_t calls;
  uint64_t items;
  uint64_t reads;
  uint64_t read_bytes;
  uint64_t read_nanoseconds;
  std::array<uint64_t, io::kLatencyBuckets> latency;
};

ReadStats Stats(const sample::DiskTopology& disk) {
  const sample::DiskCounters& counters = disk.counters();
  ReadStats stats{counters.calls,
                  counters.items,
                  counters.io.reads,
                  counters.io.read_bytes,
                  counters.io.read_nanoseconds,
                  {}};
  std::copy(counters.io.latency.begin(), counters.io.latency.end(), stats.latency.begin());
  return stats;
}

// Node ids are below 2^63, so they read the same with a sign.
nb::ndarray<nb::numpy, const int64_t, nb::ndim<1>> NodesOf(const NeighbourSample& drawn) {
  return {reinterpret_cast<const int64_t*>(drawn.nodes().data()), {drawn.num_nodes()}};
}

void CopyTo(const NeighbourSample& drawn, const Output<int64_t>& n_id,
            const Output<int64_t, 2>& edge_index, const std::optional<Output<int64_t>>& e_id,
            const std::optional<Output<float>>& edge_weight,
            const std::optional<Output<int64_t>>& batch, int threads) {
  CheckSize("n_id", n_id.size(), drawn.num_nodes());
  CheckSize("edge_index", edge_index.size(), 2 * drawn.num_edges());
  if (e_id) CheckSize("e_id", e_id->size(), drawn.num_edges());
  if (edge_weight) CheckSize("edge_weight", edge_weight->size(), drawn.num_edges());
  if (batch) CheckSize("batch", batch->size(), drawn.num_nodes());
  const sample::SampleDestination destination{
      .n_id = n_id.data(),
      .sources = edge_index.data(),
      .targets = edge_index.data() + drawn.num_edges(),
      .e_id = e_id ? e_id->data() : nullptr,
      .edge_weight = edge_weight ? edge_weight->data() : nullptr,
      .batch = batch ? batch->data() : nullptr};
  GilRelease release;
  drawn.CopyTo(destination, threads);
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

void DrawNegatives(const TopologyReader& graph, const std::string& adjacency, bool rows_are_sources,
                   const IdArray& given_sources, sample::NegativeWeights weights, bool reject,
                   uint64_t seed, int threads, const Output<int64_t>& sources,
                   const Output<int64_t>& targets, const std::optional<IdArray>& target_candidates,
                   const std::optional<IdArray>& source_candidates,
                   const sample::DiskTopology* disk) {
  CheckSize("sources", sources.size(), targets.size());
  if (given_sources.size() > 0) CheckSize("given_sources", given_sources.size(), targets.size());
  const sample::NegativeRequest request{.adjacency = Stored(graph, adjacency),
                                        .rows_are_sources = rows_are_sources,
                                        .sources = View(given_sources),
                                        .target_candidates = View(target_candidates),
                                        .source_candidates = View(source_candidates),
                                        .weights = weights,
                                        .reject = reject,
                                        .seed = seed,
                                        .threads = threads,
                                        .disk = disk};
  GilRelease release;
  sample::DrawNegatives(graph, request, {sources.data(), sources.size()},
                        {targets.data(), targets.size()});
}

nb::ndarray<nb::numpy, int64_t, nb::ndim<1>> NumberEnds(const IdArray& ends,
                                                        const Output<int64_t>& index) {
  auto numbered = std::make_shared<sample::NumberedEnds>();
  {
    nb::gil_scoped_release release;
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
  nb::enum_<sample::NegativeWeights>(m, "NegativeWeights")
      .value("UNIFORM", sample::NegativeWeights::kUniform)
      .value("DEGREE", sample::NegativeWeights::kDegree);

  nb::class_<NeighbourSample>(m, "NeighbourSample")
      .def_prop_ro("batch_size", &NeighbourSample::batch_size)
      .def_prop_ro("num_nodes", &NeighbourSample::num_nodes)
      .def_prop_ro("num_edges", &NeighbourSample::num_edges)
      .def_prop_ro("has_edge_ids", &NeighbourSample::has_edge_ids)
      .def_prop_ro("has_weights", &NeighbourSample::has_weights)
      .def_prop_ro("disjoint", &NeighbourSample::disjoint)
      .def_prop_ro("num_sampled_nodes", &NeighbourSample::num_sampled_nodes)
      .def_prop_ro("num_sampled_edges", &NeighbourSample::num_sampled_edges)
      .def_prop_ro("nodes", &NodesOf, nb::rv_policy::reference_internal)
      .def("copy_to", &CopyTo, nb::kw_only(), "n_id"_a, "edge_index"_a, "e_id"_a = nb::none(),
           "edge_weight"_a = nb::none(), "batch"_a = nb::none(), "threads"_a = 0);

  nb::class_<ReadStats>(m, "ReadStats")
      .def_ro("calls", &ReadStats::calls)
      .def_ro("items", &ReadStats::items)
      .def_ro("reads", &ReadStats::reads)
      .def_ro("read_bytes", &ReadStats::read_bytes)
      .def_ro("read_nanoseconds", &ReadStats::read_nanoseconds)
      .def_ro("latency", &ReadStats::latency);
  nb::class_<sample::DiskTopology>(m, "DiskTopology")
      .def_static("open", &OpenDisk, "graph"_a)
      .def("stats", &Stats);

  m.def("sample_neighbours", &SampleNeighbours, "graph"_a, "seeds"_a, "fanout"_a, nb::kw_only(),
        "adjacency"_a, "expand_targets"_a, "replace"_a, "weighted"_a, "seed"_a, "max_edges"_a,
        "threads"_a, "disjoint"_a = false, "subgraph"_a = sample::Subgraph::kDrawn,
        "exclude_sources"_a = nb::none(), "exclude_targets"_a = nb::none(), "disk"_a = nb::none(),
        "forced_set"_a = nb::none());
  m.def("draw_negatives", &DrawNegatives, "graph"_a, nb::kw_only(), "adjacency"_a,
        "rows_are_sources"_a, "given_sources"_a, "weights"_a, "reject"_a, "seed"_a, "threads"_a,
        "sources"_a, "targets"_a, "target_candidates"_a = nb::none(),
        "source_candidates"_a = nb::none(), "disk"_a = nb::none());
  m.def("number_ends", &NumberEnds, "ends"_a, "index"_a);
  m.def("random_walk", &RandomWalk, "graph"_a, "starts"_a, nb::kw_only(), "adjacency"_a, "p"_a,
        "q"_a, "restart"_a, "weighted"_a, "seed"_a, "threads"_a, "nodes"_a, "lengths"_a,
        "disk"_a = nb::none());
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
