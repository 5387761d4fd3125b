// .gl files, of version 1 and of GraphZero 0.2: opened, verified, sampled and walked in every way.
#include <algorithm>
#include <vector>

#include "harness.h"
#include "sample/negatives/negatives.h"
#include "sample/neighbours/neighbour_sampler.h"
#include "sample/neighbours/random_fanout.h"
#include "sample/rows/disk_topology.h"
#include "sample/walks/metapath_walk.h"
#include "sample/walks/walk.h"
#include "store/topology/degree_summary.h"
#include "store/topology/topology_reader.h"
#include "store/verify/verify.h"

namespace graphzero::fuzz {
namespace {

using sample::NeighbourSample;
using sample::SampleRequest;
using store::TopologyReader;

constexpr int64_t kNodes = 4;  // of each type that are looked at
constexpr uint64_t kMaxEdges = 20'000;

std::vector<int64_t> FirstNodes(uint64_t count) {
  std::vector<int64_t> ids(std::min<uint64_t>(count, kNodes));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  return ids;
}

void ReadRows(const TopologyReader& graph) {
  for (const store::Relation& relation : graph.relations()) {
    for (const store::Adjacency* adjacency : {relation.out, relation.in}) {
      if (adjacency == nullptr) continue;
      for (uint64_t node = 0; node <= std::min<uint64_t>(adjacency->rows, kNodes); ++node) {
        Tolerate([&] { graph.CheckNeighbours(*adjacency, graph.Row(*adjacency, node)); });
      }
    }
  }
}

// A sample that was drawn is one of the graph: ids of nodes that exist, local ids that are numbers
// of these, hops that add up.
void CheckSample(const TopologyReader& graph, const SampleRequest& request,
                 const NeighbourSample& drawn) {
  for (size_t type = 0; type < drawn.num_types(); ++type) {
    std::vector<int64_t> ids(drawn.num_nodes(type)), trees(drawn.num_nodes(type));
    drawn.CopyNodes(type, {ids.data(), drawn.disjoint() ? trees.data() : nullptr}, 1);
    for (const int64_t id : ids) {
      Require(static_cast<uint64_t>(id) < graph.types()[type].count, "a sampled node exists");
    }
    uint64_t sum = 0;
    for (const uint64_t count : drawn.num_sampled_nodes(type)) sum += count;
    Require(sum == ids.size(), "the nodes of all hops are the nodes");
  }
  for (size_t r = 0; r < drawn.num_relations(); ++r) {
    const uint64_t count = drawn.num_edges(r);
    std::vector<int64_t> sources(count), targets(count), edge_ids(count);
    std::vector<float> weights(count), scales(count);
    drawn.CopyEdges(
        r,
        {sources.data(), targets.data(), drawn.has_edge_ids(r) ? edge_ids.data() : nullptr,
         drawn.has_weights(r) ? weights.data() : nullptr,
         drawn.has_scales() ? scales.data() : nullptr},
        1);
    const bool in = request.expand == sample::Expand::kTargets;
    const auto& expanded = in ? targets : sources;
    const auto& found = in ? sources : targets;
    const uint64_t num_expanded = drawn.num_nodes(request.relations[r].expanded_type);
    const uint64_t num_found = drawn.num_nodes(request.relations[r].found_type);
    for (size_t i = 0; i < count; ++i) {
      Require(static_cast<uint64_t>(expanded[i]) < num_expanded, "an edge has its target");
      Require(static_cast<uint64_t>(found[i]) < num_found, "an edge has its source");
    }
  }
}

// What one sample is to be like.
struct Variant {
  sample::Expand expand = sample::Expand::kTargets;
  bool replace = false;
  bool weighted = false;
  bool disjoint = false;
  bool labor = false;
  sample::Subgraph subgraph = sample::Subgraph::kDrawn;
  enum { kUntimed, kOwnTimes, kGivenTimes, kLast } times = kUntimed;
  bool from_disk = false;
};

constexpr Variant kVariants[] = {
    {},
    {.expand = sample::Expand::kSources, .from_disk = true},
    {.replace = true, .weighted = true},
    {.weighted = true},
    {.disjoint = true, .subgraph = sample::Subgraph::kBidirectional},
    {.subgraph = sample::Subgraph::kInduced},
    {.labor = true},
    {.weighted = true, .labor = true, .from_disk = true},
    {.times = Variant::kOwnTimes},
    {.subgraph = sample::Subgraph::kInduced, .times = Variant::kGivenTimes, .from_disk = true},
    {.times = Variant::kLast},
};

void Sample(const TopologyReader& graph, const Variant& variant) {
  SampleRequest request = SampleRequest::Of(graph, variant.expand);
  std::vector<std::vector<int64_t>> seeds;
  for (const store::NodeType& type : graph.types()) seeds.push_back(FirstNodes(type.count));
  for (size_t i = 0; i < seeds.size(); ++i) request.types[i].seeds = seeds[i];
  for (sample::RelationRequest& relation : request.relations) {
    relation.fanout = relation.adjacency ? std::vector<int64_t>{2, -1} : std::vector<int64_t>{0, 0};
  }
  request.replace = variant.replace;
  request.weighted = variant.weighted;
  request.disjoint = variant.disjoint || variant.times != Variant::kUntimed;
  request.subgraph = variant.subgraph;
  if (variant.labor) request.labor.emplace();
  const std::vector<int64_t> given(request.NumSeeds(), 7);
  if (variant.times != Variant::kUntimed) {
    request.temporal.emplace();
    if (variant.times != Variant::kOwnTimes) request.temporal->times = given;
    request.temporal->last = variant.times == Variant::kLast;
  }
  request.max_edges = kMaxEdges;
  request.threads = 1;
  if (variant.from_disk) request.disk = sample::DiskTopology::Open(graph);
  CheckSample(graph, request, sample::SampleNeighbours(graph, request));
}

void Walk(const TopologyReader& graph) {
  constexpr uint64_t kLength = 5;
  const std::vector<int64_t> starts = FirstNodes(graph.num_nodes());
  std::vector<int64_t> nodes(starts.size() * (kLength + 1)), lengths(starts.size());
  for (const bool weighted : {false, true}) {
    for (const double q : {1.0, 0.5}) {
      Tolerate([&] {
        sample::RandomWalk(graph,
                           {.adjacency = graph.out(),
                            .starts = starts,
                            .length = kLength,
                            .q = q,
                            .weighted = weighted,
                            .threads = 1},
                           {nodes.data(), lengths.data()});
      });
    }
  }
  Tolerate([&] {
    sample::RandomFanout(graph,
                         {.adjacency = graph.out(), .nodes = starts, .count = 3, .threads = 1},
                         nodes.data(), lengths.data());
  });
}

void WalkAlongRelations(const TopologyReader& graph) {
  constexpr uint64_t kLength = 3;
  for (size_t r = 0; r < std::min<size_t>(graph.relations().size(), 8); ++r) {
    const std::vector<int64_t> starts =
        FirstNodes(graph.types()[graph.relations()[r].source].count);
    std::vector<int64_t> nodes(starts.size() * (kLength + 1)), lengths(starts.size());
    Tolerate([&] {
      sample::MetapathWalk(graph,
                           {.relations = {r}, .starts = starts, .length = kLength, .threads = 1},
                           {nodes.data(), lengths.data()});
    });
  }
}

void DrawNegatives(const TopologyReader& graph) {
  std::vector<int64_t> sources(8), targets(8);
  const std::vector<int64_t> times(8, 7);
  for (size_t r = 0; r < std::min<size_t>(graph.relations().size(), 8); ++r) {
    for (const bool timed : {false, true}) {
      Tolerate([&] {
        auto request = sample::NegativeRequest::Of(graph, r, false);
        request.reject = true;
        request.threads = 1;
        if (timed) request.times = times;
        sample::DrawNegatives(graph, request, sources, targets);
        for (size_t i = 0; i < sources.size(); ++i) {
          Require(static_cast<uint64_t>(sources[i]) < request.source_type->count &&
                      static_cast<uint64_t>(targets[i]) < request.target_type->count,
                  "the ends of a negative exist");
        }
      });
    }
  }
}

void Exercise(const std::string& path) {
  const auto graph = TopologyReader::Open(path);
  ReadRows(graph);
  for (const Variant& variant : kVariants) Tolerate([&] { Sample(graph, variant); });
  if (graph.out() != nullptr) Walk(graph);
  WalkAlongRelations(graph);
  DrawNegatives(graph);
  Tolerate([&] { store::Verify(graph, {.threads = 1, .advance = [](uint64_t) {}}); });
}

}  // namespace
}  // namespace graphzero::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static graphzero::fuzz::MemoryFile file;
  file.Fill({data, size});
  graphzero::fuzz::Tolerate([] { graphzero::fuzz::Exercise(file.path()); });
  return 0;
}
