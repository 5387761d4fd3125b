#include "compile/order/block_estimate.h"

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "store/files/mapped_file.h"

namespace graphzero::compile {
namespace {

constexpr uint32_t kRowsOfBlock = 8;
constexpr uint64_t kFanout[] = {10, 5, 5};
constexpr uint64_t kSeeds = 1024;         // of all batches
constexpr uint64_t kMostSeeds = 128;      // of a batch
constexpr uint64_t kNodesPerSeed = 4096;  // so that a batch covers a small part of the graph

// Sorts, and drops repeated values.
void MakeUnique(std::vector<uint32_t>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

// The different nodes of a batch.
std::vector<uint32_t> DrawBatch(const UnionRows& rows, uint64_t batch, uint64_t seeds) {
  std::vector<uint32_t> all, frontier, found;
  for (uint64_t i = 0; i < seeds; ++i) {
    const uint64_t draw = base::Mix64((batch * seeds + i + 1) * base::kGoldenRatio);
    frontier.push_back(static_cast<uint32_t>(draw % rows.num_nodes()));
  }
  for (uint64_t hop = 0; hop < std::size(kFanout); ++hop) {
    MakeUnique(&frontier);
    all.insert(all.end(), frontier.begin(), frontier.end());
    found.clear();
    for (const uint32_t node : frontier) {
      const uint64_t draw = base::Mix64(uint64_t{node} << 16 | hop << 12 | (batch & 0xfff));
      rows.AppendNeighbours(node, kFanout[hop], draw, &found);
    }
    frontier.swap(found);
  }
  all.insert(all.end(), frontier.begin(), frontier.end());
  MakeUnique(&all);
  return all;
}

uint64_t CountBlocks(std::vector<uint32_t>* blocks) {
  MakeUnique(blocks);
  return blocks->size();
}

}  // namespace

BlockEstimates EstimateBlocks(const UnionRows& rows, std::span<const uint32_t> places,
                              std::span<const uint32_t> mentions, uint32_t cold_mentions) {
  BlockEstimates result;
  if (rows.num_nodes() == 0) return result;
  const uint64_t seeds = std::clamp<uint64_t>(rows.num_nodes() / kNodesPerSeed, 1, kMostSeeds);
  store::ReadGuarded(*rows.graph().file(), [&] {
    for (uint64_t batch = 0; batch < kSeeds / seeds; ++batch) {
      const std::vector<uint32_t> nodes = DrawBatch(rows, batch, seeds);
      const auto count = [&](const auto& place, BlockEstimate* estimate) {
        std::vector<uint32_t> blocks, cold;
        for (const uint32_t node : nodes) {
          blocks.push_back(place(node) / kRowsOfBlock);
          if (mentions[node] <= cold_mentions) cold.push_back(blocks.back());
        }
        estimate->nodes += nodes.size();
        estimate->blocks += CountBlocks(&blocks);
        estimate->cold_blocks += CountBlocks(&cold);
      };
      count([](uint32_t node) { return node; }, &result.before);
      count([&](uint32_t node) { return places[node]; }, &result.after);
    }
  });
  return result;
}

}  // namespace graphzero::compile
