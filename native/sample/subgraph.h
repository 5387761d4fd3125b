// What follows the draws where a sample has more edges than those: their reverses, or all edges
// between its nodes.
//
// Both leave the edges of a relation sorted by the node that would be expanded and no longer by
// hop, so num_sampled_edges of the result is empty. Both obey the times of a temporal sample.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/excluded_edges.h"
#include "sample/neighbour_sample.h"
#include "sample/rows.h"

namespace graphzero::sample {

// One relation that a sample has edges of.
struct DrawnRelation {
  size_t number;
  size_t expanded_type;  // whose nodes the rows belong to
  size_t found_type;     // that of the neighbours
  Rows rows;
  RelationExclusions excluded;
  const int64_t* expanded_times;  // of the nodes that the rows belong to, in the mapping; or null
};

// For one relation of a sample.
class SubgraphBuilder {
 public:
  // An edge of the result. The slot is one of the relation's adjacency, or, with kReversed, of the
  // relation that has the edge in the other direction.
  struct Edge {
    LocalId node;
    LocalId neighbour;
    uint64_t slot;
  };
  using Edges = base::WorkVector<Edge>;

  // `seeds` is null unless the sample is temporal.
  SubgraphBuilder(NeighbourSample& sample, const DrawnRelation& drawn, const SeedTimes* seeds,
                  base::ThreadLease& lease);

  // The drawn edges, and the reverses of those that `other` drew, which leads back; may be the same
  // relation. Of several between the same two nodes one is kept, the first drawn, and a drawn one
  // rather than a reverse. Reverses have id and weight of the edge they reverse. Excluded edges do
  // not come back as reverses. Not in the sample before Replace().
  Edges WithReversesOf(const SubgraphBuilder& other) const;

  // Replaces the edges by all between the nodes, of one tree if the sample is disjoint. A neighbour
  // that is a repeated seed is its first occurrence, as in the draws. The tables with keys of type
  // Key know all nodes. Throws InputError for more than max_edges, of which `before` are of other
  // relations.
  template <class Key>
  void Induce(uint64_t max_edges, uint64_t before) const;

  // Makes these the edges of the sample. Needs them sorted by node.
  void Replace(Edges edges) const;

 private:
  // Consecutive slots of the row of one node.
  struct Piece {
    LocalId node;
    store::SlotRange slots;
  };

  // Edges of consecutive pieces, from number `first` on.
  struct Found {
    size_t first;
    Edges edges;
  };

  // The rows of all nodes, as far as they are eligible, cut where they are very long. Checked.
  base::WorkVector<Piece> Pieces() const;
  // Slots of excluded edges in the rows at hand, by node.
  std::unordered_map<LocalId, ExcludedEdges::Slots> ExcludedSlots() const;
  // Adds the edges among `ids`, the neighbours of a piece, that lead to nodes of the table.
  template <class Id, class Table>
  void FindEdges(const Table& table, const Piece& piece, std::span<const Id> ids,
                 std::span<const uint64_t> excluded, Edges* found) const;
  Edges Drawn() const;
  // Adds the reverses of drawn edges of this relation, with their slots here, that `to` may have.
  void AddReverses(const SubgraphBuilder& to, Edges* edges) const;
  void Replace(std::span<const Found> found) const;
  std::span<const LocalId> Trees() const {
    return disjoint_ ? std::span<const LocalId>(expanded_.tree.data(), num_expanded_)
                     : std::span<const LocalId>();
  }
  LocalId Tree(size_t node) const { return disjoint_ ? expanded_.tree[node] : 0; }

  const DrawnRelation& drawn_;
  const Rows& rows_;
  const SeedTimes* seeds_;
  base::ThreadLease& lease_;
  const bool disjoint_;
  Workspace& work_;
  TypeNodes& expanded_;
  TypeNodes& found_;
  RelationEdges& edges_;
  NeighbourSample::Relation& relation_;
  const size_t num_expanded_;
  const size_t num_found_;
};

}  // namespace graphzero::sample
