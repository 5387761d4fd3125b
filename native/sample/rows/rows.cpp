#include "sample/rows/rows.h"

#include <stdexcept>

#include "base/errors.h"
#include "base/text.h"

namespace graphzero::sample {
namespace {

using base::Number;

}  // namespace

void Rows::ThrowDamagedRow(uint64_t node, const store::SlotRange& row) const {
  throw FormatError(path(), "indptr of node " + Number(node) + OfRelation(),
                    Number(row.begin) + " to " + Number(row.end),
                    "a rising pair up to " + Number(adjacency.edges) +
                        "; the file is damaged, run graphzero verify");
}

void Rows::ThrowDamagedNeighbour(uint64_t node, uint64_t slot, uint64_t id) const {
  throw FormatError(path(), "edge " + Number(slot) + " of node " + Number(node) + OfRelation(),
                    "neighbour " + Number(id),
                    "an id below " + Number(adjacency.neighbour_bound) +
                        "; the file is damaged, run graphzero verify");
}

void Rows::ThrowUnorderedTimes(uint64_t node) const {
  throw FormatError(path(), "slot times of node " + Number(node) + OfRelation(), "falling times",
                    "rising ones; the file is damaged, run graphzero verify");
}

void Rows::ThrowUnorderedNodes() const {
  throw FormatError(path(), "times of nodes in their order", "falling times",
                    "rising ones; the file is damaged, run graphzero verify");
}

void Rows::ThrowDamagedOrder(uint64_t place, uint64_t node, uint64_t bound) const {
  throw FormatError(path(), "place " + Number(place) + " of nodes in the order of their times",
                    "node " + Number(node),
                    "an id below " + Number(bound) + "; the file is damaged, run graphzero verify");
}

void Rows::ThrowBadWeight(uint64_t node, uint64_t slot, float weight) const {
  throw InputError(path() + ": edge " + Number(slot) + " of node " + Number(node) + OfRelation() +
                   " has weight " + std::to_string(weight) +
                   ", expected a finite number of at least 0; sample with "
                   "weighted=False or convert the graph with other weights");
}

std::string Rows::OfRelation() const { return relation.empty() ? "" : " of relation " + relation; }

void CheckNodeIds(std::span<const int64_t> ids, uint64_t bound, const std::string& what,
                  const std::string& path) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<uint64_t>(ids[i]) >= bound) {
      throw std::out_of_range(what + " " + std::to_string(ids[i]) + " at position " + Number(i) +
                              " is outside the graph: valid ids are 0 to " + Number(bound) +
                              " (exclusive) in " + path);
    }
  }
}

void CheckNodeIds(const Rows& rows, std::span<const int64_t> ids, const char* what) {
  CheckNodeIds(ids, rows.adjacency.rows, what, rows.path());
}

void CheckOneNodeSet(const Rows& rows) {
  const store::Adjacency& a = rows.adjacency;
  if (a.rows == a.neighbour_bound) return;
  throw std::invalid_argument(rows.path() + " has " + Number(a.rows) +
                              " rows with neighbours among " + Number(a.neighbour_bound) +
                              " nodes: sampling needs sources and targets of one kind");
}

void CheckHasWeights(const Rows& rows, bool weighted) {
  if (!weighted || rows.adjacency.weights != nullptr) return;
  throw std::invalid_argument(rows.path() + " stores no edge weights" + rows.OfRelation() +
                              "; sample with weighted=False or convert a "
                              "graph that has a weight column");
}

}  // namespace graphzero::sample
