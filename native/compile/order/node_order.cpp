#include "compile/order/node_order.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/errors.h"
#include "base/text.h"
#include "compile/order/communities.h"
#include "compile/order/mentions.h"

namespace graphzero::compile {
namespace {

using base::Number;

// For each node: a label, the size of a community, a number of mentions and a place in the order.
constexpr uint64_t kBytesPerNode = 4 * sizeof(uint32_t);
constexpr uint64_t kFixedBytes = uint64_t{16} << 20;
// The daemon's row cache holds the hottest rows. Estimates assume that these are 1 / kHotShare of
// all.
constexpr uint64_t kHotShare = 5;
// An order helps if it needs at most this share of the blocks. It is below 1 because the batches of
// a trainer differ from the drawn ones.
constexpr double kWorthwhile = 0.98;

void CheckMemory(const UnionRows& rows, const Resources& resources) {
  const uint64_t needed = NodeOrder::MemoryFor(rows.num_nodes());
  if (needed <= resources.memory) return;
  const uint64_t mebibytes = (needed >> 20) + 1;
  throw InputError(rows.graph().file()->path() + ": found " + Number(resources.memory >> 20) +
                   " MiB of working memory, expected at least " + Number(mebibytes) +
                   " MiB to put " + Number(rows.num_nodes()) + " nodes into an order: --memory " +
                   Number(mebibytes) + "M");
}

// All nodes, grouped by community: first the communities in the order of their labels, which keeps
// the order that they had, then the nodes that are alone with their label.
std::vector<uint32_t> Group(const std::vector<uint32_t>& labels) {
  std::vector<uint32_t> places(labels.size(), 0);  // at first, the size of each community
  for (const uint32_t label : labels) ++places[label];
  uint32_t next = 0;
  uint32_t alone = 0;
  for (const uint32_t size : places) alone += size > 1 ? size : 0;
  for (uint32_t& place : places) {
    const uint32_t size = place;
    uint32_t& from = size > 1 ? next : alone;
    place = from;
    from += size;
  }
  std::vector<uint32_t> order(labels.size());
  for (uint32_t node = 0; node < labels.size(); ++node) order[places[labels[node]]++] = node;
  return order;
}

// Puts the nodes of every community into the order of their mentions. Returns how many communities
// have two nodes or more.
uint64_t SortInside(const std::vector<uint32_t>& labels, const std::vector<uint32_t>& mentions,
                    std::vector<uint32_t>* order) {
  const auto hotter = [&](uint32_t a, uint32_t b) {
    return std::pair(mentions[b], a) < std::pair(mentions[a], b);
  };
  uint64_t communities = 0;
  for (auto first = order->begin(); first != order->end();) {
    const uint32_t label = labels[*first];
    const auto last =
        std::find_if(first, order->end(), [&](uint32_t node) { return labels[node] != label; });
    communities += last - first > 1 ? 1 : 0;
    std::sort(first, last, hotter);
    first = last;
  }
  return communities;
}

// Sets the place of each node: each type keeps its part of the range, and inside it `order`
// decides.
void AssignPlaces(const UnionRows& rows, const std::vector<uint32_t>& order,
                  std::vector<uint32_t>* places) {
  std::vector<uint64_t> next = rows.type_begins();
  for (const uint32_t node : order) {
    (*places)[node] = static_cast<uint32_t>(next[rows.TypeOf(node)]++);
  }
}

}  // namespace

uint64_t NodeOrder::MemoryFor(uint64_t nodes) { return nodes * kBytesPerNode + kFixedBytes; }

NodeOrder NodeOrder::Make(const store::TopologyReader& graph, OrderKind kind,
                          const Resources& resources, Progress* progress) {
  const UnionRows rows(graph);
  CheckMemory(rows, resources);
  // In an order by degree all nodes are of one community.
  std::vector<uint32_t> labels = kind == OrderKind::kCommunity
                                     ? FindCommunities(rows, resources.threads, progress)
                                     : std::vector<uint32_t>(rows.num_nodes(), 0);
  const std::vector<uint32_t> mentions = CountMentions(rows, resources.threads, progress);
  progress->Start("ordering nodes", 0);
  std::vector<uint32_t> order = Group(labels);
  const uint64_t communities = SortInside(labels, mentions, &order);

  NodeOrder result;
  result.type_begins_ = rows.type_begins();
  result.numbers_ = std::move(labels);
  AssignPlaces(rows, order, &result.numbers_);
  if (kind == OrderKind::kCommunity) result.report_.communities = communities;
  progress->Start("estimating reads", 0);
  result.report_.estimates =
      EstimateBlocks(rows, result.numbers_, mentions, MentionsOfShare(mentions, kHotShare));
  for (size_t type = 0; type + 1 < result.type_begins_.size(); ++type) {
    const auto begin = static_cast<uint32_t>(result.type_begins_[type]);
    for (uint64_t node = begin; node < result.type_begins_[type + 1]; ++node) {
      result.numbers_[node] -= begin;
    }
  }
  return result;
}

std::span<const uint32_t> NodeOrder::OfType(uint32_t type) const {
  if (type + uint64_t{1} >= type_begins_.size()) {
    throw std::out_of_range("type " + Number(type) + ": the graph has " +
                            Number(type_begins_.size() - 1));
  }
  const uint64_t begin = type_begins_[type];
  return std::span(numbers_).subspan(begin, type_begins_[type + 1] - begin);
}

bool NodeOrder::helps() const {
  const auto& [before, after] = report_.estimates;
  const auto ratio = [](uint64_t now, uint64_t then) {
    return then == 0 ? 1.0 : static_cast<double>(now) / static_cast<double>(then);
  };
  const double all = ratio(after.blocks, before.blocks);
  const double cold = ratio(after.cold_blocks, before.cold_blocks);
  return std::max(all, cold) <= 1 && std::min(all, cold) <= kWorthwhile;
}

NewNumbers NumbersOf(const std::shared_ptr<const NodeOrder>& order,
                     const store::TopologyReader& graph, uint32_t relation) {
  const store::Relation& found = graph.relations().at(relation);
  const NewNumbers numbers{found.edge_id_bound, order->OfType(found.source),
                           order->OfType(found.target), order};
  if (numbers.sources.size() != graph.types()[found.source].count ||
      numbers.targets.size() != graph.types()[found.target].count) {
    throw std::invalid_argument("the order is not one of " + graph.file()->path());
  }
  return numbers;
}

}  // namespace graphzero::compile
