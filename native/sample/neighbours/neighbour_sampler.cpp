#include "sample/neighbours/neighbour_sampler.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/errors.h"
#include "base/text.h"
#include "base/threads.h"
#include "sample/neighbours/discovery.h"
#include "sample/neighbours/excluded_edges.h"
#include "sample/neighbours/hop.h"
#include "sample/neighbours/subgraph.h"
#include "sample/rows/rows.h"
#include "store/files/mapped_file.h"

namespace graphzero::sample {
namespace {

using base::Number;

// Whether any hop follows this relation.
bool IsFollowed(const RelationRequest& relation) {
  return std::any_of(relation.fanout.begin(), relation.fanout.end(),
                     [](int64_t edges) { return edges != 0; });
}

void CheckFanout(const RelationRequest& relation, size_t hops) {
  if (relation.fanout.size() != hops) {
    throw std::invalid_argument("fanout of relation " + relation.name + " has " +
                                Number(relation.fanout.size()) + " hops, expected " + Number(hops) +
                                ", as many as that of the others");
  }
  for (size_t hop = 0; hop < hops; ++hop) {
    if (relation.fanout[hop] < Fanout::kAll) {
      throw std::invalid_argument("fanout of hop " + Number(hop) +
                                  (relation.name.empty() ? "" : " of ") + relation.name + " is " +
                                  std::to_string(relation.fanout[hop]) +
                                  ", expected -1 (all), 0 (none) or a number of edges");
    }
  }
}

void CheckTreeExclusions(const Rows& rows, const SampleRequest& request,
                         const TreeExclusions& excluded) {
  const size_t count = excluded.sources.size();
  if (count == 0) return;
  const bool has_ids = !excluded.edge_ids.empty();
  if (excluded.targets.size() != count || excluded.trees.size() != count ||
      (has_ids && excluded.edge_ids.size() != count)) {
    throw std::invalid_argument(Number(count) + " sources of edges that trees exclude, " +
                                Number(excluded.targets.size()) + " targets, " +
                                Number(excluded.trees.size()) + " trees and " +
                                Number(excluded.edge_ids.size()) + " edge ids");
  }
  if (!request.disjoint) {
    throw std::invalid_argument("trees exclude edges, but the sample is not disjoint");
  }
  if (has_ids && !rows.adjacency.edge_ids.present()) {
    throw std::invalid_argument(rows.path() + " stores no edge ids" + rows.OfRelation() +
                                ", by which edges are to be left out; convert it with --edge-ids");
  }
  CheckNodeIds(excluded.trees, request.NumSeeds(), "seed whose tree excludes an edge, number",
               rows.path());
}

void CheckTemporal(const SampleRequest& request) {
  if (!request.temporal) {
    if (request.spare_history) throw std::invalid_argument("history needs times of seeds");
    return;
  }
  if (!request.disjoint) throw std::invalid_argument("a sample by time must be disjoint");
  const TemporalRequest& temporal = *request.temporal;
  if (temporal.last && (request.replace || request.weighted)) {
    throw std::invalid_argument(
        std::string("the last edges by time are taken, not drawn: expected no ") +
        (request.replace ? "replacement" : "weights") + ", or the uniform strategy");
  }
  if (!temporal.times.empty() && temporal.times.size() != request.NumSeeds()) {
    throw std::invalid_argument("times: found " + Number(temporal.times.size()) + ", expected " +
                                Number(request.NumSeeds()) + ", one for each seed");
  }
  const auto missing = std::find(temporal.times.begin(), temporal.times.end(), kNoTime);
  if (missing != temporal.times.end()) {
    throw std::invalid_argument("time of seed " +
                                Number(static_cast<uint64_t>(missing - temporal.times.begin())) +
                                " is none (NaT), expected one for each seed");
  }
  for (const TypeRequest& type : request.types) {
    if (type.seeds.empty() || type.times != nullptr || !temporal.times.empty()) continue;
    throw std::invalid_argument("seeds" + (type.name.empty() ? "" : " of type " + type.name) +
                                " have no times of their own, expected a time for each");
  }
}

void CheckLabor(const SampleRequest& request) {
  if (!request.labor) return;
  if (request.labor->dependency == 0) {
    throw std::invalid_argument("batch_dependency is 0, expected at least 1");
  }
  if (request.replace) {
    throw std::invalid_argument(
        "a LABOR sample takes each edge at most once: expected no replacement, or the neighbour "
        "sampler");
  }
  if (request.temporal && request.temporal->last) {
    throw std::invalid_argument(
        "a LABOR sample takes edges by the numbers of their nodes, not the last by time: expected "
        "the uniform strategy, or the neighbour sampler");
  }
  if (request.weighted && request.subgraph != Subgraph::kDrawn) {
    throw std::invalid_argument(
        "a LABOR sample by weight has a scale for each edge that was drawn: expected the "
        "directional subgraph, which has no others, or no weights");
  }
}

void CheckRelation(const Rows& rows, const SampleRequest& request,
                   const RelationRequest& relation) {
  if (relation.name.empty()) CheckOneNodeSet(rows);
  if (rows.adjacency.rows != request.types[relation.expanded_type].count ||
      rows.adjacency.neighbour_bound != request.types[relation.found_type].count) {
    throw std::logic_error("types that are not those of the relation");
  }
  if (request.temporal) CheckTimeOrder(rows);
  if (relation.exclude_sources.size() != relation.exclude_targets.size()) {
    throw std::invalid_argument(Number(relation.exclude_sources.size()) +
                                " sources of excluded edges, and " +
                                Number(relation.exclude_targets.size()) + " targets");
  }
  CheckTreeExclusions(rows, request, relation.exclude_in_trees);
}

// A sample by weight needs weights of at least one relation; the others draw uniformly. By LABOR,
// all relations need them: nodes that are drawn uniformly have no scale.
void CheckWeights(const SampleRequest& request, const std::vector<DrawnRelation>& drawn) {
  if (!request.weighted || drawn.empty()) return;
  const auto has_weights = [](const DrawnRelation& one) {
    return one.rows.adjacency.weights != nullptr;
  };
  if (!request.labor && std::any_of(drawn.begin(), drawn.end(), has_weights)) return;
  for (const DrawnRelation& one : drawn) CheckHasWeights(one.rows, true);
}

void CheckTypes(const store::TopologyReader& graph, const SampleRequest& request) {
  const uint64_t seeds = request.NumSeeds();
  // Local ids have 32 bits.
  if (seeds > INT32_MAX || request.max_edges > INT32_MAX) {
    throw std::invalid_argument(Number(seeds) + " seeds and at most " + Number(request.max_edges) +
                                " edges, expected at most 2147483647 of each");
  }
  for (const TypeRequest& type : request.types) {
    CheckNodeIds(type.seeds, type.count, type.name.empty() ? "seed" : "seed of type " + type.name,
                 graph.file()->path());
    // RelationExclusions::TreeKey() numbers all nodes of all trees.
    if (request.disjoint && seeds > UINT64_MAX / std::max<uint64_t>(type.count, 1)) {
      throw std::invalid_argument(Number(seeds) + " seeds of a disjoint sample in " +
                                  graph.file()->path() + ", expected at most " +
                                  Number(UINT64_MAX / type.count));
    }
  }
}

// The excluded edges of a relation as pairs (row, neighbour) of the adjacency that is sampled.
RelationExclusions Excluded(const SampleRequest& request, const RelationRequest& relation,
                            const Rows& rows) {
  const bool rows_are_targets = request.expand == Expand::kTargets;
  const auto pair = [&](int64_t source, int64_t target) {
    const auto [row, neighbour] =
        rows_are_targets ? std::pair(target, source) : std::pair(source, target);
    return ExcludedEdges::Pair{static_cast<uint64_t>(row), static_cast<uint64_t>(neighbour)};
  };
  RelationExclusions excluded;
  excluded.num_rows = rows.adjacency.rows;
  excluded.spare_history = request.spare_history;
  excluded.node_times = request.types[relation.expanded_type].times;
  base::WorkVector<ExcludedEdges::Pair> pairs;
  pairs.reserve(relation.exclude_sources.size());
  for (size_t i = 0; i < relation.exclude_sources.size(); ++i) {
    pairs.push_back(pair(relation.exclude_sources[i], relation.exclude_targets[i]));
  }
  if (!pairs.empty()) excluded.everywhere = ExcludedEdges(std::move(pairs), false);
  const TreeExclusions& in_trees = relation.exclude_in_trees;
  const bool by_edge_id = !in_trees.edge_ids.empty();
  base::WorkVector<ExcludedEdges::Pair> tree_pairs;
  tree_pairs.reserve(in_trees.sources.size());
  for (size_t i = 0; i < in_trees.sources.size(); ++i) {
    ExcludedEdges::Pair one = pair(in_trees.sources[i], in_trees.targets[i]);
    if (one.row >= rows.adjacency.rows) continue;  // no node: its key would be that of another tree
    one.row = excluded.TreeKey(static_cast<LocalId>(in_trees.trees[i]), one.row);
    if (by_edge_id) one.edge_id = static_cast<uint64_t>(in_trees.edge_ids[i]);
    tree_pairs.push_back(one);
  }
  if (!tree_pairs.empty()) excluded.in_trees = ExcludedEdges(std::move(tree_pairs), by_edge_id);
  return excluded;
}

// Throws std::invalid_argument unless the reverses of all edges have a relation to go to.
void CheckReverses(const SampleRequest& request, const std::vector<DrawnRelation>& drawn) {
  for (const DrawnRelation& one : drawn) {
    const RelationRequest& relation = request.relations[one.number];
    if (!relation.reverse) {
      throw std::invalid_argument(
          "a bidirectional sample needs a relation for the reverses of " + relation.name +
          ": convert the graph with a view of it, or sample a directional or induced subgraph");
    }
    const bool followed = std::any_of(drawn.begin(), drawn.end(), [&](const DrawnRelation& other) {
      return other.number == *relation.reverse;
    });
    if (followed) continue;
    throw std::invalid_argument(
        "a bidirectional sample needs " + request.relations[*relation.reverse].name +
        " for the reverses of " + relation.name + ": give it a fanout other than zeros");
  }
}

// Checks the request and returns the relations to draw from. Reads nothing of the adjacencies.
std::vector<DrawnRelation> CheckedRelations(const store::TopologyReader& graph,
                                            const SampleRequest& request) {
  CheckTemporal(request);
  CheckLabor(request);
  CheckTypes(graph, request);
  std::vector<DrawnRelation> drawn;
  for (size_t number = 0; number < request.relations.size(); ++number) {
    const RelationRequest& relation = request.relations[number];
    CheckFanout(relation, request.NumHops());
    // A relation whose fanout is all zeros still counts if it is the only one or if there are no
    // hops: an induced subgraph then has its edges, too.
    const bool only = request.relations.size() == 1 || request.NumHops() == 0;
    if (relation.adjacency == nullptr) {
      if (!IsFollowed(relation)) continue;
      const char* const wanted = request.expand == Expand::kTargets ? "in" : "out";
      throw std::invalid_argument(graph.file()->path() + " stores no " + wanted + "-edges of " +
                                  relation.name + ": convert it with both directions, or give " +
                                  "the relation a fanout of zeros");
    }
    if (!IsFollowed(relation) && !only) continue;
    Rows rows = Rows::Of(graph, *relation.adjacency, request.disk.get(), relation.name);
    CheckRelation(rows, request, relation);
    drawn.push_back({.number = number,
                     .expanded_type = relation.expanded_type,
                     .found_type = relation.found_type,
                     .rows = rows,
                     .excluded = Excluded(request, relation, rows),
                     .expanded_times = request.types[relation.expanded_type].times});
  }
  CheckWeights(request, drawn);
  if (request.subgraph == Subgraph::kBidirectional) CheckReverses(request, drawn);
  return drawn;
}

}  // namespace

// One request from its seeds to its last hop.
class NeighbourSampler {
 public:
  NeighbourSampler(const store::TopologyReader& graph, const SampleRequest& request,
                   std::vector<DrawnRelation>& relations)
      : request_(request), relations_(relations), lease_(request.threads) {
    result_.file_ = graph.file();
    result_.disk_ = request.disk;
    result_.expand_ = request.expand;
    result_.disjoint_ = request.disjoint;
    result_.temporal_ = request.temporal.has_value();
    result_.has_scales_ = request.labor && request.weighted;
    result_.work_ = TakeWorkspace();
    result_.work_->Extend(request.types.size(), request.relations.size(),
                          static_cast<size_t>(lease_.max_team()));
    result_.types_.resize(request.types.size());
    result_.relations_.resize(request.relations.size());
    for (size_t r = 0; r < request.relations.size(); ++r) {
      const RelationRequest& relation = request.relations[r];
      Relation& to = result_.relations_[r];
      if (relation.adjacency != nullptr) to.adjacency = *relation.adjacency;
      to.keeps_slots = to.has_edge_ids() || to.has_weights() ||
                       (request.temporal && request.subgraph == Subgraph::kBidirectional);
    }
    if (request.temporal) ReadSeedTimes(graph);
  }

