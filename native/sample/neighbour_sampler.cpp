#include "sample/neighbour_sampler.h"

#include <algorithm>
#include <stdexcept>
#include <string>

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

void Check(const Rows& rows, const SampleRequest& request) {
  CheckOneNodeSet(rows);
  CheckHasWeights(rows, request.weighted);
  for (size_t hop = 0; hop < request.fanout.size(); ++hop) {
    if (request.fanout[hop] < Fanout::kAll) {
      throw std::invalid_argument("fanout of hop " + Number(hop) + " is " +
                                  std::to_string(request.fanout[hop]) +
                                  ", expected -1 (all), 0 (none) or a number of edges");
    }
  }
  // Local ids have 32 bits.
  if (request.seeds.size() > INT32_MAX || request.max_edges > INT32_MAX) {
    throw std::invalid_argument(Number(request.seeds.size()) + " seeds and at most " +
                                Number(request.max_edges) +
                                " edges, expected at most 2147483647 of each");
  }
  CheckNodeIds(rows, request.seeds, "seed");
  if (request.exclude_sources.size() != request.exclude_targets.size()) {
    throw std::invalid_argument(Number(request.exclude_sources.size()) +
                                " sources of excluded edges, and " +
                                Number(request.exclude_targets.size()) + " targets");
  }
  // Nodes of a disjoint sample are known by tree * rows + id.
  if (request.disjoint &&
      request.seeds.size() > UINT64_MAX / std::max<uint64_t>(rows.adjacency.rows, 1)) {
    throw std::invalid_argument(Number(request.seeds.size()) + " seeds of a disjoint sample in " +
                                rows.path() + ", expected at most " +
                                Number(UINT64_MAX / rows.adjacency.rows));
  }
}

ExcludedEdges Excluded(const SampleRequest& request) {
  return request.expand == Expand::kTargets
             ? ExcludedEdges(request.exclude_targets, request.exclude_sources)
             : ExcludedEdges(request.exclude_sources, request.exclude_targets);
}

}  // namespace

// One request from its seeds to its last hop.
class NeighbourSampler {
 public:
  NeighbourSampler(const store::TopologyReader& graph, const Rows& rows,
                   const SampleRequest& request)
      : request_(request), rows_(rows), excluded_(Excluded(request)), lease_(request.threads) {
    result_.file_ = graph.file();
    result_.disk_ = request.disk;
    result_.adjacency_ = rows_.adjacency;
    result_.sorted_ = rows_.sorted;
    result_.expand_ = request.expand;
    result_.disjoint_ = request.disjoint;
    result_.work_ = TakeWorkspace();
    auto& scratch = result_.work_->scratch;
    scratch.resize(std::max(scratch.size(), static_cast<size_t>(lease_.max_team())));
  }

  NeighbourSample Run() {
    const bool narrow = rows_.adjacency.rows <= (uint64_t{1} << 32);
    if (narrow && !request_.disjoint) {
      RunWith(result_.work_->narrow_table);
    } else {
      RunWith(result_.work_->wide_table);
    }
    return std::move(result_);
  }

 private:
  template <class Table>
  void RunWith(Table& table) {
    AddSeeds(table);
    size_t begin = 0;
    for (size_t number = 0; number < request_.fanout.size(); ++number) {
      base::CheckPoint();
      const size_t end = result_.num_nodes_;
      const uint64_t edges = DrawHop(number, begin, end);
      if (request_.disjoint) {
        RelabelTrees(edges, begin, end, table);
      } else {
        Relabel(edges, table);
      }
      result_.hop_edges_.push_back(edges);
      result_.hop_nodes_.push_back(result_.num_nodes_ - end);
      begin = end;
    }
    result_.expanded_ = begin;
    const SubgraphBuilder build(result_, rows_, excluded_, lease_);
    if (request_.subgraph == Subgraph::kBidirectional) build.Bidirectional(request_.max_edges);
    if (request_.subgraph == Subgraph::kInduced) build.Induced(table, request_.max_edges);
  }

  // Every occurrence of a seed is a node of its own; the table knows the first.
  template <class Table>
  void AddSeeds(Table& table) {
    const size_t count = request_.seeds.size();
    Workspace& work = *result_.work_;
    work.nodes.Reserve(count);
    work.occurrence.Reserve(2 * count);
    uint32_t* const repeats = work.occurrence.data() + count;  // of the seed that is first at i
    if (request_.disjoint) work.tree.Reserve(count);
    table.Reset(count);
    base::CheckedLoop loop;
    for (size_t i = 0; i < count; ++i) {
      loop.Next();
      const auto id = static_cast<uint64_t>(request_.seeds[i]);
      if (request_.disjoint) {
        work.nodes[i] = id;
        work.occurrence[i] = 0;
        work.tree[i] = static_cast<LocalId>(i);
        table.FindOrInsert(TreeKey(i, id), static_cast<LocalId>(i));
        continue;
      }
      const auto local = static_cast<LocalId>(i);
      const LocalId first = table.FindOrInsert(id, local);
      repeats[i] = 0;
      work.nodes[i] = id;
      work.occurrence[i] = first == local ? 0 : ++repeats[first];
    }
    result_.num_nodes_ = count;
    result_.hop_nodes_.push_back(count);
  }

