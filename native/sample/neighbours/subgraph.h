// Adds edges to a sample after the draws: the reverses of the drawn edges, or all edges between the
// nodes.
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
#include "sample/neighbours/excluded_edges.h"
#include "sample/neighbours/neighbour_sample.h"
#include "sample/rows/rows.h"

namespace graphzero::sample {

// A relation of which a sample has edges.
struct DrawnRelation {
  size_t number;
  size_t expanded_type;  // type of the nodes that the rows belong to
  size_t found_type;     // type of the neighbours
  Rows rows;
  RelationExclusions excluded;
  const int64_t* expanded_times;  // of the nodes that the rows belong to, in the mapping; or null
};

// Builds the edges of one relation of a sample.
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

  // Returns the drawn edges of this relation and the reverses of those that `other` drew, a
  // relation that leads back or this one. Of several edges between the same two nodes one is kept:
  // the first that was drawn, or the first reverse if none was. A reverse has the id and the weight
  // of the edge that it reverses. Excluded edges do not come back as reverses. Replace() puts the
  // edges into the sample.
  Edges WithReversesOf(const SubgraphBuilder& other) const;

  // Replaces the drawn edges by all edges between the nodes, within each tree if the sample is
  // disjoint. A neighbour that is a repeated seed is its first occurrence, as in the draws. Needs
  // the tables with keys of type Key to have all nodes. Throws InputError for more than max_edges,
  // including `before` edges of other relations.
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

  // The eligible parts of the rows of all nodes, cut into pieces where they are very long. Bounds
  // are checked.
  base::WorkVector<Piece> Pieces() const;
  // Slots of excluded edges in the rows that Pieces() has read, by node.
  std::unordered_map<LocalId, ExcludedEdges::Slots> ExcludedSlots() const;
  // Adds the edges among `ids`, the neighbours of a piece, that lead to nodes of the table.
  template <class Id, class Table>
  void FindEdges(const Table& table, const Piece& piece, std::span<const Id> ids,
                 std::span<const uint64_t> excluded, Edges* found) const;
  Edges Drawn() const;
  // Adds those reverses of this relation's drawn edges that `to` may have, with their slots in this
  // relation.
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
