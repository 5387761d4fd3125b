#include "sample/neighbour_sampler.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/errors.h"
#include "base/text.h"
#include "base/threads.h"
#include "sample/excluded_edges.h"
#include "sample/hop.h"
#include "sample/rows.h"
#include "sample/subgraph.h"
#include "store/guarded_read.h"

namespace graphzero::sample {
namespace {

// Table entries are asked for this many edges before they are needed.
constexpr size_t kTableAhead = 24;

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
  CheckHasWeights(rows, request.weighted);
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
    // Nodes of a disjoint sample are known by tree * count + id.
    if (request.disjoint && seeds > UINT64_MAX / std::max<uint64_t>(type.count, 1)) {
      throw std::invalid_argument(Number(seeds) + " seeds of a disjoint sample in " +
                                  graph.file()->path() + ", expected at most " +
                                  Number(UINT64_MAX / type.count));
    }
  }
}

// In the terms of the adjacency that is sampled.
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
    if (one.row >= rows.adjacency.rows) continue;  // no node: it would be one of another tree
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

// Checks the request. Nothing was read of the adjacencies yet.
std::vector<DrawnRelation> CheckedRelations(const store::TopologyReader& graph,
                                            const SampleRequest& request) {
  CheckTemporal(request);
  CheckLabor(request);
  CheckTypes(graph, request);
  std::vector<DrawnRelation> drawn;
  for (size_t number = 0; number < request.relations.size(); ++number) {
    const RelationRequest& relation = request.relations[number];
    CheckFanout(relation, request.NumHops());
    // A subgraph that seeds induce without any hop has the edges of all relations, and so has that
    // of a graph without types.
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
    uint64_t keys = 0;  // no key is as large
    const uint64_t trees = request_.disjoint ? request_.NumSeeds() : 1;
    for (const TypeRequest& type : request_.types) keys = std::max(keys, trees * type.count);
    if (keys <= (uint64_t{1} << 32)) {
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

  // The times of the seeds of one type, which the graph has.
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

  // `Key` is what the tables of ids take.
  template <class Key>
  void RunWith() {
    AddSeeds<Key>();
    const size_t hops = request_.NumHops();
    // Nodes that were there before the hop, which are those that it expands and older ones.
    std::vector<size_t> begins(result_.types_.size(), 0);
    std::vector<size_t> ends(result_.types_.size());
    for (size_t hop = 0; hop < hops; ++hop) {
      for (size_t t = 0; t < ends.size(); ++t) ends[t] = result_.types_[t].num_nodes;
      for (const DrawnRelation& drawn : relations_) {
        base::CheckPoint();
        const size_t expanded = drawn.expanded_type;
        const uint64_t edges = DrawHop(hop, drawn, begins[expanded], ends[expanded]);
        Relabel<Key>(drawn, edges);
      }
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
        // Relations that no hop drew from have zeros.
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

  // Every occurrence of a seed is a node of its own; the table knows the first.
  template <class Key>
  void AddSeeds() {
    size_t tree = 0;
    for (size_t t = 0; t < request_.types.size(); ++t) {
      AddSeedsOf<Key>(t, tree);
      tree += request_.types[t].seeds.size();
    }
  }

  template <class Key>
  void AddSeedsOf(size_t type, size_t first_tree) {
    const std::span<const int64_t> seeds = request_.types[type].seeds;
    const size_t count = seeds.size();
    TypeNodes& work = result_.work_->types[type];
    IdTable<Key>& table = work.table<Key>();
    work.nodes.Reserve(count + 1);
    work.occurrence.Reserve(2 * count + 1);
    uint32_t* const repeats = work.occurrence.data() + count;  // of the seed that is first at i
    if (request_.disjoint) work.tree.Reserve(count + 1);
    table.Reset(count);
    base::CheckedLoop loop;
    for (size_t i = 0; i < count; ++i) {
      loop.Next();
      const auto id = static_cast<uint64_t>(seeds[i]);
      const auto local = static_cast<LocalId>(i);
      work.nodes[i] = id;
      if (request_.disjoint) {
        const size_t tree = first_tree + i;
        work.occurrence[i] = 0;
        work.tree[i] = static_cast<LocalId>(tree);
        table.FindOrInsert(TreeKey(type, tree, id), local);
        continue;
      }
      const LocalId first = table.FindOrInsert(id, local);
      repeats[i] = 0;
      work.occurrence[i] = first == local ? 0 : ++repeats[first];
    }
    result_.types_[type].num_nodes = count;
    result_.types_[type].hop_nodes.push_back(count);
  }

  uint64_t DrawHop(uint64_t hop, const DrawnRelation& drawn, size_t begin, size_t end) {
    const Relation& relation = result_.relations_[drawn.number];
    const HopSpec spec{.number = hop,
                       .relation = drawn.number,
                       .begin = begin,
                       .end = end,
                       .edges_before = relation.num_edges,
                       .fanout = {request_.relations[drawn.number].fanout[hop], request_.replace},
                       .weighted = request_.weighted,
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

  // Gives the nodes of the drawn edges their local ids. In one thread and in edge order, because
  // local ids are numbers of discovery. Merging in order beats a parallel table with atomics, whose
  // order would also depend on the threads.
  template <class Key>
  void Relabel(const DrawnRelation& drawn, size_t edges) {
    const size_t type = drawn.found_type;
    Relation& relation = result_.relations_[drawn.number];
    Type& found = result_.types_[type];
    TypeNodes& work = result_.work_->types[type];
    RelationEdges& to = result_.work_->relations[drawn.number];
    IdTable<Key>& table = work.table<Key>();
    const size_t before = found.num_nodes;
    to.neighbours.Reserve(relation.num_edges + edges, relation.num_edges);
    work.nodes.Reserve(before + edges + 1, before);
    MakeRoom(type, table, before + edges);
    const uint64_t* const keys = result_.work_->drawn.data();
    LocalId* const locals = to.neighbours.data() + relation.num_edges;
    uint64_t* const nodes = work.nodes.data();
    for (size_t begin = 0; begin < edges; begin += base::CheckedLoop::kItems) {
      if (begin > 0) base::CheckPoint();
      const size_t end = std::min(begin + base::CheckedLoop::kItems, edges);
      auto next = static_cast<LocalId>(found.num_nodes);
      for (size_t e = begin; e < end; ++e) {
        if (e + kTableAhead < edges) table.Prefetch(keys[e + kTableAhead]);
        locals[e] = table.FindOrInsert(keys[e], next);
        // Without a branch that would be guessed wrong half the time: a key that is not new is
        // overwritten by the next one that is.
        nodes[next] = keys[e];
        next += locals[e] == next;
      }
      found.num_nodes = next;
    }
    relation.num_edges += edges;
    relation.hop_edges.push_back(edges);
    num_edges_ += edges;
    if (request_.disjoint) SplitKeys(type, before);
  }

  // The key of a node of a disjoint sample: an id may come once in each tree.
  uint64_t TreeKey(size_t type, uint64_t tree, uint64_t id) const {
    return tree * request_.types[type].count + id;
  }

  // Makes ids and trees of the keys of the nodes from number `first` on.
  void SplitKeys(size_t type, size_t first) {
    constexpr size_t kGrain = 16384;
    const uint64_t count = request_.types[type].count;
    const size_t nodes = result_.types_[type].num_nodes;
    TypeNodes& work = result_.work_->types[type];
    work.tree.Reserve(nodes, first);
    lease_.For(nodes - first, kGrain, [&](int, size_t begin, size_t end) {
      uint64_t tree = 0;
      uint64_t base = 0;  // the least key of that tree
      for (size_t i = first + begin; i < first + end; ++i) {
        const uint64_t key = work.nodes[i];
        if (key - base >= count) {  // nodes of a tree mostly come together: divisions are few
          tree = key / count;
          base = tree * count;
        }
        work.nodes[i] = key - base;
        work.tree[i] = static_cast<LocalId>(tree);
      }
    });
  }

  template <class Table>
  void MakeRoom(size_t type, Table& table, size_t count) {
    if (table.HasRoomFor(count)) return;
    table.Reset(count);
    const TypeNodes& work = result_.work_->types[type];
    const size_t num_nodes = result_.types_[type].num_nodes;
    const auto key = [&](size_t i) {
      return request_.disjoint ? TreeKey(type, work.tree[i], work.nodes[i]) : work.nodes[i];
    };
    base::ForEach(num_nodes, [&](size_t i) {
      if (i + kTableAhead < num_nodes) table.Prefetch(key(i + kTableAhead));
      table.FindOrInsert(key(i), static_cast<LocalId>(i));
    });
  }

  const SeedTimes* Seeds() const { return request_.temporal ? &seed_times_ : nullptr; }

  void AddReverses() {
    if (num_edges_ > request_.max_edges / 2) {
      throw TooManyEdges(
          Number(num_edges_) + " edges and their reverses are more than the limit of " +
          Number(request_.max_edges) + "; use fewer seeds, a smaller fanout or a higher max_edges");
    }
    std::vector<SubgraphBuilder> builders;
    std::vector<size_t> place(result_.relations_.size());  // of the relation among them
    builders.reserve(relations_.size());
    for (const DrawnRelation& drawn : relations_) {
      place[drawn.number] = builders.size();
      builders.emplace_back(result_, drawn, Seeds(), lease_);
    }
    // All are read before the first is replaced.
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
  return ReadRows(*graph.file(), request.disk.get(),
                  [&] { return NeighbourSampler(graph, request, relations).Run(); });
}

}  // namespace graphzero::sample
