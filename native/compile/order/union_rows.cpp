#include "compile/order/union_rows.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/text.h"

namespace graphzero::compile {

using base::Number;

UnionRows::UnionRows(const store::TopologyReader& graph) : graph_(graph) {
  for (const store::NodeType& type : graph_.types()) {
    type_begins_.push_back(type_begins_.back() + type.count);
    if (type_begins_.back() >= UINT32_MAX) {
      throw InputError(graph_.file()->path() + ": found " + Number(graph_.num_nodes()) +
                       " nodes, expected fewer than " + Number(UINT32_MAX) +
                       ", as many as can be put into an order");
    }
  }
  parts_.resize(graph_.types().size());
  for (const store::Relation& relation : graph_.relations()) {
    if (relation.is_view) continue;
    const uint64_t sources = type_begins_[relation.source];
    const uint64_t targets = type_begins_[relation.target];
    if (relation.out) parts_[relation.source].push_back({relation.out, sources, targets});
    if (relation.in) parts_[relation.target].push_back({relation.in, targets, sources});
  }
}

uint32_t UnionRows::TypeOf(uint32_t node) const {
  const auto after = std::upper_bound(type_begins_.begin(), type_begins_.end(), node);
  return static_cast<uint32_t>(after - type_begins_.begin() - 1);
}

uint32_t UnionRows::Neighbour(const Part& part, uint64_t slot) const {
  const uint64_t neighbour = part.adjacency->neighbours[slot];
  if (neighbour < part.adjacency->neighbour_bound) {
    return static_cast<uint32_t>(part.first_neighbour + neighbour);
  }
  throw FormatError(graph_.file()->path(), "edge slot " + Number(slot),
                    "neighbour " + Number(neighbour),
                    "an id below " + Number(part.adjacency->neighbour_bound));
}

void UnionRows::AppendNeighbours(uint32_t node, uint64_t most, uint64_t draw,
                                 std::vector<uint32_t>* out) const {
  for (const Part& part : parts_[TypeOf(node)]) {
    const uint64_t own = node - part.first_row;
    if (own >= part.adjacency->rows) continue;  // a file may have fewer sources than targets
    const store::SlotRange row = graph_.Row(*part.adjacency, own);
    const uint64_t step = std::max<uint64_t>(base::DivideUp(row.size(), most), 1);
    for (uint64_t slot = row.begin + draw % step; slot < row.end; slot += step) {
      out->push_back(Neighbour(part, slot));
    }
  }
}

}  // namespace graphzero::compile
