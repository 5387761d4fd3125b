// New numbers for the nodes of a graph, so that batches find their rows in fewer blocks of a disk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compile/edges/edge_renumbering.h"
#include "compile/job.h"
#include "compile/order/block_estimate.h"
#include "compile/order/union_rows.h"

namespace graphzero::compile {

enum class OrderKind {
  kDegree,     // the nodes that stored rows name most often come first
  kCommunity,  // nodes of a community together, those named most often first
};

struct NodeOrderReport {
  BlockEstimates estimates;
  uint64_t communities = 0;  // of two nodes or more; 0 in an order by degree
};

// The nodes of a typed graph are ordered across all types and numbered within their types, so nodes
// of one community are adjacent in each type. Thread-safe: nothing changes after Make().
class NodeOrder {
 public:
  // The result depends on the graph and the kind only. Throws InputError if there are too many
  // nodes, or too little memory for them.
  static NodeOrder Make(const store::TopologyReader& graph, OrderKind kind,
                        const Resources& resources, Progress* progress);

  // Working memory that Make() needs.
  static uint64_t MemoryFor(uint64_t nodes);

  // The new number of each node of a type. Throws std::out_of_range if there is no such type.
  std::span<const uint32_t> OfType(uint32_t type) const;
  const NodeOrderReport& report() const { return report_; }
  // Whether batches would touch fewer blocks than before, in all or cold ones, and not more of
  // either.
  bool helps() const;
  uint64_t bytes() const { return numbers_.size() * sizeof(uint32_t); }

 private:
  NodeOrder() = default;

  std::vector<uint32_t> numbers_;  // of all types, one after the other
  std::vector<uint64_t> type_begins_;
  NodeOrderReport report_;
};

// The new numbers for the edges of a relation. Throws std::invalid_argument if the order is of
// another graph.
NewNumbers NumbersOf(const std::shared_ptr<const NodeOrder>& order,
                     const store::TopologyReader& graph, uint32_t relation);

}  // namespace graphzero::compile