  NeighbourSample Run() {
    uint64_t ids = 0;  // larger than every id
    for (const TypeRequest& type : request_.types) ids = std::max(ids, type.count);
    if (ids <= (uint64_t{1} << 32)) {
      RunWith<uint32_t>();
    } else {
      RunWith<uint64_t>();
    }
    return std::move(result_);
  }

 private:
  using Type = NeighbourSample::Type;
  using Relation = NeighbourSample::Relation;

  void ReadSeedTimes(const store::TopologyReader& graph) {
    const TemporalRequest& temporal = *request_.temporal;
    result_.seed_times_.assign(temporal.times.begin(), temporal.times.end());
    if (temporal.times.empty()) {
      for (const TypeRequest& type : request_.types) ReadOwnTimes(graph, type);
    }
    seed_times_ = {result_.seed_times_, temporal.rule};
    for (DrawnRelation& drawn : relations_) drawn.excluded.seeds = &seed_times_;
  }

  // Reads the times of the seeds of one type from the graph.
  void ReadOwnTimes(const store::TopologyReader& graph, const TypeRequest& type) {
    auto& times = result_.seed_times_;
    const size_t before = times.size();
    times.resize(before + type.seeds.size());
    if (type.seeds.empty()) return;
    const base::WorkVector<uint64_t> seeds(type.seeds.begin(), type.seeds.end());
    if (request_.disk != nullptr) {
      const base::ThreadLease::Pause pause;
      request_.disk->ReadSlots(type.times, seeds, times.data() + before);
    } else {
      base::ForEach(seeds.size(),
                    [&](size_t i) { times[before + i] = store::ReadOnce(type.times + seeds[i]); });
    }
    for (size_t i = before; i < times.size(); ++i) {
      if (times[i] != kNoTime) continue;
      throw FormatError(graph.file()->path(), "time of node " + Number(seeds[i - before]),
                        "none (NaT)", "a time; the file is damaged, run graphzero verify");
    }
  }

