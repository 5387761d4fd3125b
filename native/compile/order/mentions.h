// How often the stored rows name each node as a neighbour: how often a sampler meets it, in all
// directions that the file can be sampled in.
#pragma once

#include <cstdint>
#include <vector>

#include "compile/job.h"
#include "compile/order/union_rows.h"

namespace graphzero::compile {

// One count for each node of the union, at most the largest uint32_t.
std::vector<uint32_t> CountMentions(const UnionRows& rows, int threads, Progress* progress);

// The smallest count that at most 1 / `share` of the nodes exceed.
uint32_t MentionsOfShare(const std::vector<uint32_t>& mentions, uint64_t share);

}  // namespace graphzero::compile
