// What follows the draws where a sample has more edges than those: their reverses, or all edges
// between its nodes.
//
// Both leave the edges sorted by the node that would be expanded and no longer by hop, so
// num_sampled_edges of the result is empty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "sample/excluded_edges.h"
#include "sample/neighbour_sample.h"
#include "sample/rows.h"

namespace graphzero::sample {

class SubgraphBuilder {
 public:
  SubgraphBuilder(NeighbourSample& sample, const Rows& rows, const ExcludedEdges& excluded,
                  base::ThreadLease& lease)
      : sample_(sample), rows_(rows), excluded_(excluded), lease_(lease) {}

  // Adds the reverse of every edge; of several between the same two nodes in the same direction one
  // is kept, the first drawn, and a drawn one rather than a reverse. Reverses have id and weight of
  // the edge they reverse. Excluded edges do not come back as reverses. Throws InputError if there
  // could be more than max_edges.
  void Bidirectional(uint64_t max_edges) const;

  // Replaces the edges by all between the nodes, of one tree if the sample is disjoint. A neighbour
  // that is a repeated seed is its first occurrence, as in the draws. `table` knows all nodes.
  // Throws InputError above max_edges.
  void Induced(const IdTable<uint32_t>& table, uint64_t max_edges) const;
  void Induced(const IdTable<uint64_t>& table, uint64_t max_edges) const;

 private:
  struct Edge {
    LocalId node;
    LocalId neighbour;
    uint64_t slot;
  };

  // Consecutive slots of the row of one node.
  struct Piece {
    LocalId node;
    store::SlotRange slots;
  };

  // Edges of consecutive pieces, from number `first` on.
  struct Found {
    size_t first;
    base::WorkVector<Edge> edges;
  };

  template <class Table>
  void InducedWith(const Table& table, uint64_t max_edges) const;
  // The rows of all nodes, cut where they are very long. Checked.
  base::WorkVector<Piece> Pieces() const;
  // Adds the edges among `ids`, the neighbours of a piece, that lead to nodes of the table.
  template <class Id, class Table>
  void FindEdges(const Table& table, const Piece& piece, std::span<const Id> ids,
                 base::WorkVector<Edge>* found) const;
  [[noreturn]] void ThrowTooManyEdges(uint64_t max_edges) const;
  base::WorkVector<Edge> DrawnAndReversed() const;
  // Makes these the edges of the sample. Needs them sorted by node.
  void Replace(std::span<const Found> found) const;

  NeighbourSample& sample_;
  const Rows& rows_;
  const ExcludedEdges& excluded_;
  base::ThreadLease& lease_;
};

}  // namespace graphzero::sample