  // `Key` is the type of the keys of id tables.
  template <class Key>
  void RunWith() {
    AddSeeds<Key>();
    const size_t hops = request_.NumHops();
    // A hop expands the nodes [begins[t], ends[t]) of type t, which the hop before has found.
    std::vector<size_t> begins(result_.types_.size(), 0);
    std::vector<size_t> ends(result_.types_.size());
    for (size_t hop = 0; hop < hops; ++hop) {
      for (size_t t = 0; t < ends.size(); ++t) ends[t] = result_.types_[t].num_nodes;
      std::vector<HopEdges> drawn;
      for (const DrawnRelation& relation : relations_) {
        base::CheckPoint();
        const size_t begin = begins[relation.expanded_type];
        const size_t end = ends[relation.expanded_type];
        const uint64_t edges = DrawHop(hop, relation, begin, end);
        num_edges_ += edges;
        drawn.push_back({relation, begin, end, edges});
      }
      Relabel<Key>(drawn);
      for (size_t t = 0; t < ends.size(); ++t) {
        result_.types_[t].hop_nodes.push_back(result_.types_[t].num_nodes - ends[t]);
      }
      std::swap(begins, ends);
    }
    for (const DrawnRelation& drawn : relations_) {
      result_.relations_[drawn.number].expanded = begins[drawn.expanded_type];
    }
    switch (request_.subgraph) {
      case Subgraph::kDrawn:
        // A relation that no hop drew from gets a zero for each hop.
        for (Relation& relation : result_.relations_) relation.hop_edges.resize(hops);
        break;
      case Subgraph::kBidirectional:
        AddReverses();
        break;
      case Subgraph::kInduced:
        Induce<Key>();
        break;
    }
  }

