// Draws from a graph in every way and writes what came, byte for byte: `draw GRAPH.gl OUTPUT`.
// test_aarch64.py draws the same with the installed package and compares.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "sample/negatives/negatives.h"
#include "sample/neighbours/neighbour_sampler.h"
#include "sample/permutation.h"
#include "sample/walks/metapath_walk.h"
#include "sample/walks/walk.h"
#include "store/topology/topology_reader.h"

namespace graphzero {
namespace {

using sample::NeighbourSample;
using sample::SampleRequest;
using store::TopologyReader;

constexpr uint64_t kSeeds = 64;  // of each type
constexpr uint64_t kLength = 8;  // of walks
constexpr uint64_t kOrder = 100'000;
constexpr int64_t kTime = 1'650'000'000;  // of all seeds, where they have times

std::ofstream output;

template <class T>
void Write(const std::vector<T>& values) {
  output.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
}

std::vector<int64_t> FirstNodes(uint64_t count) {
  std::vector<int64_t> ids(std::min(count, kSeeds));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  return ids;
}

void WriteSample(const NeighbourSample& drawn) {
  for (size_t type = 0; type < drawn.num_types(); ++type) {
    std::vector<int64_t> ids(drawn.num_nodes(type));
    drawn.CopyNodes(type, {.n_id = ids.data()}, 1);
    Write(ids);
  }
  for (size_t r = 0; r < drawn.num_relations(); ++r) {
    const uint64_t count = drawn.num_edges(r);
    std::vector<int64_t> sources(count), targets(count);
    std::vector<float> scales(drawn.has_scales() ? count : 0);
    drawn.CopyEdges(r,
                    {.sources = sources.data(),
                     .targets = targets.data(),
                     .edge_scale = drawn.has_scales() ? scales.data() : nullptr},
                    1);
    Write(sources);
    Write(targets);
    Write(scales);
  }
}

// What one sample is like. test_aarch64.py has the same list.
struct Case {
  bool replace = false;
  bool weighted = false;
  bool labor = false;
  bool timed = false;
  bool last = false;
  sample::Subgraph subgraph = sample::Subgraph::kDrawn;
};

void Sample(const TopologyReader& graph, const Case& wanted, uint64_t seed) {
  SampleRequest request = SampleRequest::Of(graph, sample::Expand::kTargets);
  std::vector<std::vector<int64_t>> seeds;
  for (const store::NodeType& type : graph.types()) seeds.push_back(FirstNodes(type.count));
  for (size_t i = 0; i < seeds.size(); ++i) request.types[i].seeds = seeds[i];
  for (sample::RelationRequest& relation : request.relations) relation.fanout = {7, 5};
  request.replace = wanted.replace;
  request.weighted = wanted.weighted;
  request.subgraph = wanted.subgraph;
  if (wanted.labor) request.labor = sample::LaborRequest{.run_seed = seed};
  const std::vector<int64_t> times(request.NumSeeds(), kTime);
  if (wanted.timed) {
    request.disjoint = true;
    request.temporal.emplace();
    request.temporal->times = times;
    request.temporal->last = wanted.last;
  }
  request.seed = seed;
  request.threads = 1;
  WriteSample(sample::SampleNeighbours(graph, request));
}

void Walk(const TopologyReader& graph, uint64_t seed) {
  const std::vector<int64_t> starts = FirstNodes(graph.types()[graph.relations()[0].source].count);
  std::vector<int64_t> nodes(starts.size() * (kLength + 1)), lengths(starts.size());
  const sample::WalkDestination to{nodes.data(), lengths.data()};
  if (graph.typed()) {
    // There and back: along the first relation, then along the view of it.
    const auto& relations = graph.relations();
    const auto back = std::find_if(relations.begin(), relations.end(), [](const auto& relation) {
      return relation.is_view && relation.base == 0;
    });
    sample::MetapathWalk(graph,
                         {.relations = {0, static_cast<size_t>(back - relations.begin())},
                          .starts = starts,
                          .length = kLength,
                          .seed = seed,
                          .threads = 1},
                         to);
  } else {
    sample::RandomWalk(graph,
                       {.adjacency = graph.out(),
                        .starts = starts,
                        .length = kLength,
                        .p = 0.5,
                        .q = 2,
                        .weighted = true,
                        .seed = seed,
                        .threads = 1},
                       to);
  }
  Write(nodes);
}

void Negatives(const TopologyReader& graph, uint64_t seed) {
  std::vector<int64_t> sources(kSeeds), targets(kSeeds);
  auto request = sample::NegativeRequest::Of(graph, 0, false);
  request.reject = true;
  request.seed = seed;
  request.threads = 1;
  sample::DrawNegatives(graph, request, sources, targets);
  Write(sources);
  Write(targets);
}

void Order(uint64_t seed) {
  std::vector<int64_t> positions(kOrder);
  sample::Permutation(kOrder, seed, 1).Fill(0, positions);
  Write(positions);
}

void DrawAll(const std::string& path) {
  const auto graph = TopologyReader::Open(path);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Sample(graph, {}, seed);
    Sample(graph, {.replace = true}, seed);
    Sample(graph, {.labor = true}, seed);
    Sample(graph, {.subgraph = sample::Subgraph::kInduced}, seed);
    if (graph.has_weights() && !graph.typed()) {
      Sample(graph, {.weighted = true}, seed);
      Sample(graph, {.replace = true, .weighted = true}, seed);
      Sample(graph, {.weighted = true, .labor = true}, seed);
    }
    if (graph.typed()) {
      Sample(graph, {.timed = true}, seed);
      Sample(graph, {.timed = true, .last = true}, seed);
    }
    Walk(graph, seed);
    Negatives(graph, seed);
    Order(seed);
  }
}

}  // namespace
}  // namespace graphzero

int main(int count, char** arguments) {
  if (count != 3) return 2;
  graphzero::output.open(arguments[2], std::ios::binary);
  try {
    graphzero::DrawAll(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  graphzero::output.close();
  return graphzero::output ? 0 : 1;
}
