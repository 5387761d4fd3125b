// One hop along one relation: which edges the nodes [begin, end) of a type draw.
//
//   from which edges   all of a row, or those that the time of the seed allows (seed_times.h) and
//                      that are not excluded (excluded_edges.h)
//   how                uniformly (uniform_pick.h), by weight (weighted_pick.h), those with the
//                      smallest numbers (labor_pick.h), or the last ones
//   keyed by           the node; the occurrence of a repeated seed; the tree of a disjoint sample
//   read from          memory: a few nodes pick slots and prefetch them, then read the neighbours;
//                      disk: all nodes pick before the first neighbour is read, so that all reads
//                      are known
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/threads.h"
#include "sample/neighbours/excluded_edges.h"
#include "sample/neighbours/workspace.h"
#include "sample/pick/fanout.h"
#include "sample/pick/labor_numbers.h"
#include "sample/random.h"
#include "sample/rows/rows.h"

namespace graphzero::sample {

struct HopSpec {
  uint64_t number;
  uint64_t relation;  // its number, which the keys of draws contain
  size_t begin;       // local ids of the nodes to expand
  size_t end;
  uint64_t edges_before;  // of earlier hops
  Fanout fanout;
  bool weighted;
  bool keep_slots;                     // keep those of earlier hops, to read ids and weights there
  bool disjoint;                       // draws are keyed by the tree of the node
  const RelationExclusions* excluded;  // or null
  const SeedTimes* times;              // of a temporal sample, or null
  bool last;                           // takes the latest edges and draws nothing
  const LaborRequest* labor;           // or null; takes the nodes with the smallest numbers
  uint64_t expanded_type;              // of the nodes; in the keys of LABOR windows
  uint64_t found_type;                 // of their neighbours; in the keys of LABOR numbers
  uint64_t seed;
  std::optional<SetKind> forced_set;

  size_t size() const { return end - begin; }
};

// Fills first_edge, slots and drawn of the relation. Use: Count(), then Draw().
class HopDrawer {
 public:
  HopDrawer(const HopSpec& spec, const Rows& rows, const TypeNodes& nodes, RelationEdges& edges,
            Workspace& work, base::ThreadLease& lease)
      : spec_(spec),
        rows_(rows),
        nodes_(nodes),
        edges_(edges),
        work_(work),
        lease_(lease),
        domain_(spec.weighted ? Domain::kWeightedNeighbours : Domain::kNeighbours),
        draws_(RequestDraws(spec.seed, domain_, spec.relation).Child(spec.number)),
        tree_draws_(RequestDraws(spec.seed, Domain::kDisjoint, spec.relation)
                        .Child(static_cast<uint64_t>(domain_))) {}

  // Looks the rows up and returns how many edges will be drawn (with weights, at most), capped at
  // UINT64_MAX. Touches memory in proportion to the nodes only.
  uint64_t Count();

  // Draws the edges, in parallel, and returns how many there are. `drawn` then has the id of each
  // neighbour.
  uint64_t Draw();

 private:
  // Subtracts the excluded edges from row_degree and keeps their slots. Draw() does not look for
  // them again: the file may have changed by then, and memory was sized for what Count() found.
  void LeaveExcludedOut();

  // Makes the draws of nodes, for one thread. Nodes of one tree follow each other, so the part that
  // their keys have in common is computed once per tree.
  class NodeDraws {
   public:
    explicit NodeDraws(const HopDrawer& hop) : hop_(hop), of_tree_(hop.tree_draws_) {}
    Draws Of(size_t i);

   private:
    const HopDrawer& hop_;
    LocalId tree_ = kNoLocalId;
    Draws of_tree_;
  };

  // Each of these picks the slots of node i and returns how many it has picked.
  uint64_t PickFromWholeRow(size_t i, NodeDraws& draws, ThreadScratch& scratch);
  uint64_t PickWithoutExcluded(size_t i, NodeDraws& draws, ThreadScratch& scratch);
  uint64_t PickByWeight(size_t i, std::span<const float> weights, NodeDraws& draws,
                        ThreadScratch& scratch);
  // Calls pick(i) for the nodes [begin, end) and reads the neighbours, unless they come from disk.
  template <class Id, class Pick>
  void PickAndRead(size_t begin, size_t end, const Pick& pick);
  // Reads the neighbours in the slots of the edges [begin, end) of the hop from memory.
  template <class Id>
  void ReadDrawn(size_t begin, size_t end);
  // Throws FormatError for the first of these edges whose neighbour is no node.
  void ThrowIfDamaged(size_t begin, size_t end);
  template <class Id>
  void DrawUniformly();
  template <class Id>
  void DrawByWeight();
  // labor_hop.cpp
  template <class Id>
  void DrawLabor();
  // Prefetches the first cache lines of these slots.
  template <class Id>
  void PrefetchPiece(const store::SlotRange& slots) const;
  struct LookedAt;
  template <class Id, class Items>
  LaborRow<Id> JoinPieces(size_t i, const LookedAt& looked, const Items& items,
                          ThreadScratch& scratch);
  template <class Id, class Items>
  void PickLabor(size_t i, const LookedAt& looked, const Items& items, const LaborNumbers& numbers,
                 ThreadScratch& scratch);
  // Count() has counted edges of weight zero, which are never drawn. Closes the gaps that they left
  // and keeps the order.
  void CloseGaps();
  template <class Id>
  void ReadFromDisk();

  uint64_t Node(size_t i) const { return nodes_.nodes[spec_.begin + i]; }
  // The row of node i, including its excluded edges.
  store::SlotRange Row(size_t i) const {
    return {work_.row_begin[i], work_.row_begin[i] + work_.row_degree[i] + Excluded(i).size()};
  }
  // The tree of node i in a disjoint sample, else 0.
  LocalId Tree(size_t i) const { return spec_.disjoint ? nodes_.tree[spec_.begin + i] : 0; }
  // The slots of the excluded edges of node i.
  std::span<const uint64_t> Excluded(size_t i) const {
    if (excluded_.empty()) return {};
    const auto found = excluded_.find(i);
    return found == excluded_.end() ? std::span<const uint64_t>() : found->second;
  }
  // The number of the first edge of node i within the hop.
  size_t FirstEdge(size_t i) const {
    return edges_.first_edge[spec_.begin + i] - spec_.edges_before;
  }
  uint64_t Drawn(size_t i) const {
    const uint64_t most = FirstEdge(i + 1) - FirstEdge(i);
    return spec_.weighted ? most - work_.short_by[i] : most;
  }
  // Whether edges have scales. The scales of earlier hops are kept.
  bool scaled() const { return spec_.labor != nullptr && spec_.weighted; }
  float* Scales() { return edges_.scales.data() + spec_.edges_before; }
  uint64_t* Slots() { return edges_.slots.data() + (spec_.keep_slots ? spec_.edges_before : 0); }

  const HopSpec spec_;
  const Rows& rows_;
  const TypeNodes& nodes_;
  RelationEdges& edges_;
  Workspace& work_;
  base::ThreadLease& lease_;
  const Domain domain_;
  const Draws draws_;
  const Draws tree_draws_;                                     // of a disjoint sample
  std::unordered_map<size_t, ExcludedEdges::Slots> excluded_;  // slots by node, if it has any
};

}  // namespace graphzero::sample