  template <class Key>
  Discovery<Key> NodesOf(size_t type) {
    return {result_.work_->types[type], result_.types_[type].num_nodes, request_.disjoint};
  }

  template <class Key>
  void AddSeeds() {
    const size_t trees = request_.NumSeeds();
    size_t first_tree = 0;
    for (size_t t = 0; t < request_.types.size(); ++t) {
      const std::span<const int64_t> seeds = request_.types[t].seeds;
      if (request_.disjoint) {
        NodesOf<Key>(t).AddRoots(seeds, first_tree, trees);
      } else {
        NodesOf<Key>(t).AddSeeds(seeds);
      }
      result_.types_[t].hop_nodes.push_back(seeds.size());
      first_tree += seeds.size();
    }
  }

  uint64_t DrawHop(uint64_t hop, const DrawnRelation& drawn, size_t begin, size_t end) {
    const Relation& relation = result_.relations_[drawn.number];
    const HopSpec spec{.number = hop,
                       .relation = drawn.number,
                       .begin = begin,
                       .end = end,
                       .edges_before = relation.num_edges,
                       .fanout = {request_.relations[drawn.number].fanout[hop], request_.replace},
                       .weighted = request_.weighted && relation.has_weights(),
                       .keep_slots = relation.keeps_slots,
                       .disjoint = request_.disjoint,
                       .excluded = drawn.excluded.empty() ? nullptr : &drawn.excluded,
                       .times = Seeds(),
                       .last = request_.temporal && request_.temporal->last,
                       .labor = request_.labor ? &*request_.labor : nullptr,
                       .expanded_type = drawn.expanded_type,
                       .found_type = drawn.found_type,
                       .seed = request_.seed,
                       .forced_set = request_.forced_set};
    Workspace& work = *result_.work_;
    HopDrawer drawer(spec, drawn.rows, work.types[drawn.expanded_type],
                     work.relations[drawn.number], work, lease_);
    const uint64_t edges = drawer.Count();
    if (edges > request_.max_edges - num_edges_) {
      const std::string& name = drawn.rows.relation;
      throw TooManyEdges(
          "hop " + Number(hop) + (name.empty() ? "" : " of " + name) + " with fanout " +
          std::to_string(spec.fanout.edges) + " would draw " + Number(edges) + " edges, and " +
          Number(num_edges_) + " are drawn already: more than the limit of " +
          Number(request_.max_edges) + "; use fewer seeds, a smaller fanout or a higher max_edges");
    }
    return drawer.Draw();
  }

