// One hop of neighbour sampling: which edges the nodes [begin, end) of a batch draw.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/threads.h"
#include "sample/excluded_edges.h"
#include "sample/random.h"
#include "sample/rows.h"
#include "sample/staged_topology.h"
#include "sample/uniform_pick.h"
#include "sample/workspace.h"

namespace graphzero::sample {

struct HopSpec {
  uint64_t number;
  size_t begin;  // local ids of the nodes to expand
  size_t end;
  uint64_t edges_before;  // of earlier hops
  Fanout fanout;
  bool weighted;
  bool keep_slots;                // of earlier hops: the result will read edge ids or weights there
  bool disjoint;                  // nodes draw for their tree
  const ExcludedEdges* excluded;  // or null
  uint64_t seed;
  std::optional<SetKind> forced_set;

  size_t size() const { return end - begin; }
};

// Fills first_edge, slots and drawn of the workspace for one hop. Use: Count(), then Draw().
class HopDrawer {
 public:
  HopDrawer(const HopSpec& spec, const Rows& rows, Workspace& work, base::ThreadLease& lease)
      : spec_(spec),
        rows_(rows),
        staged_(rows.disk),
        work_(work),
        lease_(lease),
        plain_(rows.disk == nullptr && !spec.weighted && spec.excluded == nullptr),
        domain_(spec.weighted ? Domain::kWeightedNeighbours : Domain::kNeighbours),
        draws_(RequestDraws(spec.seed, domain_).Child(spec.number)) {}

  // Looks the rows up and returns how many edges will be drawn (with weights, at most), capped at
  // UINT64_MAX. Touches memory in proportion to the nodes only.
  uint64_t Count();

  // Draws them, in parallel. Returns how many there are.
  uint64_t Draw();

 private:
  void LookRowsUp();
  void ReadRowsStaged();
  // The slots of excluded edges are not looked for again in Draw(): the file may have changed by
  // then, and memory was sized for what Count() found.
  void LeaveExcludedOut();
  std::span<const uint64_t> ExcludedSlots(size_t i) const;
  template <class Id>
  void DrawStaged();
  // Reads the weights of consecutive nodes from `begin` on, as many as kLoadedBytes hold and at
  // least one, and returns where it stopped.
  size_t LoadWeights(size_t begin);
  template <class Id>
  void CheckNeighbours(uint64_t edges) const;
  template <class Id>
  void DrawRange(size_t begin, size_t end, ThreadScratch& scratch);
  template <class Id>
  void PickSlots(size_t i, ThreadScratch& scratch);
  // As PickSlots(), for most requests: they ask for nothing that needs a look at every node.
  template <class Id>
  void PickPlainSlots(size_t i, ThreadScratch& scratch);
  // Inlined, because GCC takes a function that does nothing but prefetch for one without effect,
  // and leaves calls of it out.
  template <class Id>
  [[gnu::always_inline]] void PrefetchSlots(const store::SlotRange& row, const uint64_t* slots,
                                            uint64_t count) const;
  template <class Id>
  void ReadNeighbours(size_t i);
  uint64_t PickUniform(size_t i, const store::SlotRange& row, std::span<const uint64_t> excluded,
                       uint64_t* slots, ThreadScratch& scratch);
  uint64_t PickWeighted(size_t i, const store::SlotRange& row, std::span<const uint64_t> excluded,
                        uint64_t* slots, ThreadScratch& scratch);
  uint64_t CloseGaps();

  uint64_t Node(size_t i) const { return work_.nodes[spec_.begin + i]; }
  Draws NodeDraws(size_t i) const;
  // Edge numbers within the hop.
  size_t FirstEdge(size_t i) const {
    return work_.first_edge[spec_.begin + i] - spec_.edges_before;
  }
  uint64_t Drawn(size_t i) const {
    const uint64_t most = FirstEdge(i + 1) - FirstEdge(i);
    return spec_.weighted ? most - work_.short_by[i] : most;
  }
  uint64_t* Slots() { return work_.slots.data() + (spec_.keep_slots ? spec_.edges_before : 0); }

  const HopSpec spec_;
  const Rows& rows_;
  const StagedTopology* const staged_;
  Workspace& work_;
  base::ThreadLease& lease_;
  const bool plain_;  // uniform draws from whole rows in memory
  const Domain domain_;
  const Draws draws_;
  // Excluded slots by node, of those that have any.
  std::unordered_map<size_t, std::vector<uint64_t>> excluded_;
  // Staged only: the weights of the nodes that draw now.
  base::Buffer<float> weights_;
  std::vector<std::span<const float>> weight_rows_;
  size_t weights_begin_ = 0;
};

}  // namespace graphzero::sample