  uint64_t DrawHop(uint64_t number, size_t begin, size_t end) {
    const HopSpec spec{.number = number,
                       .begin = begin,
                       .end = end,
                       .edges_before = result_.num_edges_,
                       .fanout = {request_.fanout[number], request_.replace},
                       .weighted = request_.weighted,
                       .keep_slots = result_.has_edge_ids() || result_.has_weights(),
                       .disjoint = request_.disjoint,
                       .excluded = excluded_.empty() ? nullptr : &excluded_,
                       .seed = request_.seed,
                       .forced_set = request_.forced_set};
    HopDrawer hop(spec, rows_, *result_.work_, lease_);
    const uint64_t edges = hop.Count();
    if (edges > request_.max_edges - result_.num_edges_) {
      throw TooManyEdges(
          "hop " + Number(number) + " with fanout " + std::to_string(spec.fanout.edges) +
          " would draw " + Number(edges) + " edges, and " + Number(result_.num_edges_) +
          " are drawn already: more than the limit of " + Number(request_.max_edges) +
          "; use fewer seeds, a smaller fanout or a higher max_edges");
    }
    return hop.Draw();
  }

  // In one thread and in edge order, because local ids are numbers of discovery. Merging in order
  // beats a parallel table with atomics, whose order would also depend on the threads.
  template <class Table>
  void Relabel(size_t edges, Table& table) {
    Workspace& work = *result_.work_;
    work.neighbours.Reserve(result_.num_edges_ + edges, result_.num_edges_);
    work.nodes.Reserve(result_.num_nodes_ + edges + 1, result_.num_nodes_);
    MakeRoom(table, result_.num_nodes_ + edges);
    const uint64_t* const ids = work.drawn.data();
    LocalId* const locals = work.neighbours.data() + result_.num_edges_;
    uint64_t* const nodes = work.nodes.data();
    for (size_t begin = 0; begin < edges; begin += base::CheckedLoop::kItems) {
      if (begin > 0) base::CheckPoint();
      const size_t end = std::min(begin + base::CheckedLoop::kItems, edges);
      auto next = static_cast<LocalId>(result_.num_nodes_);
      for (size_t e = begin; e < end; ++e) {
        if (e + kTableAhead < edges) table.Prefetch(ids[e + kTableAhead]);
        locals[e] = table.FindOrInsert(ids[e], next);
        // Without a branch that would be guessed wrong half the time: an id that is not new is
        // overwritten by the next one that is.
        nodes[next] = ids[e];
        next += locals[e] == next;
      }
      result_.num_nodes_ = next;
    }
    result_.num_edges_ += edges;
  }

  // A node of a disjoint sample: an id may come once in each tree.
  uint64_t TreeKey(uint64_t tree, uint64_t id) const { return tree * rows_.adjacency.rows + id; }

  // As Relabel(), for the edges of the nodes [begin, end), each of which belongs to one tree.
  template <class Table>
  void RelabelTrees(size_t edges, size_t begin, size_t end, Table& table) {
    Workspace& work = *result_.work_;
    work.neighbours.Reserve(result_.num_edges_ + edges, result_.num_edges_);
    work.nodes.Reserve(result_.num_nodes_ + edges, result_.num_nodes_);
    work.tree.Reserve(result_.num_nodes_ + edges, result_.num_nodes_);
    MakeRoom(table, result_.num_nodes_ + edges);
    auto next = static_cast<LocalId>(result_.num_nodes_);
    base::CheckedLoop loop;
    for (size_t i = begin; i < end; ++i) {
      const LocalId tree = work.tree[i];
      for (uint64_t e = work.first_edge[i]; e < work.first_edge[i + 1]; ++e) {
        loop.Next();
        const uint64_t id = work.drawn[e - result_.num_edges_];
        const LocalId local = table.FindOrInsert(TreeKey(tree, id), next);
        work.neighbours[e] = local;
        if (local != next) continue;
        work.nodes[next] = id;
        work.tree[next] = tree;
        ++next;
      }
    }
    result_.num_nodes_ = next;
    result_.num_edges_ += edges;
  }

  template <class Table>
  void MakeRoom(Table& table, size_t count) {
    if (table.HasRoomFor(count)) return;
    table.Reset(count);
    const uint64_t* const nodes = result_.work_->nodes.data();
    if (request_.disjoint) {
      const LocalId* const tree = result_.work_->tree.data();
      base::ForEach(result_.num_nodes_, [&](size_t i) {
        table.FindOrInsert(TreeKey(tree[i], nodes[i]), static_cast<LocalId>(i));
      });
      return;
    }
    base::ForEach(result_.num_nodes_, [&](size_t i) {
      if (i + kTableAhead < result_.num_nodes_) table.Prefetch(nodes[i + kTableAhead]);
      table.FindOrInsert(nodes[i], static_cast<LocalId>(i));
    });
  }

  const SampleRequest& request_;
  const Rows& rows_;
  const ExcludedEdges excluded_;
  base::ThreadLease lease_;
  NeighbourSample result_;
};

NeighbourSample SampleNeighbours(const store::TopologyReader& graph, const SampleRequest& request) {
  const Rows rows = Rows::Of(graph, *request.adjacency, request.disk.get());
  Check(rows, request);
  return ReadRows(rows, [&] { return NeighbourSampler(graph, rows, request).Run(); });
}

}  // namespace graphzero::sample