  // The edges that one hop drew along one relation.
  struct HopEdges {
    const DrawnRelation& relation;
    size_t begin;  // the nodes [begin, end) were expanded
    size_t end;
    uint64_t count;
  };

  // Gives the neighbours of all edges of a hop their local ids. Each type is the work of one
  // thread, because its nodes are numbered in order; several types share the threads of the call.
  template <class Key>
  void Relabel(const std::vector<HopEdges>& drawn) {
    constexpr uint64_t kFewEdges = 4096;  // not worth another thread
    Workspace& work = *result_.work_;
    std::vector<size_t> found(result_.types_.size());  // edges that lead to each type
    for (const HopEdges& edges : drawn) {
      const uint64_t before = result_.relations_[edges.relation.number].num_edges;
      work.relations[edges.relation.number].neighbours.Reserve(before + edges.count, before);
      found[edges.relation.found_type] += edges.count;
    }
    // Room for the new nodes of all types is made before the threads start: a thread that numbers
    // nodes of one type reads the nodes that were expanded, which may be of another type, and no
    // thread may move an array that another one reads.
    for (size_t t = 0; t < found.size(); ++t) NodesOf<Key>(t).Reserve(found[t]);
    const uint64_t all = std::accumulate(found.begin(), found.end(), uint64_t{0});
    lease_.For(found.size(), all > kFewEdges ? 1 : found.size(),
               [&](int, size_t first, size_t last) {
                 for (size_t t = first; t < last; ++t) {
                   for (const HopEdges& edges : drawn) {
                     if (edges.relation.found_type == t) Relabel<Key>(edges);
                   }
                 }
               });
  }

  template <class Key>
  void Relabel(const HopEdges& edges) {
    const DrawnRelation& drawn = edges.relation;
    Relation& relation = result_.relations_[drawn.number];
    Workspace& work = *result_.work_;
    RelationEdges& to = work.relations[drawn.number];
    NodesOf<Key>(drawn.found_type)
        .Add({.neighbours = {to.drawn.data(), edges.count},
              .locals = to.neighbours.data() + relation.num_edges,
              .expanded = work.types[drawn.expanded_type],
              .begin = edges.begin,
              .end = edges.end,
              .first_edge = to.first_edge.data()});
    relation.num_edges += edges.count;
    relation.hop_edges.push_back(edges.count);
  }

  const SeedTimes* Seeds() const { return request_.temporal ? &seed_times_ : nullptr; }

  void AddReverses() {
    if (num_edges_ > request_.max_edges / 2) {
      throw TooManyEdges(
          Number(num_edges_) + " edges and their reverses are more than the limit of " +
          Number(request_.max_edges) + "; use fewer seeds, a smaller fanout or a higher max_edges");
    }
    std::vector<SubgraphBuilder> builders;
    std::vector<size_t> place(result_.relations_.size());  // of each relation in `builders`
    builders.reserve(relations_.size());
    for (const DrawnRelation& drawn : relations_) {
      place[drawn.number] = builders.size();
      builders.emplace_back(result_, drawn, Seeds(), lease_);
    }
    // All builders read the drawn edges before the first one replaces any.
    std::vector<SubgraphBuilder::Edges> edges;
    for (size_t i = 0; i < builders.size(); ++i) {
      const size_t number = relations_[i].number;
      const RelationRequest& relation = request_.relations[number];
      edges.push_back(builders[i].WithReversesOf(builders[place[*relation.reverse]]));
    }
    for (size_t i = 0; i < builders.size(); ++i) {
      builders[i].Replace(std::move(edges[i]));
      UseReverse(relations_[i].number);
    }
  }

  // Says where the result finds ids and weights of reverses that are edges of another relation.
  void UseReverse(size_t number) {
    const RelationRequest& request = request_.relations[number];
    Relation& relation = result_.relations_[number];
    if (*request.reverse == number) return;
    if (request.reverse_is_view) {
      relation.reverse = request_.relations[*request.reverse].adjacency;
    } else {  // an inverse numbers its edges in its own way
      relation.adjacency.edge_ids = {};
      relation.adjacency.weights = nullptr;
    }
  }

  template <class Key>
  void Induce() {
    uint64_t before = 0;
    for (const DrawnRelation& drawn : relations_) {
      const SubgraphBuilder build(result_, drawn, Seeds(), lease_);
      build.Induce<Key>(request_.max_edges, before);
      before += result_.relations_[drawn.number].num_edges;
    }
    for (Relation& relation : result_.relations_) relation.hop_edges.clear();
  }

  const SampleRequest& request_;
  std::vector<DrawnRelation>& relations_;
  base::ThreadLease lease_;
  NeighbourSample result_;
  SeedTimes seed_times_;    // of a temporal sample
  uint64_t num_edges_ = 0;  // of all relations
};

SampleRequest SampleRequest::Of(const store::TopologyReader& graph, Expand expand) {
  SampleRequest request;
  request.expand = expand;
  for (const store::NodeType& type : graph.types()) {
    request.types.push_back(
        {.count = type.count, .seeds = {}, .times = type.times, .name = type.name});
  }
  for (size_t number = 0; number < graph.relations().size(); ++number) {
    const store::Relation& relation = graph.relations()[number];
    const bool targets = expand == Expand::kTargets;
    const store::Adjacency* const wanted = targets ? relation.in : relation.out;
    const store::Adjacency* const other = targets ? relation.out : relation.in;
    RelationRequest& to = request.relations.emplace_back();
    to.adjacency = wanted == nullptr && relation.symmetric ? other : wanted;
    to.expanded_type = targets ? relation.target : relation.source;
    to.found_type = targets ? relation.source : relation.target;
    to.name = graph.Title(static_cast<uint32_t>(number));
    const auto own = static_cast<uint32_t>(number);
    if (relation.is_view) {
      RelationRequest& base = request.relations[relation.base];
      to.reverse = relation.base;
      to.reverse_is_view = true;
      if (!base.reverse_is_view) base.reverse = own;
      base.reverse_is_view = true;
    } else if (relation.inverse) {
      to.reverse = relation.inverse;
    } else if (relation.source == relation.target) {
      to.reverse = own;
    }
  }
  return request;
}

void SampleRequest::AssumeSymmetric(const store::TopologyReader& graph) {
  for (size_t r = 0; r < relations.size(); ++r) {
    const store::Relation& relation = graph.relations()[r];
    if (relations[r].adjacency == nullptr && relation.source == relation.target) {
      relations[r].adjacency = &relation.any();
    }
  }
}

NeighbourSample SampleNeighbours(const store::TopologyReader& graph, const SampleRequest& request) {
  std::vector<DrawnRelation> relations = CheckedRelations(graph, request);
  const io::DiskDraws::Scope drawing(request.disk == nullptr ? nullptr : request.disk->draws());
  return ReadRows(*graph.file(), request.disk.get(),
                  [&] { return NeighbourSampler(graph, request, relations).Run(); });
}

}  // namespace graphzero::sample
